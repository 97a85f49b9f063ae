# SPDX-License-Identifier: Apache-2.0
"""What a PodGroup tells of its scheduling: a condition, whose name differs between Kubernetes minors."""

from fixtures.api import Object
from fixtures.clusters.versions import row_for


def placement(group: Object, version: str) -> tuple[str, str]:
    """Return status and reason of the condition of a PodGroup; both are empty if it has none.

    Source: ``pkg/scheduler/schedule_one_podgroup.go: updatePodGroupCondition``.
    """
    wanted = row_for(version).scheduled_condition
    conditions = group.get("status", {}).get("conditions", ())
    return next(((one["status"], one["reason"]) for one in conditions if one["type"] == wanted), ("", ""))

# SPDX-License-Identifier: Apache-2.0
"""The feature gates that Workload ResourceClaims hang on, and what a component is started with to turn them off."""

from fixtures.clusters.local import Gates
from fixtures.clusters.versions import row_for

#: The gate of the feature, and the one of PodGroups and Workloads that it depends on.
CLAIMS, WORKLOADS = "DRAWorkloadResourceClaims", "GenericWorkload"
CLAIMS_OFF: Gates = {CLAIMS: False}


def all_off(version: str) -> Gates:
    """Return the gates that switch off PodGroups and Workloads, and everything that depends on them."""
    return dict.fromkeys(row_for(version).feature_gates, False)


def all_default(version: str) -> Gates:
    """Return the gates that leave all of these as the version has them."""
    return dict.fromkeys(row_for(version).feature_gates)

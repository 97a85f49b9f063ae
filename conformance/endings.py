# SPDX-License-Identifier: Apache-2.0
"""How a Pod ends: it is deleted, or it reaches one of the two terminal phases and stays."""

import pytest

from fixtures.objects import Pod
from fixtures.scenario import Scenario

ENDINGS = pytest.mark.parametrize("ending", ["Deleted", "Succeeded", "Failed"])


def end(scenario: Scenario, ending: str, *pods: Pod) -> None:
    """Let Pods end in one of the three ways."""
    if ending == "Deleted":
        scenario.delete(*pods)
    else:
        scenario.finish(*pods, phase=ending)

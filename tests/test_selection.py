# SPDX-License-Identifier: Apache-2.0
"""Which checks run: IDs, areas, expressions; and what is told of a word that cannot be meant."""

import subprocess
import sys

import pytest

from tests.running import ROOT, collected_checks
from verdicts.selection import requirements_of_node


def collect(*options: str) -> subprocess.CompletedProcess[str]:
    """Collect the checks with these options, without a cluster."""
    command = [sys.executable, "-m", "pytest", "conformance", "--collect-only", "-q", *options]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)


def checks_in(collected: subprocess.CompletedProcess[str]) -> set[str]:
    """Return the requirements of the collected checks."""
    nodes = [line for line in collected.stdout.splitlines() if "::" in line]
    return {requirement for node in nodes for requirement in requirements_of_node(node)}


@pytest.mark.parametrize(
    ("which", "requirements"),
    [
        ("WRC-RES-002", {"WRC-RES-002"}),
        ("wrc-res-002, WRC-NAM-001", {"WRC-RES-002", "WRC-NAM-001"}),
        ("three_hundred and template", {"WRC-RES-006"}),
    ],
)
def test_checks_are_chosen_by_id_area_or_expression(which, requirements):
    """An ID or an area in any case, several of them, or an expression as for pytest -k."""
    assert checks_in(collect(f"--wrc-checks={which}")) == requirements


def test_an_area_is_all_of_its_requirements():
    """An area takes the checks of all its requirements, and no others."""
    chosen = checks_in(collect("--wrc-checks=nam"))

    assert {"WRC-NAM-001", "WRC-NAM-003"} <= chosen
    assert all(one.startswith("WRC-NAM-") for one in chosen)


def test_an_unknown_id_is_refused_with_its_neighbours():
    """A mistyped ID never means "nothing to do": usage error, with the IDs that it may have been."""
    refused = collect("--wrc-checks=WRC-RES-002,WRC-RES-0006")

    assert refused.returncode == pytest.ExitCode.USAGE_ERROR
    assert "There is no requirement WRC-RES-0006. Did you mean WRC-RES-006" in refused.stderr


def test_every_check_is_known_by_its_node_id():
    """A crashed worker tells the node id only, and that leads to the requirement."""
    checks = collected_checks()

    assert len(checks) >= 36
    assert all(requirements for requirements in checks.values())


def test_the_order_is_shuffled_alike_for_the_same_seed():
    """A seed gives the same order each time, so that a failure can be had again."""
    first, again, other = (collect(f"--wrc-shuffle={seed}").stdout.splitlines()[:20] for seed in (1, 1, 2))

    assert first == again
    assert first != other

# SPDX-License-Identifier: Apache-2.0
"""A small catalogue and a small run, for the tests of how a run is judged and told."""

from datetime import UTC, datetime
from typing import Any

from verdicts.catalogue import Catalogue, KnownDeviation, Level, Requirement
from verdicts.document import Run
from verdicts.outcomes import Outcome, Verdict

AREAS = {"API": "API objects", "RES": "Reservation", "NOD": "Node"}

KNOWN = KnownDeviation(("1.36.3",), "https://example.org/issues/7", "the reservation stays for ever")

RUN = Run(
    id="20261001-120000",
    started=datetime(2026, 10, 1, 12, 0, 0, tzinfo=UTC),
    finished=datetime(2026, 10, 1, 12, 1, 30, 500000, tzinfo=UTC),
    command_line="pytest conformance",
    jobs=2,
)

CLUSTER: dict[str, Any] = {
    "provider": "local",
    "version": "v1.37.2",
    "kubernetes": {"kube-apiserver": "v1.37.2", "kube-scheduler": "v1.37.2"},
    "feature_gates": {"kube-scheduler": {"GenericWorkload": True}},
    "nodes": "simulated: no kubelet",
}


def requirement(identity: str, level: Level = Level.MUST, **fields: Any) -> Requirement:
    """Return a requirement of 1.36 and 1.37 whose area is in its id."""
    fields = {"versions": ("1.36", "1.37"), "needs": ("control-plane",)} | fields
    statement = f"the cluster keeps {identity}"
    return Requirement(identity, identity.split("-")[1], level, statement, "KEP-5729, Design Details", **fields)


def catalogue(*requirements: Requirement) -> Catalogue:
    """Return a catalogue of these requirements, in this order."""
    return Catalogue(AREAS, requirements)


def outcome(identity: str, verdict: Verdict = Verdict.CONFORMANT, message: str = "", **fields: Any) -> Outcome:
    """Return what one check, named after the requirement unless told otherwise, showed of it."""
    check = f"conformance/test_{identity.split('-')[1].lower()}.py::test_{identity[-3:]}"
    return Outcome(**{"requirement": identity, "check": check, "verdict": verdict, "message": message} | fields)

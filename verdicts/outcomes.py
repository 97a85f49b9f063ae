# SPDX-License-Identifier: Apache-2.0
"""What one check showed, and how outcomes merge into the verdict of a requirement."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any


class Verdict(StrEnum):
    """The verdict of a check, and of a requirement."""

    NON_CONFORMANT = "non-conformant"
    UNDETERMINED = "undetermined"
    NOT_RUN = "not run"
    CONFORMANT = "conformant"
    NOT_APPLICABLE = "not applicable"


#: Several outcomes merge to the first of these that occurs: "not applicable" only if nothing else does.
PRECEDENCE = tuple(Verdict)


@dataclass(frozen=True)
class Outcome:
    """What one check, or one standing invariant in one scenario, showed of one requirement.

    ``message`` is empty for a conformant outcome; otherwise its first line is the cause in one sentence.
    ``lie`` names the lie that was told while the check ran, and is empty in an honest run. ``evidence`` names
    files, relative to the folder of the report.
    """

    requirement: str
    check: str
    verdict: Verdict
    message: str = ""
    seconds: float = 0.0
    lie: str = ""
    evidence: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the outcome as plain JSON types, to cross from a worker process to the controller."""
        return {**asdict(self), "verdict": self.verdict.value, "evidence": list(self.evidence)}

    @classmethod
    def from_json(cls, plain: dict[str, Any]) -> "Outcome":
        """Return the outcome that :meth:`as_json` made plain."""
        typed = {"verdict": Verdict(plain["verdict"]), "evidence": tuple(plain["evidence"])}
        return cls(**{**plain, **typed})


def merge(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the verdict that stands for all of ``verdicts``; none at all is *not run*."""
    seen = set(verdicts)
    return next((verdict for verdict in PRECEDENCE if verdict in seen), Verdict.NOT_RUN)

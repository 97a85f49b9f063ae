# SPDX-License-Identifier: Apache-2.0
"""From outcomes to verdicts: one for every requirement of the catalogue, and one for the whole run."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from fixtures.clusters.versions import MINORS, is_known, row_for
from fixtures.errors import FeatureOff, SetUpFailed
from verdicts.catalogue import Catalogue, KnownDeviation, Level, Requirement
from verdicts.outcomes import Outcome, Verdict, merge

NON_CONFORMANT_EXIT = 1
UNDETERMINED_EXIT = 10
INTERRUPTED_EXIT = 130

_ENDINGS = {
    SetUpFailed.exit_code: "set-up failed",
    FeatureOff.exit_code: "the feature is off",
    INTERRUPTED_EXIT: "interrupted",
}


class Whole(StrEnum):
    """What is said of the whole run."""

    CONFORMANT = "conformant"
    PARTIAL = "partial"
    UNDETERMINED = "undetermined"
    NON_CONFORMANT = "non-conformant"
    NO_VERDICT = "no verdict"


@dataclass(frozen=True)
class EndedEarly:
    """Why a run came to no verdict; ``reason`` is told to the user, its first line being one sentence."""

    exit_code: int
    reason: str

    @property
    def words(self) -> str:
        """What happened, in a few words where the exit code has a meaning of its own."""
        return _ENDINGS.get(self.exit_code) or first_line(self.reason)

    @property
    def before_checks(self) -> bool:
        """Whether the run could not even begin."""
        return self.exit_code in {SetUpFailed.exit_code, FeatureOff.exit_code}


@dataclass(frozen=True)
class RequirementVerdict:
    """The verdict of one requirement, and why; ``reason`` is empty where it is conformant.

    ``known_deviation`` is the one catalogued for the Kubernetes version of the run, whatever was seen of it.
    """

    requirement: Requirement
    verdict: Verdict
    reason: str
    outcomes: tuple[Outcome, ...]
    known_deviation: KnownDeviation | None

    @property
    def decides(self) -> bool:
        """Whether the whole depends on this requirement."""
        return self.requirement.level is Level.MUST and not self.requirement.probe

    @property
    def is_known(self) -> bool:
        """Whether this is a violation that the catalogue knows of."""
        return self.verdict is Verdict.NON_CONFORMANT and self.known_deviation is not None

    @property
    def no_longer_seen(self) -> bool:
        """Whether the catalogue knows of a violation that this run has not met."""
        return self.verdict is Verdict.CONFORMANT and self.known_deviation is not None


@dataclass(frozen=True)
class Musts:
    """How many of the MUSTs of the Kubernetes version came out how; probes are not among them.

    ``known`` are those of the ``violated`` that the catalogue has as known deviations.
    """

    total: int
    shown: int
    violated: int
    known: int
    undetermined: int

    @property
    def not_shown(self) -> int:
        """Those not run, and those not applicable because the cluster lacks a capability."""
        return self.total - self.shown - self.violated - self.undetermined


@dataclass(frozen=True)
class Overall:
    """The verdict of the whole; ``words`` say it in a sentence, ``reason`` is what ended the run early."""

    verdict: Whole
    words: str
    exit_code: int
    musts: Musts
    reason: str = ""


@dataclass(frozen=True)
class Judgement:
    """Every requirement in the catalogue's order, and the whole."""

    requirements: tuple[RequirementVerdict, ...]
    overall: Overall


def judge(
    catalogue: Catalogue,
    outcomes: Iterable[Outcome],
    version: str,
    *,
    accept_known: bool = False,
    ended_early: EndedEarly | None = None,
) -> Judgement:
    """Judge a run.

    Args:
        catalogue: All requirements; each of them gets a verdict.
        outcomes: What the checks and the standing invariants showed.
        version: The Kubernetes version, such as ``v1.37.2``; empty if no cluster has answered.
        accept_known: End with 0 if the only violated MUSTs are known deviations.
        ended_early: What kept the run from coming to its end.

    Raises:
        ValueError: An outcome speaks of a requirement that the catalogue does not have, or the version is
            older than the feature.
    """
    shown = _by_requirement(catalogue, outcomes)
    rows = tuple(_row(requirement, shown[requirement.id], version, ended_early) for requirement in catalogue)
    musts = _musts(rows, version)
    if ended_early:
        return Judgement(rows, _no_verdict(musts, ended_early))
    words = _words(musts, version, accept_known=accept_known)
    return Judgement(rows, Overall(_whole(musts), words, _exit_code(musts, accept_known=accept_known), musts))


def first_line(message: str) -> str:
    """Return the first line of ``message``: the cause in one sentence."""
    return message.strip().partition("\n")[0].rstrip()


def judged_minor(version: str) -> str:
    """Return the minor whose rows ``version`` is judged with: its own, or the newest known one.

    Raises:
        ValueError: The version is older than the feature, or is no version.
    """
    return row_for(version).minor if version else MINORS[-1].minor


def _by_requirement(catalogue: Catalogue, outcomes: Iterable[Outcome]) -> dict[str, tuple[Outcome, ...]]:
    shown: dict[str, tuple[Outcome, ...]] = {requirement.id: () for requirement in catalogue}
    for outcome in outcomes:
        if outcome.requirement not in shown:
            raise ValueError(f"{outcome.check} speaks of {outcome.requirement}, which the catalogue lacks")
        shown[outcome.requirement] += (outcome,)
    return shown


def _row(
    requirement: Requirement, outcomes: tuple[Outcome, ...], version: str, ended_early: EndedEarly | None
) -> RequirementVerdict:
    # A distribution's build metadata (v1.36.3+vendor1) does not make it another version.
    known = requirement.known_deviation(version.partition("+")[0])
    if not _applies(requirement, version):
        reason = f"applies to {' and '.join(requirement.versions)} only"
        verdict = Verdict.NOT_APPLICABLE
    elif outcomes:
        verdict = merge(outcome.verdict for outcome in outcomes)
        reason = next(first_line(outcome.message) for outcome in outcomes if outcome.verdict is verdict)
    else:
        verdict, reason = Verdict.NOT_RUN, requirement.not_built or _why_not_run(ended_early)
    return RequirementVerdict(requirement, verdict, reason, outcomes, known)


def _applies(requirement: Requirement, version: str) -> bool:
    return judged_minor(version) in requirement.versions


def _why_not_run(ended_early: EndedEarly | None) -> str:
    # Whether a check was deselected or came too late in an interrupted run is not known here.
    return ended_early.words if ended_early and ended_early.before_checks else "deselected or interrupted"


def _musts(rows: Iterable[RequirementVerdict], version: str) -> Musts:
    decisive = [row for row in rows if row.decides and _applies(row.requirement, version)]
    count = Counter(row.verdict for row in decisive)
    return Musts(
        total=len(decisive),
        shown=count[Verdict.CONFORMANT],
        violated=count[Verdict.NON_CONFORMANT],
        known=sum(row.is_known for row in decisive),
        undetermined=count[Verdict.UNDETERMINED],
    )


def _whole(musts: Musts) -> Whole:
    if musts.violated:
        return Whole.NON_CONFORMANT
    if musts.undetermined:
        return Whole.UNDETERMINED
    # Nothing to show is nothing shown.
    return Whole.CONFORMANT if musts.total and musts.shown == musts.total else Whole.PARTIAL


def _exit_code(musts: Musts, *, accept_known: bool) -> int:
    if musts.violated > (musts.known if accept_known else 0):
        return NON_CONFORMANT_EXIT
    return UNDETERMINED_EXIT if musts.undetermined else 0


def _words(musts: Musts, version: str, *, accept_known: bool) -> str:
    whole = _whole(musts)
    findings = {
        Whole.CONFORMANT: f"all {musts.total} MUSTs shown",
        Whole.PARTIAL: f"{musts.shown} of {musts.total} MUSTs shown, none violated",
        Whole.UNDETERMINED: f"{musts.undetermined} of {musts.total} MUSTs undetermined, none violated",
        Whole.NON_CONFORMANT: _violations(musts, accept_known=accept_known),
    }
    caveat = "" if is_known(version) else f" (Kubernetes {version} is unknown to this suite)"
    return f"{whole}: {findings[whole]}{caveat}"


def _violations(musts: Musts, *, accept_known: bool) -> str:
    words = f"{musts.violated} of {musts.total} MUSTs violated"
    if musts.known:
        words += ", all of them known deviations" if musts.known == musts.violated else f", {musts.known} known"
    if accept_known and musts.known == musts.violated:
        words += " and accepted"
    return words + (f"; {musts.undetermined} undetermined" if musts.undetermined else "")


def _no_verdict(musts: Musts, ended_early: EndedEarly) -> Overall:
    words = f"{Whole.NO_VERDICT}: {ended_early.words}"
    if musts.violated:
        words += f"; until then {_violations(musts, accept_known=False)}"
    return Overall(Whole.NO_VERDICT, words, ended_early.exit_code, musts, ended_early.reason)

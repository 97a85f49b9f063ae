# SPDX-License-Identifier: Apache-2.0
"""verdicts.json: what stands in it, and that a broken one is not believed."""

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.small_run import CLUSTER, KNOWN, RUN, catalogue, outcome, requirement
from verdicts.document import Document, Run, build, not_conformant_checks, read, write
from verdicts.judge import EndedEarly, judge
from verdicts.outcomes import Outcome, Verdict

ROWS = catalogue(
    requirement("WRC-API-001"),
    requirement("WRC-RES-002", known_deviations=(KNOWN,)),
    requirement("WRC-NOD-003", not_built="no kubelet yet"),
)
OUTCOMES = (
    outcome("WRC-API-001", seconds=0.25),
    outcome("WRC-RES-002", Verdict.NON_CONFORMANT, "two entries\nexpected one", seconds=1.5, evidence=("a.yaml",)),
    outcome("WRC-RES-002", check="conformance/test_res.py::test_again", seconds=0.5),
)


def document_of(
    outcomes: Iterable[Outcome] = OUTCOMES, run: Run = RUN, cluster: Document = CLUSTER, **flags: Any
) -> Document:
    return build(judge(ROWS, outcomes, "v1.36.3", **flags), run, cluster)


def written(document: Document, folder: Path) -> Path:
    write(document, folder / "verdicts.json")
    return folder / "verdicts.json"


@pytest.mark.parametrize("flags", [{}, {"ended_early": EndedEarly(11, "etcd did not start"), "cluster": {}}])
def test_what_was_built_can_be_read_back(tmp_path: Path, flags: dict[str, Any]) -> None:
    """The document follows the schema that we publish, in a complete run and in one that could not begin."""
    document = document_of(**flags)

    assert read(written(document, tmp_path)) == document


def test_a_requirement_carries_its_verdict_and_the_checks_behind_it() -> None:
    """Who reads only this file knows what was asked, what was seen, and where it can be looked up."""
    row = document_of()["requirements"][1]

    assert row["id"] == "WRC-RES-002"
    assert row["statement"] == "the cluster keeps WRC-RES-002"
    assert (row["verdict"], row["reason"], row["seconds"]) == ("non-conformant", "two entries", 2.0)
    assert row["known_deviation"] == {"sentence": KNOWN.sentence, "link": KNOWN.link, "no_longer_seen": False}
    assert row["checks"][0] == {
        "check": "conformance/test_res.py::test_002",
        "lie": "",
        "verdict": "non-conformant",
        "message": "two entries\nexpected one",
        "seconds": 1.5,
        "evidence": ["a.yaml"],
    }


def test_the_run_is_told_in_utc() -> None:
    """Two reports from two places of the world can be laid side by side."""
    run = document_of()["run"]

    assert (run["started"], run["finished"]) == ("2026-10-01T12:00:00Z", "2026-10-01T12:01:30Z")
    assert run["seconds"] == 90.5


def test_the_digest_names_the_set_of_checks_and_not_their_verdicts() -> None:
    """Two runs with equal digests asked the same; a check more or less is another question."""
    red = [replace(one, verdict=Verdict.NON_CONFORMANT, message="fault") for one in OUTCOMES]

    assert document_of()["footer"]["digest"] == document_of(red)["footer"]["digest"]
    assert document_of()["footer"]["digest"] != document_of(OUTCOMES[:2])["footer"]["digest"]


def test_no_secret_reaches_the_file(tmp_path: Path) -> None:
    """Command line, cluster and messages come from outside, and may carry anything."""
    run = replace(RUN, command_line="pytest --token=s3cr3t")
    leaking = outcome("WRC-API-001", Verdict.UNDETERMINED, "401\nAuthorization: Bearer s3cr3t")
    path = written(document_of([leaking], run, {**CLUSTER, "settings": {"password": "s3cr3t"}}), tmp_path)

    assert "s3cr3t" not in path.read_text()
    assert read(path)["run"]["command_line"] == "pytest --token=[redacted]"


def test_a_message_that_is_no_unicode_does_not_lose_the_report(tmp_path: Path) -> None:
    """A log may hold any bytes; the verdicts are written all the same."""
    path = written(document_of([outcome("WRC-API-001", Verdict.UNDETERMINED, "log: \udcff")]), tmp_path)

    assert read(path)["requirements"][0]["reason"] == "log: \udcff"


@pytest.mark.parametrize("share", [0.0, 0.5, 0.99])
def test_a_file_that_ends_in_the_middle_was_cut_off(tmp_path: Path, share: float) -> None:
    """Half a file is no verdict."""
    path = written(document_of(), tmp_path)
    text = path.read_text()
    path.write_text(text[: int(len(text) * share)])

    with pytest.raises(ValueError, match=r"this run was cut off: .*verdicts\.json: it ends in the middle"):
        read(path)


def without_footer(document: Document) -> None:
    del document["footer"]


def without_a_requirement(document: Document) -> None:
    document["requirements"].pop()


def without_a_check(document: Document) -> None:
    document["requirements"][1]["checks"].pop()


def with_another_check(document: Document) -> None:
    document["requirements"][0]["checks"][0]["check"] = "conformance/test_api.py::test_other"


@pytest.mark.parametrize(
    ("change", "symptom"),
    [
        (without_footer, "it has no footer"),
        (without_a_requirement, "its footer does not fit"),
        (without_a_check, "its footer does not fit"),
        (with_another_check, "its footer does not fit"),
    ],
)
def test_a_document_without_its_fitting_footer_was_cut_off(
    tmp_path: Path, change: Callable[[Document], None], symptom: str
) -> None:
    """The footer proves that nothing is missing between it and the beginning."""
    document = document_of()
    change(document)

    with pytest.raises(ValueError, match=f"this run was cut off: .*{symptom}"):
        read(written(document, tmp_path))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[]", "is not of type 'object'"),
        ("{}", "'schema' is a required property"),
        ('{"schema": "wrc-conformance/verdicts/v2", "footer": {}}', "verdicts/v1 document"),
    ],
)
def test_another_format_is_refused_in_words(tmp_path: Path, content: str, message: str) -> None:
    """Who names the wrong file is told what was expected, not where Python stumbled."""
    (tmp_path / "other.json").write_text(content)

    with pytest.raises(ValueError, match=message):
        read(tmp_path / "other.json")


def test_a_field_that_the_schema_does_not_know_is_refused(tmp_path: Path) -> None:
    """A reader relies on the schema; what it does not describe must not creep in."""
    document = document_of()
    document["requirements"][0]["extra"] = 1

    with pytest.raises(ValueError, match=r"\$\.requirements\[0\].*'extra' was unexpected"):
        read(written(document, tmp_path))


def test_a_rerun_takes_what_another_run_may_change() -> None:
    """Broken, open and missed checks are run again, each once; what is proven to be absent is not."""
    verdicts = [Verdict.NON_CONFORMANT, Verdict.UNDETERMINED, Verdict.NOT_RUN]
    worth_it = [outcome("WRC-API-001", verdict, "!", check=f"a.py::test_{verdict}") for verdict in verdicts]
    again = outcome("WRC-RES-002", Verdict.UNDETERMINED, "!", check="a.py::test_undetermined")
    settled = [outcome("WRC-RES-002"), outcome("WRC-NOD-003", Verdict.NOT_APPLICABLE, "no kubelet")]

    document = document_of([*worth_it, again, *settled])

    assert not_conformant_checks(document) == [one.check for one in worth_it]


def test_the_schema_knows_every_verdict(tmp_path: Path) -> None:
    """Whatever a check may end with can be written and read."""
    outcomes = [outcome("WRC-API-001", verdict, "!") for verdict in Verdict]
    path = written(document_of(outcomes), tmp_path)

    assert [check["verdict"] for check in read(path)["requirements"][0]["checks"]] == [str(one) for one in Verdict]
    assert json.loads(path.read_text())["footer"]["checks"] == len(Verdict)

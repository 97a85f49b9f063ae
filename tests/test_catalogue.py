# SPDX-License-Identifier: Apache-2.0
"""The catalogue: every requirement is there once, complete, and readable on its own."""

import re
from collections.abc import Callable
from itertools import groupby
from pathlib import Path

import pytest
import yaml

from verdicts.catalogue import Catalogue, Requirement, load

# Requirements per area that the catalogue began with; a later one goes to the end of its area.
ORIGINAL = {
    "API": 14, "GATE": 7, "GEN": 15, "NAM": 6, "MAT": 11, "ALC": 7, "RES": 8,
    "LIF": 14, "SCH": 10, "TNT": 6, "KUB": 11, "OBS": 5, "SEC": 6, "SKW": 10,
}  # fmt: skip
VERSIONS = {"1.36", "1.37"}
NEEDS = {"control-plane", "kubelet", "driver", "restart"}
ABBREVIATION = re.compile(r"\b(PG|RC|RCT|RF|PGS|PodS|KCM)\b")


def ids_of(is_wrong: Callable[[Requirement], bool]) -> list[str]:
    """Return the IDs of the requirements in the catalogue that are wrong."""
    return [row.id for row in load() if is_wrong(row)]


def catalogue_with(folder: Path, **fields: object) -> Catalogue:
    """Load a catalogue of one valid row, of which ``fields`` are changed or added."""
    row: dict[str, object] = {
        "id": "WRC-API-001",
        "level": "MUST",
        "statement": "It holds.",
        "source": "KEP-5729",
        "versions": ["1.37"],
        "needs": ["control-plane"],
    }
    path = folder / "catalogue.yaml"
    area = {"id": "API", "title": "API", "requirements": [row | fields]}
    path.write_text(yaml.safe_dump({"areas": [area]}))
    return load(path)


def test_all_original_requirements_are_there_in_order() -> None:
    """The 130 requirements that the catalogue began with keep their IDs and their order."""
    original = [f"WRC-{area}-{n:03}" for area, count in ORIGINAL.items() for n in range(1, count + 1)]

    assert len(original) == 130
    assert [requirement.id for requirement in load() if requirement.id in original] == original


def test_areas_keep_their_order_and_invariants_come_last() -> None:
    """Areas keep their order, with the standing invariants behind them, and each has a title."""
    areas = load().areas

    assert list(areas) == [*ORIGINAL, "INV"]
    assert all(areas.values())


def test_ids_are_numbered_without_gaps() -> None:
    """Within an area the IDs count up from 001, so that none is missing or used twice."""
    for area, rows in groupby(load(), key=lambda requirement: requirement.area):
        ids = [requirement.id for requirement in rows]
        assert ids == [f"WRC-{area}-{n:03}" for n in range(1, len(ids) + 1)]


def test_versions_are_kubernetes_minors() -> None:
    """A requirement holds in at least one Kubernetes minor that the suite knows."""
    assert ids_of(lambda row: not row.versions or not set(row.versions) <= VERSIONS) == []


def test_needs_are_known() -> None:
    """A requirement says what a cluster must offer for a verdict."""
    assert ids_of(lambda row: not row.needs or not set(row.needs) <= NEEDS) == []


def test_statements_are_short_whole_sentences() -> None:
    """A statement ends with a full stop and has at most 350 characters."""
    assert ids_of(lambda row: not row.statement.endswith(".") or len(row.statement) > 350) == []


def test_texts_read_without_abbreviations() -> None:
    """Statements and sources name the objects and fields of Kubernetes in full."""
    assert ids_of(lambda row: bool(ABBREVIATION.search(f"{row.statement} {row.source}"))) == []


def test_each_requirement_has_a_source() -> None:
    """A requirement says where it is written."""
    assert ids_of(lambda row: not row.source) == []


def test_known_deviations_can_be_looked_up() -> None:
    """A known deviation has a link and a whole sentence that says what is wrong."""
    known = [known for row in load() for known in row.known_deviations]

    assert [one for one in known if not one.link.startswith("https://")] == []
    assert [one for one in known if not one.sentence.endswith(".")] == []


def test_known_deviations_are_known_where_the_requirement_holds() -> None:
    """A deviation is known in versions of the requirement: elsewhere no verdict could ever be labelled."""
    known = [(row, version) for row in load() for one in row.known_deviations for version in one.versions]

    assert known
    assert [row.id for row, version in known if version.rpartition(".")[0] not in row.versions] == []


def test_every_invariant_is_built() -> None:
    """Standing invariants are judged on every scenario, so none of them waits for a check."""
    invariants = [requirement for requirement in load() if requirement.area == "INV"]

    assert len(invariants) == 5
    assert not any(requirement.not_built for requirement in invariants)


def test_valid_row_is_loaded(tmp_path: Path) -> None:
    """A row with the obligatory fields alone is a requirement that is built and expected to hold."""
    requirement = catalogue_with(tmp_path)["WRC-API-001"]

    assert requirement == Requirement(
        id="WRC-API-001",
        area="API",
        level=requirement.level,
        statement="It holds.",
        source="KEP-5729",
        versions=("1.37",),
        needs=("control-plane",),
    )
    assert requirement.level == "MUST"


def test_typo_in_a_field_is_refused(tmp_path: Path) -> None:
    """A misspelt field is an error, not a field that is silently missing."""
    with pytest.raises(TypeError, match="not_buildt"):
        catalogue_with(tmp_path, not_buildt="No check yet.")


def test_unknown_level_is_refused(tmp_path: Path) -> None:
    """A level other than MUST, SHOULD and OBSERVED is an error."""
    with pytest.raises(ValueError, match="MAY"):
        catalogue_with(tmp_path, level="MAY")


@pytest.mark.parametrize(
    ("version", "concerned"),
    [("v1.36.3", True), ("1.36.3", True), ("v1.36.30", False), ("v1.36.4", False), ("v1.37.2", False)],
)
def test_known_deviation_concerns_its_versions_only(tmp_path: Path, version: str, *, concerned: bool) -> None:
    """A deviation known in one patch release labels no other."""
    known = {"versions": ["1.36.3"], "link": "https://example.com", "sentence": "It does not hold."}
    requirement = catalogue_with(tmp_path, known_deviations=[known])["WRC-API-001"]

    assert (requirement.known_deviation(version) is not None) == concerned

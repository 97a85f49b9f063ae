# SPDX-License-Identifier: Apache-2.0
"""The catalogue of requirements: the spine that checks, verdicts and reports hang on."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

import yaml

PATH = Path(__file__).parent.parent / "conformance" / "catalogue.yaml"


class Level(StrEnum):
    """How binding a requirement is: stated, advised, or only seen in the source of Kubernetes."""

    MUST = "MUST"
    SHOULD = "SHOULD"
    OBSERVED = "OBSERVED"


@dataclass(frozen=True)
class KnownDeviation:
    """A violation that is known in some Kubernetes versions; it labels a red row and never changes it."""

    versions: tuple[str, ...]
    link: str
    sentence: str

    def concerns(self, version: str) -> bool:
        """Tell whether ``version`` (such as ``v1.36.3``) is one of those the deviation is known in."""
        plain = version.removeprefix("v")
        return any(plain == known or plain.startswith(f"{known}.") for known in self.versions)


KEP = "https://github.com/kubernetes/enhancements/tree/master/keps/sig-scheduling/5729-resourceclaim-support-for-workloads"
DOCUMENTATION = (
    "https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/#workload-resourceclaims"
)
SOURCE_CODE = "https://github.com/kubernetes/kubernetes/blob/v1.37.2/"


@dataclass(frozen=True)
class Requirement:
    """One row of the catalogue.

    ``versions`` are Kubernetes minors such as ``1.37``; ``needs`` says what a cluster must offer
    (``control-plane``, ``kubelet``, ``driver``, ``restart``); ``not_built`` is the written reason why no check
    exists, and empty where one does; ``reports`` are links to public reports that its checks would have caught.
    """

    id: str
    area: str
    level: Level
    statement: str
    source: str
    versions: tuple[str, ...]
    needs: tuple[str, ...]
    probe: bool = False
    known_deviations: tuple[KnownDeviation, ...] = ()
    not_built: str = ""
    reports: tuple[str, ...] = ()

    def known_deviation(self, version: str) -> KnownDeviation | None:
        """Return the deviation known for ``version`` (such as ``v1.36.3``), if there is one."""
        return next((known for known in self.known_deviations if known.concerns(version)), None)

    @property
    def link(self) -> str:
        """Where the source can be read: the KEP, else the documentation, else the file of Kubernetes."""
        if "KEP-5729" in self.source:
            return KEP
        file = re.search(r"(?:staging|pkg|plugin|test|cmd)/[\w./-]+\.go", self.source)
        return SOURCE_CODE + file.group() if file else DOCUMENTATION


class Catalogue:
    """All requirements, in the catalogue's order."""

    def __init__(self, areas: dict[str, str], requirements: tuple[Requirement, ...]) -> None:
        self.areas = areas
        self.requirements = requirements
        self._by_id = {requirement.id: requirement for requirement in requirements}

    def __iter__(self) -> Iterator[Requirement]:
        return iter(self.requirements)

    def __len__(self) -> int:
        return len(self.requirements)

    def __contains__(self, requirement_id: object) -> bool:
        return requirement_id in self._by_id

    def __getitem__(self, requirement_id: str) -> Requirement:
        return self._by_id[requirement_id]


@cache
def load(path: Path = PATH) -> Catalogue:
    """Return the catalogue; a row with an unknown field or level raises TypeError or ValueError."""
    document = yaml.safe_load(path.read_text())
    rows = [_requirement(area, row) for area in document["areas"] for row in area["requirements"]]
    return Catalogue({area["id"]: area["title"] for area in document["areas"]}, tuple(rows))


def _requirement(area: dict[str, Any], row: dict[str, Any]) -> Requirement:
    known = tuple(
        KnownDeviation(**{**one, "versions": tuple(one["versions"])}) for one in row.pop("known_deviations", ())
    )
    return Requirement(
        area=area["id"],
        level=Level(row.pop("level")),
        versions=tuple(row.pop("versions")),
        needs=tuple(row.pop("needs")),
        known_deviations=known,
        reports=tuple(row.pop("reports", ())),
        **row,
    )

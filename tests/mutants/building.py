# SPDX-License-Identifier: Apache-2.0
"""Builds a component of Kubernetes with one line changed, by Go's ``-overlay``; the module cache stays untouched.

Go refuses overlays of files in its module cache, so the module is replaced by a folder of links to its files.
"""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import yaml

from fixtures.clusters.build import kubernetes, workspace
from fixtures.clusters.go import Go, go_for

LIST = Path(__file__).with_name("mutants.yaml")


@dataclass(frozen=True)
class Mutant:
    """One changed line; ``breaks`` are the requirements that the suite must call non-conformant."""

    name: str
    fault: str
    component: str
    file: str
    line: str
    becomes: str
    breaks: tuple[str, ...]
    occurrence: int = 1

    def applied_to(self, source: str) -> str:
        """Return the source with the line changed.

        Raises:
            ValueError: the line does not stand there so often; Kubernetes has changed, so must the mutant.
        """
        parts = source.split(self.line)
        if len(parts) <= self.occurrence:
            raise ValueError(f"{self.file} has the line of mutant {self.name} {len(parts) - 1} times: {self.line}")
        before, after = self.line.join(parts[: self.occurrence]), self.line.join(parts[self.occurrence :])
        return before + self.becomes + after


def mutants() -> list[Mutant]:
    """Return all mutants of the list."""
    return [Mutant(**{**one, "breaks": tuple(one["breaks"])}) for one in yaml.safe_load(LIST.read_text())]


class Workshop:
    """A folder in which mutants of one version are built, one after the other."""

    def __init__(self, version: str, folder: Path, cache: Path, tell: Callable[[str], None]) -> None:
        """Link the sources of the module; ``folder`` must be empty."""
        self._module = kubernetes(version)
        self._folder = folder
        self._sources = folder / "sources"
        self._go: Go = go_for(f"{self._module.path}@{version}", folder, cache, tell)
        self._tell = tell
        self._prepare()

    def build(self, mutant: Mutant, into: Path) -> None:
        """Build the mutant's component into the folder ``into``."""
        original = self._sources / mutant.file
        changed = self._folder / "changed.go"
        changed.write_text(mutant.applied_to(original.read_text()))
        overlay = self._folder / "overlay.json"
        overlay.write_text(json.dumps({"Replace": {str(original): str(changed)}}))
        self._tell(f"Building {mutant.component} with one changed line: {mutant.fault}")
        package = f"{self._module.path}/cmd/{mutant.component}"
        options = (*self._module.build_options, "-overlay", str(overlay), "-o", str(into / mutant.component))
        self._go("build", *options, package)

    def _prepare(self) -> None:
        its_go_mod = self._go.go_mod(f"{self._module.path}@{self._module.version}")
        its_own = json.loads(self._go("mod", "edit", "-json", str(its_go_mod)))
        self._go("mod", "download", f"{self._module.path}@{self._module.version}")
        _link(
            Path(self._go("env", "GOMODCACHE").strip()) / f"{self._module.path}@{self._module.version}", self._sources
        )
        replaced = f"replace {self._module.path} => {self._sources}\n"
        (self._folder / "go.mod").write_text(workspace(self._module, its_own) + replaced)
        imports = "".join(f'import _ "{command.package}"\n' for command in self._module.commands)
        (self._folder / "tools.go").write_text(f"//go:build tools\n\npackage tools\n\n{imports}")
        self._go("mod", "tidy")


def _link(original: Path, copy: Path) -> None:
    """Make a folder of links to the files of ``original``."""
    for folder, _, files in os.walk(original):
        here = copy / Path(folder).relative_to(original)
        here.mkdir(parents=True)
        for file in files:
            (here / file).symlink_to(Path(folder) / file)

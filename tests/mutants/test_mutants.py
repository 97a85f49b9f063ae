# SPDX-License-Identifier: Apache-2.0
"""Proof beyond the API: a real Kubernetes with one wrong line is called non-conformant for the right requirement."""

from pathlib import Path

import pytest

from fixtures.clusters.cache import default_cache
from fixtures.clusters.versions import DEFAULT_KUBERNETES
from tests.mutants.building import Mutant, Workshop, mutants
from tests.running import Run
from verdicts import document


@pytest.fixture(scope="session")
def workshop(tell, tmp_path_factory) -> Workshop:
    """Where mutants are built."""
    return Workshop(DEFAULT_KUBERNETES, tmp_path_factory.mktemp("workshop"), default_cache(), tell)


@pytest.mark.mutant
@pytest.mark.parametrize("mutant", mutants(), ids=lambda mutant: mutant.name)
def test_the_suite_names_what_the_mutant_breaks(mutant: Mutant, kubernetes, workshop, tell, tmp_path: Path):
    """The requirements that the changed line breaks are non-conformant."""
    binaries = tmp_path / "binaries"
    binaries.mkdir()
    for name, path in kubernetes.paths.items():
        if name != mutant.component:
            (binaries / name).symlink_to(path)
    workshop.build(mutant, binaries)

    run = Run(tmp_path / "report", "-n", "4", f"--wrc-binaries={binaries}", f"--wrc-checks={','.join(mutant.breaks)}")
    code = run.exit_code()
    tell(run.output)

    assert code == 1
    rows = {row["id"]: row for row in document.read(run.report / "verdicts.json")["requirements"]}
    verdicts = {one: rows[one]["verdict"] for one in mutant.breaks}
    assert verdicts == dict.fromkeys(mutant.breaks, "non-conformant")

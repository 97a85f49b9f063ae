# SPDX-License-Identifier: Apache-2.0
"""The plain YAML that people apply: it parses, is of kinds we know, and each reproduction says what it reproduces."""

import re
from pathlib import Path

import pytest
import yaml

from fixtures.kinds import kinds
from verdicts import catalogue

ROOT = Path(__file__).parent.parent
MANIFESTS = sorted([*ROOT.glob("manifests/*.yaml"), *ROOT.glob("reproductions/*/*.yaml")])
REPRODUCTIONS = sorted(path.parent for path in ROOT.glob("reproductions/*/README.md"))
RBAC = dict.fromkeys(("Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"), "rbac.authorization.k8s.io/v1")
KNOWN = {kind.name: kind.api_version for kind in kinds("v1beta1").values()} | RBAC


def short(path: Path) -> str:
    """Return the path as one would type it."""
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("manifest", MANIFESTS, ids=short)
def test_manifest_holds_objects_of_known_kinds(manifest):
    """Every document of a manifest is an object with a name, of a kind and version that the suite knows."""
    objects = list(yaml.safe_load_all(manifest.read_text()))

    assert objects
    assert [one["apiVersion"] for one in objects] == [KNOWN[one["kind"]] for one in objects]
    assert all(one["metadata"]["name"] for one in objects)


@pytest.mark.parametrize("folder", REPRODUCTIONS, ids=short)
def test_reproduction_names_its_requirement(folder):
    """A reproduction begins with the requirement it is about, which is in the catalogue, as a probe."""
    [requirement] = re.findall(r"^Requirement: (\S+)\. ", (folder / "README.md").read_text(), re.MULTILINE)

    assert catalogue.load()[requirement].probe


@pytest.mark.parametrize("folder", REPRODUCTIONS, ids=short)
def test_reproduction_applies_all_its_manifests_and_removes_them(folder):
    """The commands of a reproduction apply every manifest that lies beside it, and the last one deletes them all."""
    commands = re.findall(r"^\$ (.+)$", (folder / "README.md").read_text(), re.MULTILINE)
    there = {path.name for path in folder.glob("*.yaml")}

    applied = {command.removeprefix("kubectl apply -f ") for command in commands if "apply" in command}
    deleted = set(re.findall(r"-f (\S+)", commands[-1]))

    assert there
    assert applied == there
    assert deleted == there


def test_every_folder_of_reproductions_has_a_readme():
    """What lies in reproductions can be followed."""
    assert sorted(path for path in ROOT.glob("reproductions/*") if path.is_dir()) == REPRODUCTIONS

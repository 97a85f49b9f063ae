# SPDX-License-Identifier: Apache-2.0
"""The suite tells the truth: an honest run against a real control plane, and what it leaves behind."""

import json
from collections import Counter
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from tests.running import Run
from verdicts import document
from verdicts.redaction import find_secrets


@pytest.fixture(scope="module")
def honest_run(kubernetes, tell, tmp_path_factory) -> Run:
    """A run of all checks against the default version, as `make conformance` starts it."""
    tell("\nAll checks against the truth")
    run = Run(tmp_path_factory.mktemp("honest") / "report", "-n", "6")
    run.exit_code()
    tell(run.output)
    return run


@pytest.fixture(scope="module")
def verdicts(honest_run) -> dict[str, Any]:
    """The document of the honest run; reading it validates it."""
    return document.read(honest_run.report / "verdicts.json")


def test_a_conformant_control_plane_is_partial_without_a_kubelet(honest_run, verdicts):
    """No MUST is violated or undetermined, so the exit code is 0; what needs a kubelet is not shown."""
    assert honest_run.exit_code() == 0, honest_run.output
    assert verdicts["overall"]["verdict"] == "partial"
    assert verdicts["overall"]["musts"]["violated"] == 0
    assert verdicts["overall"]["musts"]["undetermined"] == 0


def test_every_built_requirement_is_conformant(verdicts):
    """With a check it is conformant on the default version, or a probe that is known to be red; else it says why."""
    built = [row for row in verdicts["requirements"] if row["checks"] and "kubelet" not in row["needs"]]
    red = [row for row in built if row["verdict"] not in {"conformant", "not applicable"}]

    assert {row["id"]: row["reason"] for row in red if not (row["probe"] and row["known_deviation"])} == {}
    assert len(built) >= 29
    assert all(row["reason"] for row in verdicts["requirements"] if not row["checks"])


def test_the_report_says_what_the_cluster_is(verdicts):
    """Versions, gates, the origin of the binaries and changed settings are in the document."""
    cluster = verdicts["cluster"]

    assert cluster["kubernetes"]["kube-apiserver"] == cluster["version"] == "v1.37.2"
    assert cluster["effective_feature_gates"]["kube-scheduler"] == {
        "GenericWorkload": True,
        "DRAWorkloadResourceClaims": True,
    }
    assert "kube-scheduler" in cluster["settings"]
    assert cluster["leftovers"] == []


def test_evidence_lies_in_the_report(honest_run, verdicts):
    """Each check names its timeline, picture and final objects, and the files exist."""
    [row] = [row for row in verdicts["requirements"] if row["id"] == "WRC-NAM-001"]
    [check] = row["checks"]

    assert [name.rpartition("/")[2] for name in check["evidence"]] == [
        "timeline.txt",
        "timeline.svg",
        "objects.yaml",
    ]
    assert all((honest_run.report / name).stat().st_size for name in check["evidence"])


def test_junit_and_allure_agree_with_the_verdicts(honest_run, verdicts):
    """Both have a result for each check; Allure also lists the requirements without one, as unknown if not run."""
    checks = {check["check"] for row in verdicts["requirements"] for check in row["checks"]} - {"end of the run"}
    others = [row for row in verdicts["requirements"] if row["area"] == "INV" or not row["checks"]]
    suite = ET.parse(honest_run.report / "junit.xml").getroot()[0]
    results = [json.loads(path.read_text()) for path in (honest_run.report / "allure-results").glob("*-result.json")]

    assert int(suite.attrib["tests"]) == len(checks)
    assert len(results) == len(checks) + len(others)
    told = [check for row in verdicts["requirements"] for check in row["checks"]]
    red = {check["check"] for check in told if check["verdict"] == "non-conformant"}
    skipped = {check["check"] for check in told if check["verdict"] == "not applicable"} - {"end of the run"}
    assert Counter(result["status"] for result in results) == {
        "passed": len(checks) + 5 - len(red | skipped),  # the five are the standing invariants
        "failed": len(red),
        "unknown": sum(row["verdict"] == "not run" for row in others),
        "skipped": len(skipped) + sum(row["verdict"] == "not applicable" for row in others),
    }


def test_what_needs_a_kubelet_does_not_apply(verdicts):
    """Without a kubelet the rows of the area KUB that have a check are not applicable, and say so."""
    rows = [row for row in verdicts["requirements"] if "kubelet" in row["needs"] and not row["reason"].startswith("No")]

    assert {row["verdict"] for row in rows if row["area"] == "KUB"} == {"not applicable"}
    assert {row["reason"] for row in rows if row["area"] == "KUB"} == {
        "no kubelet of this cluster (local) can be served by a driver"
    }


def test_allure_steps_read_like_the_story(honest_run):
    """The steps of a check say what was created and what was waited for."""
    results = [json.loads(path.read_text()) for path in (honest_run.report / "allure-results").glob("*-result.json")]
    [result] = [one for one in results if "survives its pod group" in one["name"]]

    steps = [step["name"] for step in result["steps"]]
    assert "PodGroup first with shared → shared-claim" in steps
    assert "Wait until PodGroup first is gone" in steps


def test_no_file_of_the_report_holds_a_secret(honest_run):
    """No token, key or certificate is in any file of the report."""
    assert find_secrets(honest_run.report) == []


def test_the_terminal_ends_with_the_verdict_and_the_report(honest_run):
    """The last lines say the verdict in words and where the report is."""
    assert "MUSTs shown, none violated" in honest_run.output
    assert f"Report: {honest_run.report}" in honest_run.output

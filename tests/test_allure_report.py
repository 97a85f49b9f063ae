# SPDX-License-Identifier: Apache-2.0
"""The page for people: made from a real, small run of pytest, and read back."""

import base64
import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.small_run import CLUSTER, RUN, catalogue, outcome, requirement
from verdicts import allure_report
from verdicts.allure_report import environment, executor, generate, prepare
from verdicts.document import Document, build
from verdicts.judge import judge
from verdicts.outcomes import Verdict

CHECKS = '''
import allure, pytest, time

@pytest.fixture
def scenario():
    yield
    allure.attach("<svg xmlns='http://www.w3.org/2000/svg'/>", "timeline", allure.attachment_type.SVG)
    allure.attach("user:\\n  token: s3cr3t-value\\n", "object", allure.attachment_type.YAML)

def test_conformant(scenario) -> None:
    """One claim & one group.

    **WRC-API-001** holds for <all> Pods.
    """

def test_non_conformant(scenario) -> None:
    raise AssertionError("the claim is still reserved")

def test_undetermined(scenario) -> None:
    raise RuntimeError("the watch lost events")

@pytest.mark.timeout(0.2)
def test_too_slow(scenario) -> None:
    time.sleep(5)

def test_not_applicable(scenario) -> None:
    pytest.skip("no kubelet")
'''
#: Allure's word for each of our verdicts.
STATUSES = {
    "test_conformant": "passed",
    "test_non_conformant": "failed",
    "test_undetermined": "broken",
    "test_too_slow": "broken",
    "test_not_applicable": "skipped",
}
NEEDS_NODE = pytest.mark.skipif(
    not shutil.which("npx") or not (allure_report.ROOT / "node_modules" / "allure").is_dir(),
    reason="Node or node_modules are missing: npm ci",
)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run the checks above in a pytest of their own, as Allure records them."""
    folder = tmp_path_factory.mktemp("run")
    (folder / "test_checks.py").write_text(CHECKS)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--alluredir=results"]
    subprocess.run([*command, "test_checks.py"], cwd=folder, check=False, capture_output=True)
    return folder / "results"


@pytest.fixture
def results(recorded: Path, tmp_path: Path) -> Path:
    return shutil.copytree(recorded, tmp_path / "results")


@pytest.fixture
def document() -> Document:
    outcomes = [outcome("WRC-API-001", Verdict.NON_CONFORMANT, "the claim is still reserved")]
    return build(judge(catalogue(requirement("WRC-API-001")), outcomes, "v1.37.2"), RUN, CLUSTER)


def loaded(results: Path, pattern: str) -> list[Any]:
    return [json.loads(path.read_text()) for path in results.glob(pattern)]


def test_each_check_is_shown_as_what_it_is(results: Path, document: Document) -> None:
    """Red is for broken requirements only: a check that ran out of time proves nothing."""
    prepare(results, document)

    assert {one["name"]: one["status"] for one in loaded(results, "*-result.json")} == STATUSES


def test_every_tear_down_that_is_left_has_a_status(results: Path, document: Document) -> None:
    """What pytest and Allure record twice is shown once, and what a fixture attached stays."""
    prepare(results, document)
    tear_downs = [one for container in loaded(results, "*-container.json") for one in container["afters"]]

    assert Counter(one.get("status") for one in tear_downs) == {"passed": len(STATUSES)}
    assert all(len(one["attachments"]) == 2 for one in tear_downs)


def test_the_docstring_of_a_check_is_its_description(results: Path, document: Document) -> None:
    """The sentence that says what is checked stands on the page, whatever characters it has."""
    prepare(results, document)
    (conformant,) = (one for one in loaded(results, "*-result.json") if one["name"] == "test_conformant")

    assert conformant["descriptionHtml"] == (
        "<p>One claim &amp; one group.</p><p><b>WRC-API-001</b> holds for &lt;all&gt; Pods.</p>"
    )


def test_a_result_that_was_cut_off_does_not_lose_the_page(results: Path, document: Document) -> None:
    """A worker that was killed while it wrote leaves half a file."""
    (results / "half-result.json").write_text('{"name": "test_')

    prepare(results, document)

    assert (results / "half-result.json").read_text() == '{"name": "test_'


def test_a_requirement_without_a_check_is_listed_as_unknown(results: Path) -> None:
    """What was not run is listed all the same, so that nobody takes the share of passed checks for the whole."""
    rows = catalogue(requirement("WRC-API-001"), requirement("WRC-API-002", not_built="No check yet."))
    prepare(results, build(judge(rows, [outcome("WRC-API-001")], "v1.37.2"), RUN, CLUSTER))
    [listed] = loaded(results, "WRC-*-result.json")

    assert (listed["name"], listed["status"]) == ("WRC-API-002: not run", "unknown")
    assert listed["statusDetails"]["message"] == "No check yet."


def test_the_verdicts_are_the_categories(results: Path, document: Document) -> None:
    """Who reads the page finds the words of verdicts.json again."""
    prepare(results, document)
    categories = json.loads((results / "categories.json").read_text())

    assert {one["matchedStatuses"][0]: one["name"] for one in categories} == {
        "failed": Verdict.NON_CONFORMANT,
        "broken": Verdict.UNDETERMINED,
        "skipped": Verdict.NOT_APPLICABLE,
        "unknown": Verdict.NOT_RUN,
    }


def test_the_environment_tells_the_verdict_and_the_cluster(document: Document) -> None:
    """A page that was sent on says by itself what was judged."""
    assert dict(environment(document)) == {
        "Verdict": "non-conformant: 1 of 1 MUSTs violated",
        "Suite": f"wrc-conformance {document['suite']['version']}",
        "Provider": "local",
        "Version": "v1.37.2",
        "Kubernetes: kube-apiserver": "v1.37.2",
        "Kubernetes: kube-scheduler": "v1.37.2",
        "Feature gates: kube-scheduler": "GenericWorkload=true",
        "Nodes": "simulated: no kubelet",
    }


def test_a_run_of_ci_links_to_its_job() -> None:
    """From the page of a nightly run one gets to its log."""
    told = executor(
        {
            "GITHUB_SERVER_URL": "https://forge.example",
            "GITHUB_REPOSITORY": "a/b",
            "GITHUB_RUN_ID": "77",
            "GITHUB_RUN_NUMBER": "5",
            "GITHUB_WORKFLOW": "nightly",
        },
        "20261001",
    )

    assert told["buildUrl"] == "https://forge.example/a/b/actions/runs/77"
    assert (told["name"], told["buildName"], told["buildOrder"]) == ("GitHub Actions", "nightly #5", 5)


def test_a_local_run_names_no_machine() -> None:
    """A page that was sent on does not tell whose computer it came from."""
    assert executor({"HOSTNAME": "desk"}, "20261001") == {
        "name": "local run",
        "type": "local",
        "buildName": "20261001",
    }


def embedded(page: Path) -> dict[str, str]:
    """Return the data files that a page carries, by name."""
    return {
        name: base64.b64decode(content).decode()
        for name, content in re.findall(r'd\("([^"]+)","([^"]*)"\)', page.read_text())
    }


@NEEDS_NODE
def test_the_page_is_one_file_with_all_of_it(results: Path, document: Document, tmp_path: Path) -> None:
    """Checks, verdicts and attachments are in the file, and no secret is."""
    prepare(results, document)
    page = tmp_path / "index.html"
    assert generate(results, page, print) == page
    data = embedded(page)

    tests = [json.loads(content) for name, content in data.items() if name.startswith("data/test-cases/")]
    assert {one["name"]: one["status"] for one in tests} == STATUSES
    shown = {one["name"]: one["values"] for one in json.loads(data["widgets/environment.json"])}
    assert shown == {name: [value] for name, value in environment(document)}
    assert json.loads(data["widgets/executors.json"])[0]["buildName"] == RUN.id
    assert json.loads(data["widgets/summary.json"])["reportName"] == "Workload ResourceClaims conformance"
    assert any("<svg" in content for content in data.values())
    assert any("token: [redacted]" in content for content in data.values())
    assert not any("s3cr3t" in content for content in data.values())


@NEEDS_NODE
def test_the_page_loads_nothing_from_anywhere(results: Path, document: Document, tmp_path: Path) -> None:
    """It opens from a disk without a network, and nobody is told that it was opened."""
    prepare(results, document)
    page = tmp_path / "index.html"
    assert generate(results, page, print) == page

    assert re.findall(r"(?:https?:)?//[\w-]+\.[\w.]+", re.sub(r"[A-Za-z0-9+/=]{100,}", "", page.read_text())) == []


def test_without_node_the_user_hears_how_to_make_the_page_later(
    results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run is worth as much without a page; nothing fails."""
    monkeypatch.setenv("PATH", str(tmp_path))
    told: list[str] = []

    assert generate(results, tmp_path / "index.html", told.append) is None
    assert "Node or the node_modules of this suite are missing" in told[0]
    assert f"The results are in {results}." in told[0]
    assert "npm ci\n" in told[0]


@NEEDS_NODE
def test_a_generator_that_fails_is_quoted(tmp_path: Path) -> None:
    """What it said is shown, and the run goes on."""
    told: list[str] = []

    assert generate(tmp_path / "nothing-here", tmp_path / "index.html", told.append) is None
    assert "No test results directories found" in told[0]
    assert not (tmp_path / "index.html").exists()

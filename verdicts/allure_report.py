# SPDX-License-Identifier: Apache-2.0
"""The page that people read: the results of Allure made presentable, then one HTML file by npm's allure."""

import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from html import escape
from inspect import cleandoc
from pathlib import Path
from typing import Any

from verdicts.catalogue import load
from verdicts.document import Document
from verdicts.redaction import redact_folder

ROOT = Path(__file__).parent.parent
#: What the page is, in the generator's words; its command line cannot give the page a name.
CONFIGURATION = Path(__file__).with_name("allurerc.json")
#: Seconds for one page. Thousands of results take less than a minute on two cores.
GENERATE_SECONDS = 300

CATEGORIES = (
    {"name": "non-conformant", "matchedStatuses": ["failed"]},
    {"name": "undetermined", "matchedStatuses": ["broken"]},
    {"name": "not applicable", "matchedStatuses": ["skipped"]},
    {"name": "not run", "matchedStatuses": ["unknown"]},
)


def prepare(results: Path, document: Document) -> None:
    """Make the results of a run presentable: what ran, in our words, without noise and without secrets."""
    _write_json(results / "categories.json", CATEGORIES)
    _write_json(results / "executor.json", executor(os.environ, document["run"]["id"]))
    _write_properties(results / "environment.properties", environment(document))
    for recorded in results.glob("*-container.json"):
        _rewrite(recorded, _without_empty_tear_downs)
    for recorded in results.glob("*-result.json"):
        _rewrite(recorded, _in_our_words)
    for row in document["requirements"]:
        if row["area"] == "INV" or not row["checks"]:
            _write_json(results / f"{row['id']}-result.json", _without_check(row))
    redact_folder(results)


def generate(results: Path, html: Path, tell: Callable[[str], None]) -> Path | None:
    """Make one HTML file of ``results`` that needs neither network nor server.

    Returns:
        ``html``, or None where it could not be made; ``tell`` then hears why, and how to make it later.
    """
    if not shutil.which("npx") or not (ROOT / "node_modules" / "allure").is_dir():
        tell(f"No HTML report: Node or the node_modules of this suite are missing.\n{_later(results, html)}")
        return None
    with tempfile.TemporaryDirectory() as folder:
        try:
            _run(_command(results, Path(folder)))
        except (subprocess.SubprocessError, OSError) as error:
            tell(f"No HTML report: {error}\n{_said_by(error)}{_later(results, html)}")
            return None
        shutil.move(Path(folder) / "index.html", html)
    return html


def environment(document: Document) -> Iterator[tuple[str, str]]:
    """Yield name and value of what the page shows as environment: verdict, suite, all about the cluster."""
    yield "Verdict", document["overall"]["words"]
    yield "Suite", f"{document['suite']['name']} {document['suite']['version']}"
    for name, value in document["cluster"].items():
        if value in ("", [], {}):
            continue
        words = name.replace("_", " ").capitalize()
        if isinstance(value, dict):
            yield from ((f"{words}: {part}", _in_words(inner)) for part, inner in value.items())
        else:
            yield words, _in_words(value)


def executor(variables: Mapping[str, str], run: str) -> dict[str, Any]:
    """Return what the page shows as executor; ``run`` is the id of the run, ``variables`` the process's."""
    if "GITHUB_RUN_ID" not in variables:
        return {"name": "local run", "type": "local", "buildName": run}
    repository = f"{variables['GITHUB_SERVER_URL']}/{variables['GITHUB_REPOSITORY']}"
    return {
        "name": "GitHub Actions",
        "type": "github",
        "buildName": f"{variables['GITHUB_WORKFLOW']} #{variables['GITHUB_RUN_NUMBER']}",
        "buildOrder": int(variables["GITHUB_RUN_NUMBER"]),
        "buildUrl": f"{repository}/actions/runs/{variables['GITHUB_RUN_ID']}",
    }


def _without_check(row: Document) -> dict[str, Any]:
    """Return the result of a requirement that has no check, or that is judged on every scenario: it is listed too.

    Allure's "unknown" stands for "not run", so that the share of passed ones is of all requirements.
    """
    statuses = {"not applicable": "skipped", "conformant": "passed", "non-conformant": "failed", "not run": "unknown"}
    status = statuses.get(row["verdict"], "broken")
    return {
        "uuid": row["id"],
        "historyId": row["id"],
        "fullName": row["id"],
        "name": f"{row['id']}: {row['verdict']}",
        "status": status,
        "statusDetails": {"message": row["reason"]},
        "description": f"**{row['id']}** ({row['level']}): {row['statement']}",
        "descriptionHtml": _as_html(f"**{row['id']}** ({row['level']}): {row['statement']}"),
        "labels": [
            {"name": "parentSuite", "value": load().areas.get(row["area"], row["area"])},
            {"name": "suite", "value": row["id"]},
            {"name": "requirement", "value": row["id"]},
            {"name": "level", "value": row["level"]},
        ],
    }


def _rewrite(recorded: Path, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    try:
        before = json.loads(recorded.read_text(encoding="utf-8"))
    except json.JSONDecodeError:
        return  # cut off with the worker that wrote it; the generator passes over it as well
    after = change(before)
    if after != before:
        _write_json(recorded, after)


def _without_empty_tear_downs(container: dict[str, Any]) -> dict[str, Any]:
    """Since pytest 9.1 every fixture is recorded with a second tear-down that has neither name nor status."""
    tear_downs = container.get("afters", [])
    kept = [one for one in tear_downs if "status" in one or not one["name"].endswith("<lambda>")]
    return {**container, "afters": kept}


def _in_our_words(result: dict[str, Any]) -> dict[str, Any]:
    changed = dict(result)
    # pytest's own failure, such as the one of pytest-timeout, is not an assertion and proves nothing.
    if result.get("statusDetails", {}).get("message", "").startswith("Failed: "):
        changed["status"] = "broken"
    if "description" in result:
        changed["descriptionHtml"] = _as_html(result["description"])
    return changed


def _as_html(description: str) -> str:
    """The page shows no Markdown, and the docstring of a check is the sentence to read."""
    bold = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", escape(cleandoc(description)))
    return "".join(f"<p>{paragraph}</p>" for paragraph in bold.split("\n\n"))


def _in_words(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}={_in_words(inner)}" for name, inner in value.items())
    if isinstance(value, list):
        return ", ".join(map(_in_words, value))
    return value if isinstance(value, str) else json.dumps(value)


def _write_properties(path: Path, properties: Iterator[tuple[str, str]]) -> None:
    lines = (f"{_escaped(name, ' :=')} = {_escaped(value)}\n" for name, value in properties)
    path.write_text("".join(lines), encoding="utf-8")


def _escaped(text: str, special: str = "") -> str:
    for character in "\\" + special:
        text = text.replace(character, f"\\{character}")
    return text.replace("\n", "\\n")


def _write_json(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content, indent=2), encoding="utf-8")


def _command(results: Path, folder: Path) -> list[str]:
    allure = ["npx", "--no-install", "allure", "generate", "--config", str(CONFIGURATION)]
    return [*allure, "--output", str(folder), str(results.resolve())]


def _run(command: list[str]) -> None:
    # Only this very word keeps the page from calling home.
    variables = {**os.environ, "ALLURE_NO_ANALYTICS": "true"}
    subprocess.run(
        command, cwd=ROOT, env=variables, capture_output=True, text=True, check=True, timeout=GENERATE_SECONDS
    )


def _said_by(error: Exception) -> str:
    said = error.stdout + error.stderr if isinstance(error, subprocess.CalledProcessError) else ""
    return "".join(f"  {line}\n" for line in said.splitlines()[-10:])


def _later(results: Path, html: Path) -> str:
    command = shlex.join(_command(results, html.resolve().with_suffix("")))
    return (
        f"The results are in {results}. To make the page later, in the folder of this suite:\n"
        f"  npm ci\n"
        f"  ALLURE_NO_ANALYTICS=true {command}"
    )

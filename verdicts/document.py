# SPDX-License-Identifier: Apache-2.0
"""verdicts.json: the run for machines, as ``schema.json`` beside this file describes it."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from fixtures.clusters.cluster import SUITE_VERSION
from verdicts.judge import Judgement, Overall, RequirementVerdict
from verdicts.outcomes import Outcome, Verdict
from verdicts.redaction import redact

Document = dict[str, Any]

SCHEMA = "wrc-conformance/verdicts/v1"

#: What running a check again may change. "Not applicable" is proven, and stays.
_WORTH_ANOTHER_RUN = {Verdict.NON_CONFORMANT, Verdict.UNDETERMINED, Verdict.NOT_RUN}


@dataclass(frozen=True)
class Run:
    """When and how the suite ran.

    ``started`` and ``finished`` carry their time zone; ``selection`` says in pytest's words which checks were
    asked for, and is empty for all; ``jobs`` is how many ran side by side.
    """

    id: str
    started: datetime
    finished: datetime
    command_line: str
    selection: str = ""
    jobs: int = 1


def build(judgement: Judgement, run: Run, cluster: Mapping[str, Any]) -> Document:
    """Return the document of a run, free of secrets.

    ``cluster`` is what the provider says of the cluster, in plain JSON types; it is empty if there was none.
    """
    body = {
        "schema": SCHEMA,
        "suite": {"name": "wrc-conformance", "version": SUITE_VERSION},
        "run": _run(run),
        "cluster": cluster,
        "overall": _overall(judgement.overall),
        "requirements": [_requirement(row) for row in judgement.requirements],
    }
    redacted: Document = json.loads(redact(json.dumps(body)))
    return {**redacted, "footer": _footer(redacted["requirements"])}


def write(document: Document, path: Path) -> None:
    """Write ``document``, whole or not at all."""
    unfinished = path.with_suffix(".unfinished")
    text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    # Half a surrogate pair, from a log that was no UTF-8, becomes the escape that JSON knows for it.
    unfinished.write_text(text, encoding="utf-8", errors="backslashreplace")
    unfinished.replace(path)


def read(path: Path) -> Document:
    """Return the document in ``path``.

    Raises:
        FileNotFoundError: There is none.
        ValueError: It was cut off, changed by hand, or is something else.
    """
    document: Document = _parsed(path)
    _refuse_other_formats(document, path)
    if document["footer"] != _footer(document["requirements"]):
        raise ValueError(_cut_off(path, "its footer does not fit the requirements and checks above it"))
    return document


def not_conformant_checks(document: Document) -> list[str]:
    """Return the node ids of the checks worth another run: none of the conformant, none not applicable."""
    checks = (check for requirement in document["requirements"] for check in requirement["checks"])
    return list(dict.fromkeys(check["check"] for check in checks if check["verdict"] in _WORTH_ANOTHER_RUN))


def _run(run: Run) -> Document:
    seconds = (run.finished - run.started).total_seconds()
    times = {"started": _utc(run.started), "finished": _utc(run.finished), "seconds": round(seconds, 3)}
    return {**asdict(run), **times}


def _utc(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _overall(overall: Overall) -> Document:
    musts = {**asdict(overall.musts), "not_shown": overall.musts.not_shown}
    return {**asdict(overall), "musts": musts}


def _requirement(row: RequirementVerdict) -> Document:
    requirement = row.requirement
    return {
        "id": requirement.id,
        "area": requirement.area,
        "level": requirement.level,
        "statement": requirement.statement,
        "source": requirement.source,
        "versions": list(requirement.versions),
        "needs": list(requirement.needs),
        "probe": requirement.probe,
        "verdict": row.verdict,
        "reason": row.reason,
        "known_deviation": _known_deviation(row),
        "seconds": round(sum(outcome.seconds for outcome in row.outcomes), 3),
        "checks": [_check(outcome) for outcome in row.outcomes],
    }


def _known_deviation(row: RequirementVerdict) -> Document | None:
    known = row.known_deviation
    if known is None:
        return None
    return {"sentence": known.sentence, "link": known.link, "no_longer_seen": row.no_longer_seen}


def _check(outcome: Outcome) -> Document:
    plain = outcome.as_json()
    del plain["requirement"]
    return {**plain, "seconds": round(outcome.seconds, 3)}


def _footer(requirements: list[Document]) -> Document:
    checks = [[check["check"] for check in requirement["checks"]] for requirement in requirements]
    digest = sha256()
    for requirement, names in zip(requirements, checks, strict=True):
        digest.update("\n".join([requirement["id"], *names, ""]).encode())
    return {
        "complete": True,
        "requirements": len(requirements),
        "checks": sum(map(len, checks)),
        "digest": digest.hexdigest(),
    }


def _parsed(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise ValueError(_cut_off(path, f"it ends in the middle, at line {error.lineno}")) from error


def _refuse_other_formats(document: Any, path: Path) -> None:
    if isinstance(document, dict) and document.get("schema") == SCHEMA and "footer" not in document:
        raise ValueError(_cut_off(path, "it has no footer"))
    error = best_match(_validator().iter_errors(document))
    if error is not None:
        raise ValueError(f"{path} is no {SCHEMA} document: {error.json_path}: {error.message[:300]}")


def _cut_off(path: Path, symptom: str) -> str:
    return f"this run was cut off: {path}: {symptom}. Nothing can be said from it; run the suite again."


@cache
def _validator() -> Draft202012Validator:
    schema = json.loads(Path(__file__).with_name("schema.json").read_text(encoding="utf-8"))
    return Draft202012Validator(schema)

# SPDX-License-Identifier: Apache-2.0
"""What a check leaves for people: the timeline of its scenario as text and as a picture, and the final objects."""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import allure
import pytest
import yaml

from fixtures.conditions import recorded_claims
from fixtures.objects import devices_of, reservations_of
from fixtures.timeline import Timeline, Version
from verdicts.picture import Lane, Mark, draw
from verdicts.redaction import redact

#: Objects shown in full; hundreds of equal Pods would bury the rest.
MOST_OBJECTS = 40


def keep_evidence(config: pytest.Config, check: str, timeline: Timeline) -> tuple[str, ...]:
    """Write the evidence of a check into the report folder, attach it in Allure, and return the file names.

    Names are relative to the report folder; a session of lies keeps none.
    """
    if config.getoption("--wrc-lies"):
        return ()
    report: Path = config.option.wrc_report
    versions = [one for one in timeline.versions() if one.kind != "Event"]
    folder = Path("evidence") / folder_of(check)
    (report / folder).mkdir(parents=True, exist_ok=True)
    files = {
        "timeline.txt": as_text(timeline.versions()),
        "timeline.svg": draw(lanes(versions)),
        "objects.yaml": final_objects(versions),
    }
    for name, text in files.items():
        (report / folder / name).write_text(redact(text))
        allure.attach.file(str(report / folder / name), name=name, attachment_type=_TYPES[Path(name).suffix])
    return tuple(str(folder / name) for name in files)


def folder_of(check: str) -> str:
    """Return the name of the folder for what is kept of a check."""
    return re.sub(r"[^\w.=-]+", "-", check).strip("-")


_TYPES = {
    ".txt": allure.attachment_type.TEXT,
    ".svg": allure.attachment_type.SVG,
    ".yaml": allure.attachment_type.YAML,
}


def as_text(versions: Iterable[Version]) -> str:
    """Return one line per version: seconds, event, object, resourceVersion, and what is new in it."""
    seen: dict[str, set[str]] = {}
    lines = []
    for version in versions:
        news = _news(version, seen)
        number = version.body["metadata"]["resourceVersion"]
        lines.append(
            f"{version.at:8.3f} s  {version.event:<8}  {version.kind} {version.name}  @{number}"
            f"{'  ' if news else ''}{', '.join(news)}"
        )
    return "\n".join(lines) + "\n"


def lanes(versions: Iterable[Version]) -> list[Lane]:
    """Return a lane for each object, from its creation to its deletion, with a mark for each piece of news."""
    by_uid: dict[str, list[Version]] = {}
    for version in versions:
        by_uid.setdefault(version.uid, []).append(version)
    return [_lane(one) for one in by_uid.values()]


def final_objects(versions: Iterable[Version]) -> str:
    """Return the last version of each object as a stream of YAML documents, the first forty of them."""
    last = list({version.uid: version for version in versions}.values())
    documents = [_without_managed_fields(version) for version in last[:MOST_OBJECTS]]
    rest = f"# ... and {len(last) - MOST_OBJECTS} more\n" if len(last) > MOST_OBJECTS else ""
    return yaml.dump_all(documents, Dumper=yaml.CSafeDumper, sort_keys=False) + rest


def _lane(versions: Sequence[Version]) -> Lane:
    seen: dict[str, set[str]] = {}
    marks = tuple(Mark(version.at, ", ".join(news)) for version in versions if (news := _news(version, seen)))
    end = versions[-1].at if versions[-1].is_deletion else None
    return Lane(versions[0].name, versions[0].kind, versions[0].at, end, marks)


def _news(version: Version, seen: dict[str, set[str]]) -> list[str]:
    """Return the facts about the object that its earlier versions did not show."""
    known = seen.setdefault(version.uid, set())
    facts = list(_facts(version))
    news = [fact for fact in facts if fact not in known]
    lost = [f"no longer {fact}" for fact in sorted(known - set(facts))]
    seen[version.uid] = set(facts)
    return news + lost


def _facts(version: Version) -> Iterator[str]:
    body = version.body
    if version.kind == "Event":
        yield f"{body.get('reason')}: {body.get('message', '')[:120]}"
        return
    if body["metadata"].get("deletionTimestamp"):
        yield "being deleted"
    if version.kind == "Pod" and body["spec"].get("nodeName"):
        yield f"bound to {body['spec']['nodeName']}"
    if version.kind == "ResourceClaim":
        yield from (f"allocated {device}" for _, _, device in devices_of(body))
        yield from (f"reserved for {one['resource']} {one['name']}" for one in reservations_of(body)[:4])
    else:
        yield from (f"{entry} is {claim}" for entry, claim in recorded_claims(body).items())


def _without_managed_fields(version: Version) -> dict[str, object]:
    metadata = {key: value for key, value in version.body["metadata"].items() if key != "managedFields"}
    return {**version.body, "metadata": metadata}

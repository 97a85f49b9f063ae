# SPDX-License-Identifier: Apache-2.0
"""What a check leaves for people: the timeline as text, and what a picture of it shows."""

from typing import Any

from fixtures.timeline import Version
from verdicts.evidence import as_text, final_objects, lanes


def version(at: float, event: str, name: str, number: int, **body: Any) -> Version:
    """Return a version of a ResourceClaim."""
    metadata = {"name": name, "uid": f"uid-of-{name}", "resourceVersion": str(number), **body.pop("metadata", {})}
    return Version(at, event, {"kind": "ResourceClaim", "metadata": metadata, **body})


ALLOCATED = {
    "status": {
        "allocation": {"devices": {"results": [{"driver": "d", "pool": "p", "device": "device-0"}]}},
        "reservedFor": [{"resource": "podgroups", "name": "group", "uid": "1"}],
    }
}
LIFE = [
    version(0.5, "ADDED", "claim", 1),
    version(1.0, "MODIFIED", "claim", 2, **ALLOCATED),
    version(2.0, "MODIFIED", "claim", 3, metadata={"deletionTimestamp": "now"}),
    version(2.5, "DELETED", "claim", 4, metadata={"deletionTimestamp": "now"}),
]


def test_the_text_has_a_line_per_version_with_what_is_new():
    """Each line says when, what, which version, and what the version before did not show."""
    assert as_text(LIFE).splitlines() == [
        "   0.500 s  ADDED     ResourceClaim claim  @1",
        "   1.000 s  MODIFIED  ResourceClaim claim  @2  allocated device-0, reserved for podgroups group",
        (
            "   2.000 s  MODIFIED  ResourceClaim claim  @3  being deleted, no longer allocated device-0, "
            "no longer reserved for podgroups group"
        ),
        "   2.500 s  DELETED   ResourceClaim claim  @4",
    ]


def test_a_lane_goes_from_creation_to_deletion():
    """The marks are the pieces of news; an object that lives on has no end."""
    [gone, living] = lanes([*LIFE, version(3.0, "ADDED", "other", 5)])

    assert (gone.start, gone.end, living.end) == (0.5, 2.5, None)
    assert gone.marks[0].text == "allocated device-0, reserved for podgroups group"


def test_final_objects_are_the_last_versions_of_the_first_forty():
    """Hundreds of equal Pods would bury the rest; managedFields are left out."""
    many = [version(0, "ADDED", f"claim-{index}", index, metadata={"managedFields": ["noise"]}) for index in range(50)]

    text = final_objects([*many, version(1, "MODIFIED", "claim-0", 99)])

    assert text.count("kind: ResourceClaim") == 40
    assert "resourceVersion: '99'" in text
    assert "noise" not in text
    assert text.endswith("# ... and 10 more\n")

# SPDX-License-Identifier: Apache-2.0
"""Lists of ``resourceClaims`` that are valid, and lists that are not, of a PodGroup or a template of a Workload."""

from collections.abc import Sequence
from dataclasses import dataclass

from conformance.refusals import DUPLICATE, INVALID, REQUIRED, TOO_MANY
from fixtures.bodies import Entry

#: The longest DNS label, and the longest DNS subdomain.
LABEL = "l" * 63
SUBDOMAIN = ".".join(["s" * 63] * 3 + ["s" * 61])


@dataclass(frozen=True)
class InvalidList:
    """A list that must be refused, with ``reason`` at the field ``at`` below the list; ``fault`` says what is wrong."""

    fault: str
    entries: Sequence[Entry]
    reason: str
    at: str


def named(name: str, source: str = "some-claim") -> Entry:
    """Return an entry of the named kind."""
    return {"name": name, "resourceClaimName": source}


def from_template(name: str, source: str = "some-template") -> Entry:
    """Return an entry of the template kind."""
    return {"name": name, "resourceClaimTemplateName": source}


def both(name: str, claim: str = "some-claim", template: str = "some-template") -> Entry:
    """Return an entry of both kinds, which is no valid one."""
    return {"name": name, "resourceClaimName": claim, "resourceClaimTemplateName": template}


THREE = (named("first"), from_template("second"), named("third"))

VALID_LISTS = {
    "named": (named("only"),),
    "template": (from_template("only"),),
    "mixed": (from_template("zeta"), named("alpha", "b.example.com"), from_template("0"), named("mu", "b.example.com")),
    "longest": (named(LABEL, SUBDOMAIN), from_template("second", SUBDOMAIN)),
}

WRONG_SOURCES = (
    InvalidList("neither a ResourceClaim nor a template", [{"name": "only"}], INVALID, "[0]"),
    InvalidList("a fourth entry with neither", [*THREE, {"name": "fourth"}], INVALID, "[3]"),
    InvalidList("a ResourceClaim and a template", [both("only")], INVALID, "[0]"),
    InvalidList("a fourth entry with both", [*THREE, both("fourth")], INVALID, "[3]"),
    InvalidList("both, of the same name", [named("first"), both("second", "same", "same")], INVALID, "[1]"),
    InvalidList("both, the first of them empty", [named("first"), both("second", claim="")], INVALID, "[1]"),
)

WRONG_NAMES = (
    InvalidList("no entry name", [{"resourceClaimName": "some-claim"}], REQUIRED, "[0].name"),
    InvalidList("an empty entry name", [named("first"), from_template("")], REQUIRED, "[1].name"),
    InvalidList("the entry name ../x", [named("../x")], INVALID, "[0].name"),
    InvalidList("the entry name my/claim", [from_template("my/claim")], INVALID, "[0].name"),
    InvalidList("the entry name UPPER", [*THREE, named("UPPER")], INVALID, "[3].name"),
    InvalidList("an entry name with a dot", [named("first"), from_template("a.b")], INVALID, "[1].name"),
    InvalidList("an entry name that ends in a hyphen", [named("a-")], INVALID, "[0].name"),
    InvalidList("an entry name of 64 characters", [named(LABEL + "l")], INVALID, "[0].name"),
    InvalidList("the ResourceClaim .foo_bar", [named("only", ".foo_bar")], INVALID, "[0].resourceClaimName"),
    InvalidList("an empty ResourceClaim name", [named("only", "")], INVALID, "[0].resourceClaimName"),
    InvalidList("the ResourceClaim UPPER", [*THREE, named("fourth", "UPPER")], INVALID, "[3].resourceClaimName"),
    InvalidList("a ResourceClaim of 254", [named("only", SUBDOMAIN + "s")], INVALID, "[0].resourceClaimName"),
    InvalidList("the template .foo_bar", [from_template("a", ".foo_bar")], INVALID, "[0].resourceClaimTemplateName"),
    InvalidList("an empty template name", [from_template("a", "")], INVALID, "[0].resourceClaimTemplateName"),
    InvalidList(
        "the template other/name", [*THREE, from_template("d", "a/b")], INVALID, "[3].resourceClaimTemplateName"
    ),
    InvalidList("a template of 254", [from_template("a", SUBDOMAIN + "s")], INVALID, "[0].resourceClaimTemplateName"),
)

WRONG_NUMBERS = (
    InvalidList("two entries of one name", [named("same"), from_template("same")], DUPLICATE, "[1]"),
    InvalidList("two equal entries", [from_template("same"), from_template("same")], DUPLICATE, "[1]"),
    InvalidList("a fourth entry named as the second", [*THREE, named("second")], DUPLICATE, "[3]"),
    InvalidList("five entries", [*THREE, named("fourth"), from_template("fifth")], TOO_MANY, ""),
    InvalidList("five entries, two of one name", [*THREE, named("fourth"), named("first")], TOO_MANY, ""),
    InvalidList("33 entries", [named(f"entry-{number}") for number in range(33)], TOO_MANY, ""),
)

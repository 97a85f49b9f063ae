# SPDX-License-Identifier: Apache-2.0
"""What the name of a ResourceClaim that is generated for an entry of a PodGroup must look like."""

import re

#: The longest name that is generated, so that it can also be the value of a label.
LONGEST = 63
#: Characters of the random suffix that the API server appends to a ``generateName``.
SUFFIX = 5

_DNS_SUBDOMAIN = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*")


def is_dns_subdomain(name: str) -> bool:
    """Tell whether a name is valid for an object (RFC 1123)."""
    return len(name) <= 253 and _DNS_SUBDOMAIN.fullmatch(name) is not None


def is_whole(name: str, group: str, entry: str) -> bool:
    """Tell whether a name is that of the PodGroup, that of the entry and a random suffix, joined by hyphens."""
    return re.fullmatch(re.escape(f"{group}-{entry}-") + "[a-z0-9]+", name) is not None


def keeps_a_part_of_both(name: str, group: str, entry: str) -> bool:
    """Tell whether a name begins as that of the PodGroup and goes on, behind a hyphen, as that of the entry."""
    base = name[:-SUFFIX].removesuffix("-")
    hyphens = (index for index, character in enumerate(base) if character == "-")
    return any(_begin(base[:hyphen], group) and _begin(base[hyphen + 1 :], entry) for hyphen in hyphens)


def _begin(part: str, name: str) -> bool:
    return part != "" and name.startswith(part)

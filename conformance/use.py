# SPDX-License-Identifier: Apache-2.0
"""What a ResourceClaim must look like that bound Pods of a PodGroup share."""

from fixtures.objects import Claim, PodGroup


def assert_used_by(group: PodGroup, claim: Claim) -> None:
    """Assert that the ResourceClaim is allocated, and reserved for the PodGroup alone."""
    assert claim.devices(), f"Pods of {group} are bound, but {claim} is not allocated"
    reserved = claim.reserved_for()
    assert reserved == [group.reference()], f"{claim} must be reserved for {group} alone, not for {reserved}"

# SPDX-License-Identifier: Apache-2.0
"""What a ResourceClaim must look like that was generated for one Pod, although that Pod has a PodGroup."""

from fixtures.objects import Claim, Pod


def assert_own(pod: Pod, claim: Claim) -> None:
    """Assert that the ResourceClaim was generated for this Pod, and is allocated and reserved for it alone."""
    references = claim.read()["metadata"].get("ownerReferences", ())
    owners = [(owner["kind"], owner["name"], owner["uid"]) for owner in references]
    assert owners == [("Pod", pod.name, pod.uid)], f"{claim}, which {pod} uses, must be owned by this Pod alone"
    assert claim.devices(), f"{pod} is bound, but its {claim} is not allocated"
    assert claim.reserved_for() == [pod.reference()], f"{claim} must be reserved for {pod} alone"

# SPDX-License-Identifier: Apache-2.0
"""Lies about members that have claims of their own beside the shared one, which may be impossible."""

from tests.lies.lie import Memory, Object, Shown, lie, name_of, uid_of
from tests.lies.reservation import POD, entries_of
from tests.lies.scheduling import forgotten, is_the_first_seen


def all_groups_beside(shown: Object, memory: Memory) -> list[Object]:
    """Return all PodGroups of the namespace of an object."""
    path = f"/apis/scheduling.k8s.io/v1beta1/namespaces/{shown['metadata']['namespace']}/podgroups"
    groups: list[Object] = memory.truth(path)["items"]
    return groups


@lie("WRC-SCH-013", shows="Pod", says="have a node, and these have none: later-")
def member_with_a_claim_of_its_own_waits_once_the_shared_one_is_allocated(pod: Object, memory: Memory) -> Shown:
    """As when a claim without a new allocation cannot be scored (kubernetes 139016)."""
    yield forgotten(pod) if name_of(pod).startswith("later-") and is_the_first_seen(pod, memory) else pod


@lie("WRC-SCH-013", shows="ResourceClaim", says="must be reserved for PodGroup group alone")
def second_member_reserves_the_network_device_for_itself(claim: Object, _memory: Memory) -> Shown:
    shared = "-own-" not in name_of(claim)
    if entries_of(claim) and shared:
        entries_of(claim).append(POD)
    yield claim


@lie("WRC-SCH-013", shows="ResourceClaim", says="alone")
def own_claims_are_reserved_for_the_pod_group(claim: Object, memory: Memory) -> Shown:
    if entries_of(claim) and "-own-" in name_of(claim):
        [group] = all_groups_beside(claim, memory)
        reference = {"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": name_of(group)}
        entries_of(claim)[:] = [{**reference, "uid": uid_of(group)}]
    yield claim


@lie("WRC-SCH-013", shows="ResourceClaim", says="Pods must have as many devices of their own")
def all_own_claims_have_one_device(claim: Object, memory: Memory) -> Shown:
    if "-own-" in name_of(claim) and "allocation" in claim.get("status", {}):
        results = claim["status"]["allocation"]["devices"]["results"]
        results[0] = memory.facts.setdefault("own", results[0])
    yield claim


def healed(shown: Object, memory: Memory) -> Object:
    """Return a Pod that is not hopeless, or a shared claim, as a scheduler leaves them that goes on after an error."""
    if shown["kind"] == "Pod":
        if not name_of(shown).startswith("hopeless"):
            shown["spec"]["nodeName"] = "any-node"
        return shown
    for group in all_groups_beside(shown, memory):
        if name_of(shown).startswith(name_of(group)):
            reference = {"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": name_of(group)}
            result = {"driver": "any", "pool": "any", "device": "any", "request": "any"}
            allocation = {"devices": {"results": [result]}}
            shown["status"] = {"allocation": allocation, "reservedFor": [{**reference, "uid": uid_of(group)}]}
    return shown


# On v1.37.2 and v1.36.3 this probe is red, so the first lie heals it.
@lie("WRC-SCH-014", shows="Pod ResourceClaim", heals=True)
def hopeless_members_hold_up_nobody(shown: Object, memory: Memory) -> Shown:
    yield healed(shown, memory)


@lie("WRC-SCH-014", shows="Pod ResourceClaim", says="8 of 12 have a node, and these have none: without-claims-")
def hopeless_members_hold_up_those_without_claims(shown: Object, memory: Memory) -> Shown:
    shown = healed(shown, memory)
    yield forgotten(shown) if name_of(shown).startswith("without-claims") else shown


@lie("WRC-SCH-014", shows="Pod ResourceClaim", says="are bound, although no Node can satisfy their claims")
def hopeless_members_are_bound_without_devices(shown: Object, memory: Memory) -> Shown:
    shown = healed(shown, memory)
    if shown["kind"] == "Pod":
        shown["spec"]["nodeName"] = "any-node"
    yield shown


@lie("WRC-SCH-014", shows="Pod ResourceClaim", says="must be reserved for PodGroup template-or-impossible alone")
def hopeless_member_of_the_last_group_reserves_for_itself(shown: Object, memory: Memory) -> Shown:
    shown = healed(shown, memory)
    if shown["kind"] == "ResourceClaim" and name_of(shown).startswith("template-or-impossible"):
        entries_of(shown).append(POD)
    yield shown

# SPDX-License-Identifier: Apache-2.0
"""Lies about claims in the templates of a Workload, and about references to a template."""

from dataclasses import replace

from tests.lies.lie import Answer, Memory, Object, Shown, false_answer, lie, name_of, twin, uid_of
from tests.lies.refusals import NAMED, TEMPLATE, accepted_if, at_another_field, is_refused, stored_all_the_same
from tests.lies.reservation import POD

TAKEN = "test_templates_take_the_lists_of_a_pod_group"
REFUSED = "test_templates_refuse_what_a_pod_group_refuses"
IMMUTABLE = "test_claims_of_templates_cannot_be_changed"
REFERENCE = "test_a_pod_group_refers_to_its_template"
DANGLING = "test_a_reference_to_nothing"
SOURCES, NAMES, NUMBERS = "[sources]", "[names]", "[numbers]"
FORBIDDEN = 403, "Forbidden", 'PodGroup rejected: Workload "workload" not found'


def templates_of(workload: Object | None) -> list[Object]:
    """Return the templates of a Workload as it was sent or is shown."""
    return list((workload or {}).get("spec", {}).get("podGroupTemplates") or ())


def last_claims(answer: Answer) -> list[Object]:
    """Return the claims of the last template that was sent."""
    return list((templates_of(answer.sent) or [{}])[-1].get("resourceClaims") or ())


@lie("WRC-API-009", shows="Workload", check=TAKEN, says="must come back unchanged, but the answer shows")
def claims_of_templates_are_dropped(workload: Object, _memory: Memory) -> Shown:
    for template in templates_of(workload):
        template.pop("resourceClaims", None)
    yield workload


@lie("WRC-API-009", shows="Workload", check=TAKEN, says="must come back unchanged, but the answer shows")
def third_template_keeps_three_claims(workload: Object, _memory: Memory) -> Shown:
    del templates_of(workload)[2]["resourceClaims"][3:]
    yield workload


@false_answer("WRC-API-009", to="workloads", check=TAKEN, says="must come back unchanged, but get shows")
def last_template_is_not_stored(answer: Answer, _memory: Memory) -> Answer:
    if answer.method == "GET":
        del answer.body["spec"]["podGroupTemplates"][-1:]
    return answer


@false_answer("WRC-API-009", to="workloads", check=TAKEN, says="with valid templates must be accepted, but the answer")
def named_claims_are_refused_in_templates(answer: Answer, _memory: Memory) -> Answer:
    return answer.rejected(422, "Invalid", "resourceClaimName: Forbidden") if answer.method == "POST" else answer


@false_answer("WRC-API-009", to="workloads", check=REFUSED, says="must be refused with 422, but was accepted")
def second_template_is_not_validated(answer: Answer, _memory: Memory) -> Answer:
    return accepted_if(answer, True)


@false_answer("WRC-API-009", to="workloads", check=REFUSED, says="must be refused with 422, but the answer is")
def wrong_templates_are_a_bad_request(answer: Answer, _memory: Memory) -> Answer:
    return answer.rejected(400, "BadRequest", "no") if is_refused(answer) else answer


@false_answer("WRC-API-009", to="workloads", check=REFUSED, says="was refused, but the Workload is stored all the same")
def refused_workload_is_stored(answer: Answer, memory: Memory) -> Answer:
    return stored_all_the_same(answer, memory)


@false_answer(
    "WRC-API-009", to="workloads", check=REFUSED, only=SOURCES, says="at spec.podGroupTemplates[1].resourceClaims[3]"
)
def refusal_does_not_name_the_entry_of_the_template(answer: Answer, _memory: Memory) -> Answer:
    return at_another_field(answer, "[1].resourceClaims[3]", "[1]")


@false_answer("WRC-API-009", to="workloads", check=REFUSED, only=SOURCES, says="both, of the same name must be refused")
def template_takes_two_sources_of_one_name(answer: Answer, _memory: Memory) -> Answer:
    return accepted_if(answer, any(one.get(NAMED) == one.get(TEMPLATE) == "same" for one in last_claims(answer)))


@false_answer("WRC-API-009", to="workloads", check=REFUSED, only=NAMES, says="an entry name with a dot must be refused")
def template_takes_entry_names_with_dots(answer: Answer, _memory: Memory) -> Answer:
    return accepted_if(answer, any(one.get("name") == "a.b" for one in last_claims(answer)))


@false_answer("WRC-API-009", to="workloads", check=REFUSED, only=NUMBERS, says="five entries must be refused with 422")
def template_takes_32_claims(answer: Answer, _memory: Memory) -> Answer:
    return accepted_if(answer, 4 < len(last_claims(answer)) <= 32)


@false_answer(
    "WRC-API-009", to="workloads", check=REFUSED, only=NUMBERS, says="a fourth entry named as the second must be"
)
def template_takes_a_fourth_claim_of_the_second_name(answer: Answer, _memory: Memory) -> Answer:
    return accepted_if(answer, len(last_claims(answer)) == 4)


@false_answer("WRC-API-009", to="workloads", check=IMMUTABLE, says="adding an entry must be refused with 422, but was")
def templates_may_be_changed(answer: Answer, _memory: Memory) -> Answer:
    return accepted_if(answer, True)


@false_answer("WRC-API-009", to="workloads", check=IMMUTABLE, says="changing a kind must be refused with 422, but was")
def kind_of_a_claim_in_the_first_template_may_be_changed(answer: Answer, _memory: Memory) -> Answer:
    first = (templates_of(answer.sent) or [{}])[0]
    return accepted_if(answer, any(TEMPLATE in claim for claim in first.get("resourceClaims", ())))


@false_answer("WRC-API-009", to="workloads", check=IMMUTABLE, says="adding a first entry must be refused with 422, but")
def template_without_claims_may_get_one(answer: Answer, _memory: Memory) -> Answer:
    return accepted_if(answer, len(templates_of(answer.sent)) == 3 and bool(last_claims(answer)))


@false_answer(
    "WRC-API-009", to="workloads", check=IMMUTABLE, says="removing a template must be refused with 422, but was"
)
def last_template_may_be_removed(answer: Answer, _memory: Memory) -> Answer:
    return accepted_if(answer, len(templates_of(answer.sent)) == 2)


@false_answer(
    "WRC-API-009", to="workloads", check=IMMUTABLE, says="must be refused at spec.podGroupTemplates, but the causes"
)
def refusal_of_a_change_names_the_spec_alone(answer: Answer, _memory: Memory) -> Answer:
    if not is_refused(answer):
        return answer
    details = {**answer.body["details"], "causes": [{"reason": "FieldValueInvalid", "field": "spec"}]}
    return replace(answer, body={**answer.body, "details": details})


@false_answer("WRC-API-009", to="workloads", check=IMMUTABLE, says="was refused, but the spec is changed")
def refused_change_of_templates_is_stored(answer: Answer, memory: Memory) -> Answer:
    return stored_all_the_same(answer, memory)


@false_answer("WRC-API-009", to="workloads", check=IMMUTABLE, says="a label must be accepted, but the answer is")
def nothing_of_a_workload_can_be_changed(answer: Answer, _memory: Memory) -> Answer:
    if answer.method == "PATCH" and answer.status == 200:
        return answer.rejected(422, "Invalid", "the object is immutable")
    return answer


@lie("WRC-API-010", shows="PodGroup", says="were copied into the PodGroup")
def claims_of_the_template_are_copied(group: Object, _memory: Memory) -> Shown:
    if name_of(group) == "group":
        group["spec"]["resourceClaims"] = [{"name": "shared", TEMPLATE: "shared-template"}]
    yield group


@lie("WRC-API-010", shows="PodGroup", says="lists no claims, but its status names {'shared'")
def status_names_a_claim_of_the_template(group: Object, _memory: Memory) -> Shown:
    if name_of(group) == "group":
        group["status"]["resourceClaimStatuses"] = [{"name": "shared", NAMED: "group-shared-abcde"}]
    yield group


@lie("WRC-API-010", shows="ResourceClaim PodGroup", says="lists no claims, but ['")
def claim_of_the_template_is_generated(shown: Object, memory: Memory) -> Shown:
    """It comes with the first claim that is allocated."""
    yield shown
    if name_of(shown) == "group":
        memory.facts["owner"] = {"kind": "PodGroup", "uid": uid_of(shown), "controller": True}
    if "allocation" in shown.get("status", {}):
        generated = twin(shown, "of-the-template")
        generated["metadata"]["ownerReferences"] = [memory.facts["owner"]]
        yield generated


@lie(
    "WRC-API-010",
    shows="ResourceClaim",
    only="[named]",
    says="the claim must be reserved for the Pods, but is for ['group']",
)
def claim_of_the_template_is_reserved_for_the_pod_group(claim: Object, _memory: Memory) -> Shown:
    if claim["status"].get("reservedFor") and name_of(claim) == "shared-claim":
        claim["status"]["reservedFor"] = [{**POD, "resource": "podgroups", "name": "group"}]
    yield claim


@lie(
    "WRC-API-010", shows="ResourceClaim", only="[named]", says="the claim must be reserved for the Pods, but is for ['"
)
def second_pod_is_not_in_the_reservation(claim: Object, _memory: Memory) -> Shown:
    del claim["status"].get("reservedFor", [])[1:]
    yield claim


@lie("WRC-API-010", shows="ResourceClaim", only="[template]", says="must be owned by this Pod alone")
def pods_of_the_template_share_the_first_claim(claim: Object, memory: Memory) -> Shown:
    owners = memory.facts.setdefault("owners", claim["metadata"].get("ownerReferences"))
    if "allocation" in claim["status"]:
        claim["metadata"]["ownerReferences"] = owners
    yield claim


@lie("WRC-API-011", shows="PodGroup", check=REFERENCE, says="the reference to a template must be kept, but the answer")
def reference_to_the_template_is_dropped(group: Object, _memory: Memory) -> Shown:
    for field in ("workloadRef", "podGroupTemplateRef"):
        group["spec"].pop(field, None)
    yield group


@lie("WRC-API-011", shows="PodGroup", check=REFERENCE, says="the reference to a template must be kept, but")
def reference_names_the_first_template(group: Object, _memory: Memory) -> Shown:
    reference = group["spec"].get("workloadRef") or group["spec"]["podGroupTemplateRef"]["workload"]
    reference["templateName" if "templateName" in reference else "podGroupTemplateName"] = "first"
    yield group


@false_answer(
    "WRC-API-011", to="podgroups", check=REFERENCE, says="of another version must be refused with 400, but was"
)
def field_of_another_version_is_dropped_silently(answer: Answer, _memory: Memory) -> Answer:
    return answer.accepted() if answer.status == 400 else answer


@false_answer("WRC-API-011", to="podgroups", check=REFERENCE, says="the refused PodGroup is stored")
def field_of_another_version_is_refused_and_stored(answer: Answer, _memory: Memory) -> Answer:
    if answer.method == "GET" and answer.name == "other":
        return replace(answer, status=200, body={"kind": "PodGroup", "metadata": {"name": "other"}})
    return answer


@false_answer("WRC-API-011", to="podgroups", check=DANGLING, says="does not exist must be")
def references_are_treated_as_in_the_other_version(answer: Answer, _memory: Memory) -> Answer:
    if answer.method != "POST":
        return answer
    return answer.rejected(*FORBIDDEN) if answer.status == 201 else answer.accepted()


@false_answer(
    "WRC-API-011", to="podgroups", check=DANGLING, only="[template]", says="whose template does not exist must"
)
def only_the_template_is_treated_as_in_the_other_version(answer: Answer, memory: Memory) -> Answer:
    return references_are_treated_as_in_the_other_version.answer(answer, memory)

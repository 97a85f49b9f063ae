# SPDX-License-Identifier: Apache-2.0
"""Lies about who may write the status of a PodGroup, and what may be in it."""

from dataclasses import replace

from tests.lies.lie import Answer, Memory, Object, false_answer, name_of
from tests.lies.refusals import accepted_if, at_another_field, with_another_reason

CREATED = "test_status_cannot_be_set_on_create"
WRITTEN = "test_status_is_written_through_its_subresource_alone"


def sent_statuses(answer: Answer) -> list[Object]:
    """Return ``status.resourceClaimStatuses`` as it was sent; empty if it was not."""
    return list((answer.sent or {}).get("status", {}).get("resourceClaimStatuses") or ())


def remembers(answer: Answer, memory: Memory, part: str, resource: str = "podgroups") -> Answer:
    """Keep ``part`` of what was sent to the resource, and show it in the PodGroup from then on."""
    if answer.resource == resource and answer.sent and part in answer.sent:
        memory.facts[name_of(answer.body)] = answer.sent[part]
    kept = memory.facts.get(name_of(answer.body))
    return replace(answer, body={**answer.body, part: kept}) if kept else answer


@false_answer("WRC-API-007", to="podgroups", check=CREATED, says="is created without status, but the answer shows")
def forged_status_survives_the_create(answer: Answer, memory: Memory) -> Answer:
    return remembers(answer, memory, "status")


@false_answer("WRC-API-007", to="podgroups", check=CREATED, says="is created without status, but get shows")
def forged_status_of_one_template_entry_survives_the_create(answer: Answer, memory: Memory) -> Answer:
    if answer.method == "POST" and len(sent_statuses(answer)) == 1:
        memory.facts["status"] = answer.sent["status"]
    if answer.method == "GET" and name_of(answer.body) == "group-1":
        return replace(answer, body={**answer.body, "status": memory.facts["status"]})
    return answer


@false_answer("WRC-API-007", to="podgroups", check=CREATED, says="a status must be accepted, but the answer is")
def status_on_create_is_refused(answer: Answer, _memory: Memory) -> Answer:
    return answer.rejected(422, "Invalid", "status: Forbidden") if answer.method == "POST" else answer


@false_answer(
    "WRC-API-007", to="podgroups", check=WRITTEN, says="the main resource must ignore the status, but it is now"
)
def main_resource_writes_the_status(answer: Answer, memory: Memory) -> Answer:
    return remembers(answer, memory, "status") if answer.method != "POST" else answer


@false_answer("WRC-API-007", to="podgroups", check=WRITTEN, says="the label must be changed")
def change_with_a_status_is_ignored_altogether(answer: Answer, _memory: Memory) -> Answer:
    answer.body["metadata"].get("labels", {}).pop("wrc.example.com/changed", None)
    return answer


@false_answer("WRC-API-007", to="podgroups", check=WRITTEN, says="podgroups/status must write the status")
def only_the_first_claim_status_is_written(answer: Answer, _memory: Memory) -> Answer:
    del answer.body.get("status", {}).get("resourceClaimStatuses", [])[1:]
    return answer


@false_answer(
    "WRC-API-007", to="podgroups podgroups/status", check=WRITTEN, says="podgroups/status must ignore the spec"
)
def status_subresource_removes_the_entries(answer: Answer, memory: Memory) -> Answer:
    return remembers(answer, memory, "spec", "podgroups/status")


@false_answer("WRC-API-007", to="podgroups", check=WRITTEN, says="podgroups/status must ignore labels")
def status_subresource_removes_the_labels(answer: Answer, _memory: Memory) -> Answer:
    if answer.body.get("status", {}).get("resourceClaimStatuses"):
        answer.body["metadata"]["labels"] = {}
    return answer


@false_answer(
    "WRC-API-008", to="podgroups/status", says="a status of no entry must be refused with 422, but was accepted"
)
def status_of_no_entry_is_accepted(answer: Answer, _memory: Memory) -> Answer:
    return accepted_if(answer, any(status.get("name") == "unknown" for status in sent_statuses(answer)))


@false_answer("WRC-API-008", to="podgroups/status", says="a fourth status, named as a claim must be refused with 422")
def status_may_be_named_as_the_claim_of_an_entry(answer: Answer, _memory: Memory) -> Answer:
    return accepted_if(answer, any(status.get("name") == "some-claim" for status in sent_statuses(answer)))


@false_answer(
    "WRC-API-008", to="podgroups/status", says="the fourth claim name UPPER must be refused with 422, but was"
)
def claim_name_of_the_fourth_status_may_be_anything(answer: Answer, _memory: Memory) -> Answer:
    return accepted_if(answer, "[3].resourceClaimName" in str(answer.body))


@false_answer(
    "WRC-API-008", to="podgroups/status", says="an empty claim name must be refused with 422, but was accepted"
)
def claim_name_may_be_empty(answer: Answer, _memory: Memory) -> Answer:
    return accepted_if(answer, any(status.get("resourceClaimName") == "" for status in sent_statuses(answer)))


@false_answer("WRC-API-008", to="podgroups/status", says="a fourth status for the second must be refused with 422, but")
def only_neighbouring_statuses_are_compared(answer: Answer, _memory: Memory) -> Answer:
    return accepted_if(answer, "Duplicate" in str(answer.body) and "[3]" in str(answer.body))


@false_answer("WRC-API-008", to="podgroups/status", says="five statuses must be refused with 422, but was accepted")
def five_statuses_are_accepted(answer: Answer, _memory: Memory) -> Answer:
    return accepted_if(answer, len(sent_statuses(answer)) == 5)


@false_answer("WRC-API-008", to="podgroups/status", says="at status.resourceClaimStatuses[0].name, but the causes are")
def refusal_names_the_status_as_a_whole(answer: Answer, _memory: Memory) -> Answer:
    return at_another_field(answer, "[0].name", "")


@false_answer(
    "WRC-API-008", to="podgroups/status", says="FieldValueDuplicate at status.resourceClaimStatuses[1], but the"
)
def duplicate_statuses_are_merely_invalid(answer: Answer, _memory: Memory) -> Answer:
    return with_another_reason(answer, "Duplicate", "Invalid")


@false_answer(
    "WRC-API-008", to="podgroups/status", says="a status of no entry must be refused with 422, but the answer"
)
def status_is_refused_as_a_conflict(answer: Answer, _memory: Memory) -> Answer:
    return answer.rejected(409, "Conflict", "try again") if answer.status == 422 else answer


@false_answer(
    "WRC-API-008", to="podgroups podgroups/status", says="five statuses was refused, but the status is changed"
)
def five_refused_statuses_are_stored(answer: Answer, memory: Memory) -> Answer:
    if answer.resource == "podgroups/status" and len(sent_statuses(answer)) == 5:
        memory.facts["status"] = answer.sent["status"]
    if answer.method == "GET" and "status" in memory.facts:
        return replace(answer, body={**answer.body, "status": memory.facts["status"]})
    return answer


@false_answer("WRC-API-008", to="podgroups/status", says="must be accepted, but the answer is")
def claim_status_needs_a_claim_name(answer: Answer, _memory: Memory) -> Answer:
    if any("resourceClaimName" not in status for status in sent_statuses(answer)):
        return answer.rejected(422, "Invalid", "status.resourceClaimStatuses[0].resourceClaimName: Required value")
    return answer


@false_answer("WRC-API-008", to="podgroups", says="must be kept, but there are")
def fourth_status_is_dropped(answer: Answer, _memory: Memory) -> Answer:
    del answer.body.get("status", {}).get("resourceClaimStatuses", [])[3:]
    return answer

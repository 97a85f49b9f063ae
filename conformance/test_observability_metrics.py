# SPDX-License-Identifier: Apache-2.0
"""OBS: what kube-controller-manager counts of ResourceClaims. No other check may run beside these."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from fixtures.clusters.cluster import CONTROLLER_MANAGER
from fixtures.clusters.versions import row_for
from fixtures.conditions import are_bound, is_gone, records_claims
from fixtures.metrics import Metrics
from fixtures.objects import CLAIM_NAME_ANNOTATION
from fixtures.scenario import Scenario
from fixtures.waiting import BINDING, GENERATION, RELEASE, NotYet, eventually
from verdicts.requirement import requirement

pytestmark = pytest.mark.alone

ReadMetrics = Callable[[str], Metrics]
#: Labels of the counter of generated ResourceClaims, by the kind of the owner.
OWNERS = {
    "PodGroup": {"owner_api_group": "scheduling.k8s.io", "owner_api_kind": "PodGroup"},
    "Pod": {"owner_api_group": "", "owner_api_kind": "Pod"},
}


@requirement("WRC-OBS-002")
@requirement("WRC-OBS-006")
def test_generated_claims_are_counted_and_not_pods(scenario: Scenario, metrics: ReadMetrics) -> None:
    """For two PodGroups of ten Pods, and three Pods of none, the counter grows by five; since 1.37 by owner as well."""
    row = row_for(scenario.cluster.version)
    before = metrics(CONTROLLER_MANAGER)

    _generate_five(scenario)

    after = metrics(CONTROLLER_MANAGER)
    grown = after.total(row.created_claims) - before.total(row.created_claims)
    assert grown == 5, f"{row.created_claims} must grow by 5, one for each ResourceClaim, but it grew by {grown:g}"
    if row.counts_by_owner:
        by_owner = {
            kind: after.total(row.created_claims, **labels) - before.total(row.created_claims, **labels)
            for kind, labels in OWNERS.items()
        }
        wanted = {"PodGroup": 2, "Pod": 3}
        assert by_owner == wanted, f"{row.created_claims} must grow by {wanted} for these owners, not by {by_owner}"


@requirement("WRC-OBS-003")
def test_the_queue_of_claims_is_measured_and_not_retried(scenario: Scenario, metrics: ReadMetrics) -> None:
    """While claims are generated, the queue of the ResourceClaim controller is used, and nothing in it is retried."""
    before = metrics(CONTROLLER_MANAGER)

    _generate_five(scenario)

    after = metrics(CONTROLLER_MANAGER)
    for word in ("depth", "adds_total", "retries_total", "queue_duration_seconds_count", "work_duration_seconds_count"):
        assert after.have(f"workqueue_{word}", name="resource_claim"), f"there is no workqueue_{word} of resource_claim"
    added, retried = (
        after.total(name, name="resource_claim") - before.total(name, name="resource_claim")
        for name in ("workqueue_adds_total", "workqueue_retries_total")
    )
    assert added >= 5, f"5 ResourceClaims were generated, but workqueue_adds_total grew by {added:g} only"
    assert not retried, f"nothing went wrong, but workqueue_retries_total grew by {retried:g}"


@dataclass(frozen=True)
class Gauge:
    """How many generated ResourceClaims there are, by allocation, as counted and as the API shows them."""

    scenario: Scenario
    metrics: ReadMetrics

    def __call__(self) -> tuple[dict[str, float], dict[str, float]]:
        """Return the numbers that the controller counts, and those that are so."""
        name = row_for(self.scenario.cluster.version).existing_claims
        now = self.metrics(CONTROLLER_MANAGER)
        generated = [
            one
            for one in self.scenario.api.list("ResourceClaim")
            if one["metadata"].get("annotations", {}).get(CLAIM_NAME_ANNOTATION)
        ]
        counted = {one: now.total(name, source="resource_claim_template", allocated=one) for one in ("true", "false")}
        allocated = sum("allocation" in one.get("status", {}) for one in generated)
        return counted, {"true": allocated, "false": len(generated) - allocated}

    def __str__(self) -> str:
        return "The gauge of generated ResourceClaims"


def counts_what_there_is(state: tuple[dict[str, float], dict[str, float]]) -> bool:
    """The gauge agrees with the API."""
    counted, real = state
    if counted != real:
        raise NotYet(f"by allocation, it counts {counted}, but there are {real}")
    return True


@requirement("WRC-OBS-007")
def test_the_gauge_follows_generated_claims(scenario: Scenario, metrics: ReadMetrics) -> None:
    """The gauge counts generated claims of PodGroups when they are new, when two are allocated, and when they go."""
    gauge = Gauge(scenario, metrics)
    entry = scenario.from_template()
    groups = [scenario.pod_group(entry, name=name) for name in ("used", "used-too", "unused")]
    claims = [group.claim("shared") for group in groups]
    eventually(gauge, counts_what_there_is, GENERATION)

    scenario.node()
    pods = [scenario.pod(entry, group=group) for group in groups[:2]]
    eventually(scenario.all_of(pods), are_bound(2), BINDING)
    eventually(gauge, counts_what_there_is, GENERATION)

    scenario.delete(*pods, *groups)
    for claim in claims:
        eventually(claim, is_gone, RELEASE)
    eventually(gauge, counts_what_there_is, GENERATION)


def _generate_five(scenario: Scenario) -> None:
    """Let a claim be generated for each of two PodGroups of ten Pods, and for each of three Pods without PodGroup."""
    entry = scenario.from_template()
    for name in ("one", "two"):
        group = scenario.pod_group(entry, name=name)
        members = scenario.pods(10, entry, group=group)
        for one in (group, *members):
            eventually(one, records_claims("shared"), GENERATION)
    for pod in scenario.pods(3, entry):
        eventually(pod, records_claims("shared"), GENERATION)

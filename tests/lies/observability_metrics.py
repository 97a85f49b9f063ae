# SPDX-License-Identifier: Apache-2.0
"""Lies about what kube-controller-manager counts of ResourceClaims."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from fixtures.metrics import Metrics, Sample
from tests.lies.lie import false_metrics

CREATED = "dynamic_resource_allocation_resourceclaim_creates_total"
EXISTING = "dynamic_resource_allocation_resource_claims"
OF_POD_GROUPS = {"owner_api_group": "scheduling.k8s.io", "owner_api_kind": "PodGroup"}

Facts = dict[str, Any]


def changed(metrics: Metrics, name: str, change: Callable[[Sample], Sample]) -> Metrics:
    """Return the metrics with all samples of one of them changed."""
    return Metrics(tuple(change(one) if one.name == name else one for one in metrics.samples))


def is_a_later_look(facts: Facts) -> bool:
    """Tell whether the metrics were looked at before."""
    facts["looks"] = facts.get("looks", 0) + 1
    return bool(facts["looks"] > 1)


@false_metrics("WRC-OBS-002", says="must grow by {'PodGroup': 2, 'Pod': 3} for these owners")
def all_claims_are_counted_for_pod_groups(metrics: Metrics, _facts: Facts) -> Metrics:
    return changed(metrics, CREATED, lambda one: replace(one, labels={**one.labels, **OF_POD_GROUPS}))


@false_metrics("WRC-OBS-002", says="must grow by {'PodGroup': 2, 'Pod': 3} for these owners")
def owner_of_a_group_claim_has_no_api_group(metrics: Metrics, _facts: Facts) -> Metrics:
    return changed(metrics, CREATED, lambda one: replace(one, labels={**one.labels, "owner_api_group": ""}))


@false_metrics("WRC-OBS-006", says="but it grew by 23")
def each_pod_of_a_group_is_counted(metrics: Metrics, facts: Facts) -> Metrics:
    later = is_a_later_look(facts)
    more = Sample(CREATED, OF_POD_GROUPS, 18.0 if later else 0.0)
    return Metrics((*metrics.samples, more))


@false_metrics("WRC-OBS-006", says="but it grew by 0")
def nothing_is_counted(_metrics: Metrics, _facts: Facts) -> Metrics:
    return Metrics(())


@false_metrics("WRC-OBS-003", says="there is no workqueue_retries_total of resource_claim")
def retries_are_not_measured(metrics: Metrics, _facts: Facts) -> Metrics:
    return Metrics(tuple(one for one in metrics.samples if one.name != "workqueue_retries_total"))


@false_metrics("WRC-OBS-003", says="workqueue_retries_total grew by")
def queue_retries_in_a_hot_loop(metrics: Metrics, facts: Facts) -> Metrics:
    more = 100 if is_a_later_look(facts) else 0
    return changed(metrics, "workqueue_retries_total", lambda one: replace(one, value=one.value + more))


@false_metrics("WRC-OBS-003", says="workqueue_adds_total grew by 0 only")
def additions_are_never_counted(metrics: Metrics, _facts: Facts) -> Metrics:
    return changed(metrics, "workqueue_adds_total", lambda one: replace(one, value=1.0))


@false_metrics("WRC-OBS-007", says="by allocation, it counts")
def gauge_is_stale(metrics: Metrics, facts: Facts) -> Metrics:
    first = facts.setdefault("first", metrics)
    return Metrics((*(one for one in metrics.samples if one.name != EXISTING), *of_the_gauge(first)))


@false_metrics("WRC-OBS-007", says="by allocation, it counts")
def gauge_does_not_follow_the_allocation(metrics: Metrics, _facts: Facts) -> Metrics:
    return changed(metrics, EXISTING, lambda one: replace(one, labels={**one.labels, "allocated": "false"}))


@false_metrics("WRC-OBS-007", says="by allocation, it counts")
def gauge_knows_no_templates(metrics: Metrics, _facts: Facts) -> Metrics:
    return changed(metrics, EXISTING, lambda one: replace(one, labels={**one.labels, "source": ""}))


def of_the_gauge(metrics: Metrics) -> tuple[Sample, ...]:
    """Return the samples of the gauge of ResourceClaims."""
    return tuple(one for one in metrics.samples if one.name == EXISTING)

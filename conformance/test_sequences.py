# SPDX-License-Identifier: Apache-2.0
"""Random sequences against a small model of the promise: whatever came before, the end is what consumers call for.

A sequence is a handful of steps (Pods, PodGroups, templates and claims come, finish and go), and after some of them
the namespace must settle as the model says. Normal runs always take the same sequences, soak runs new ones. What
breaks the promise is told with all steps before it, to be done again by hand.
"""

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import hypothesis
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from fixtures.api import Object
from fixtures.bodies import Entry
from fixtures.conditions import are_bound, is_allocated
from fixtures.objects import Pod, PodGroup, controller_of, entry_of, reservations_of
from fixtures.scenario import Scenario
from fixtures.waiting import BINDING, RELEASE, Condition, eventually
from verdicts.requirement import requirement

#: Sequences and steps of a normal run, the first of which are trivial; soak takes more of both.
SEQUENCES, STEPS = 8, 12
SEQUENCES_SOAK, STEPS_SOAK = 30, 30
#: Normal runs take the sequences of this seed; soak takes new ones.
SEED = 5729


@requirement("WRC-LIF-015")
def test_claims_settle_as_their_consumers_call_for(scenario: Scenario, pytestconfig: pytest.Config) -> None:
    """After any sequence of steps, each claim is reserved for its living consumers alone, or is gone with them."""
    scenario.node(devices=60, pods=500)
    soak = pytestconfig.getoption("--wrc-soak")
    settings = hypothesis.settings(
        max_examples=SEQUENCES_SOAK if soak else SEQUENCES,
        stateful_step_count=STEPS_SOAK if soak else STEPS,
        phases=[hypothesis.Phase.generate],  # a live cluster is too slow to shrink on
        deadline=None,
        database=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    story: list[str] = []
    violations: list[AssertionError] = []

    def sequence() -> "Sequence":
        if violations:  # hypothesis wants to see it again
            raise violations[0]
        story.clear()
        return Sequence(scenario, story, violations)

    if not soak:
        hypothesis.seed(SEED)(sequence)
    try:
        run_state_machine_as_test(sequence, settings=settings)  # type: ignore[arg-type]  # a factory will do
    except BaseException:
        if not violations:
            raise
    if violations:
        steps = "\n".join(f"  {number}. {step}" for number, step in enumerate(story, 1))
        raise AssertionError(f"{violations[0]}\nThe steps before:\n{steps}")


@dataclass
class Member:
    """A Pod, the entries that it has in common with its PodGroup, and its own ones."""

    pod: Pod
    shared: tuple[str, ...]
    active: bool = True


@dataclass
class ModelledGroup:
    """A PodGroup with its entries by name; ``used`` are those that a bound Pod has had in common with it."""

    group: PodGroup
    entries: dict[str, Entry]
    members: list[Member] = field(default_factory=list)
    used: set[str] = field(default_factory=set)
    deleted: bool = False

    @property
    def lives(self) -> bool:
        """Whether the PodGroup exists: deleted ones last as long as an active member."""
        return not self.deleted or any(member.active for member in self.members)


class Sequence(RuleBasedStateMachine):
    """One sequence. Each step is done on the cluster and in the model; Pods are waited for until they are bound."""

    def __init__(self, scenario: Scenario, story: list[str], violations: list[AssertionError]) -> None:
        super().__init__()
        self.scenario = scenario
        self.story = story
        self.violations = violations
        self.groups: list[ModelledGroup] = []
        self.loners: list[Member] = []
        self.number = 0

    @initialize()
    def begin(self) -> None:
        """Two templates and two claims are there from the beginning, under fresh names."""
        word = f"sequence-{secrets.token_hex(2)}"
        self.named = {f"named-{i}": self.scenario.named(f"named-{i}", f"{word}-claim-{i}") for i in range(2)}
        self.templates = {f"template-{i}": self._from_template(f"template-{i}", f"{word}-{i}") for i in range(2)}
        self.prefix = word

    @rule(named=st.integers(0, 2), templates=st.integers(0, 2))
    def create_group(self, named: int, templates: int) -> None:
        """Create a PodGroup with some of the entries, up to all four."""
        entries = dict([*list(self.named.items())[:named], *list(self.templates.items())[:templates]])
        name = self._fresh("group")
        self._tell(f"create PodGroup {name} with entries {sorted(entries)}")
        self.groups.append(ModelledGroup(self.scenario.pod_group(*entries.values(), name=name), entries))

    @precondition(lambda self: self._open_groups())
    @rule(data=st.data(), count=st.integers(1, 3))
    def create_members(self, data: st.DataObject, count: int) -> None:
        """Create Pods of a PodGroup at once, with some or all of its entries, and wait until they are bound."""
        modelled = data.draw(st.sampled_from(self._open_groups()))
        shared = data.draw(st.lists(st.sampled_from(sorted(modelled.entries)), unique=True)) if modelled.entries else []
        name = self._fresh("member")
        self._tell(f"create {count} Pods of PodGroup {modelled.group.name} with entries {sorted(shared)}")
        pods = self.scenario.pods(count, *(modelled.entries[e] for e in shared), group=modelled.group, name=name)
        self._require(lambda: eventually(self.scenario.all_of(pods), are_bound(count), BINDING))
        modelled.members += [Member(pod, tuple(shared)) for pod in pods]
        modelled.used.update(shared)

    @rule(data=st.data())
    def create_loner(self, data: st.DataObject) -> None:
        """Create a Pod of no PodGroup that uses one of the named claims."""
        entry = data.draw(st.sampled_from(sorted(self.named)))
        self._tell(f"create a Pod of no PodGroup with {entry}")
        pod = self.scenario.pod(self.named[entry], name=self._fresh("loner"))
        self._require(lambda: eventually(self.scenario.all_of([pod]), are_bound(1), BINDING))
        self.loners.append(Member(pod, (entry,)))

    @precondition(lambda self: self._active())
    @rule(data=st.data(), finish=st.booleans())
    def end_pod(self, data: st.DataObject, finish: bool) -> None:
        """Let a Pod succeed, or delete it; those of no PodGroup are deleted, because of kubernetes 141274."""
        member = data.draw(st.sampled_from(self._active()))
        finish = finish and member not in self.loners
        self._tell(f"{'finish' if finish else 'delete'} {member.pod}")
        (self.scenario.finish if finish else self.scenario.delete)(member.pod)
        member.active = False

    @precondition(lambda self: self._open_groups())
    @rule(data=st.data())
    def delete_group(self, data: st.DataObject) -> None:
        """Delete a PodGroup whose claims have been generated; a dying one would get none any more."""
        modelled = data.draw(st.sampled_from(self._open_groups()))
        for entry in modelled.entries:
            self._require(partial(modelled.group.claim, entry))
        self._tell(f"delete PodGroup {modelled.group.name}")
        self.scenario.delete(modelled.group)
        modelled.deleted = True

    @rule(entry=st.sampled_from(["template-0", "template-1"]))
    def replace_template(self, entry: str) -> None:
        """Delete a template and create it again; ResourceClaims that were generated from it do not care."""
        name = self.templates[entry]["resourceClaimTemplateName"]
        self._tell(f"replace ResourceClaimTemplate {name}")
        self.scenario.delete_template(name)
        self.scenario.template(name)

    @precondition(lambda self: self.story and self.story[-1] != "settle")
    @rule()
    def settle(self) -> None:
        """The ResourceClaims become what the model says, however many steps came before."""
        self._tell("settle")
        claims = _Claims(self.scenario, self.prefix)
        self._require(lambda: eventually(claims, _are(self._expected()), RELEASE))

    def teardown(self) -> None:
        """End everything; then nothing may be left but the named claims, free again."""
        if self.violations:
            return
        self._tell("delete everything")
        for member in self._active():
            member.active = False
            self.scenario.delete(member.pod)
        for modelled in self._open_groups():
            modelled.deleted = True
            self.scenario.delete(modelled.group)
        self.settle()

    def _expected(self) -> dict[str, list[str]]:
        """Return the consumers that each ResourceClaim must be reserved for, by what it is."""
        living = [modelled for modelled in self.groups if modelled.lives]
        expected = {entry["resourceClaimName"]: self._consumers_of(name) for name, entry in self.named.items()}
        for modelled in living:
            for name in modelled.entries.keys() & self.templates.keys():
                consumers = [modelled.group.name] if name in modelled.used else []
                expected[f"{modelled.group.uid} {name}"] = consumers
        return expected

    def _consumers_of(self, named: str) -> list[str]:
        groups = [one.group.name for one in self.groups if one.lives and named in one.used]
        return sorted([*groups, *(one.pod.name for one in self.loners if one.active and named in one.shared)])

    def _open_groups(self) -> list[ModelledGroup]:
        return [modelled for modelled in self.groups if not modelled.deleted]

    def _active(self) -> list[Member]:
        members = [member for modelled in self.groups for member in modelled.members]
        return [member for member in (*members, *self.loners) if member.active]

    def _fresh(self, word: str) -> str:
        self.number += 1
        return f"{self.prefix}-{word}-{self.number}"

    def _from_template(self, entry: str, source: str) -> Entry:
        return self.scenario.from_template(entry, f"{source}-template")

    def _tell(self, step: str) -> None:
        self.story.append(step)

    def _require(self, wait: Callable[[], object]) -> None:
        """Remember a violation: hypothesis wants to see it twice, and a race may not come twice."""
        try:
            wait()
        except AssertionError as violation:
            self.violations.append(violation)
            raise


@dataclass(frozen=True)
class _Claims:
    """The ResourceClaims of one sequence, by name or by owner and entry, with the names of their consumers."""

    scenario: Scenario
    prefix: str

    def __call__(self) -> dict[str, list[str]]:
        claims = [one for one in self.scenario.claims() if one["metadata"]["name"].startswith(self.prefix)]
        return {self._key(claim): self._consumers(claim) for claim in claims}

    def __str__(self) -> str:
        return "The set of ResourceClaims with their consumers"

    def _key(self, claim: Object) -> str:
        owner = controller_of(claim)
        return f"{owner} {entry_of(claim)}" if owner else str(claim["metadata"]["name"])

    def _consumers(self, claim: Object) -> list[str]:
        """Return the names in reservedFor, and a word where allocation and reservation do not go together."""
        names = sorted(entry["name"] for entry in reservations_of(claim))
        agrees = is_allocated(claim) == bool(names)
        return names if agrees else [*names, "allocated for nobody" if is_allocated(claim) else "not allocated"]


def _are(expected: dict[str, list[str]]) -> Condition:
    def are_as_expected(state: dict[str, list[str]]) -> bool:
        return state == expected

    are_as_expected.__name__ = f"is {expected}"
    return are_as_expected

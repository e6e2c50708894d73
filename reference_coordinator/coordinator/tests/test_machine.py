"""Anything that clients may send, in any order and at any time, leaves the coordinator in order."""

from dataclasses import replace
from typing import ClassVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    MultipleResults,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    rule,
)

from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import Millis
from reference_coordinator.groups.classic.state import ClassicGroupState
from reference_coordinator.messages import GroupRequest, JoinGroupResponse
from reference_coordinator.tests.calls import Call
from reference_coordinator.tests.kit import Broker
from reference_coordinator.tests.requests import (
    commit,
    fetch,
    heartbeat,
    join,
    leave,
    offset_delete,
    subscription,
    sync,
    txn_commit,
)

pytestmark = pytest.mark.slow

PROFILES = ["2.4.1", "2.6.0", "2.8.2", "3.0", "3.9", "3.9-java", "4.3", "4.4"]
GROUPS = st.sampled_from(["a", "b"])
INSTANCES = st.sampled_from([None, None, "i", "j", ""])
NAMES = st.sampled_from([("range",), ("range", "rr"), ("rr", "range"), ("rr", "rr"), ()])
METADATA = st.sampled_from([b"", subscription("t"), b"\0\0\xff\xff\xff\xff"])
TIMEOUTS_MS = st.sampled_from([6_000, 10_000, 60_000, 400_000])
REBALANCES_MS = st.sampled_from([-1, 0, 1_000, 20_000])
GENERATIONS = st.integers(min_value=-1, max_value=4)
PRODUCERS = st.sampled_from([7, 8, -1])
VERIFICATIONS = st.sampled_from([Errors.NONE, Errors.NONE, Errors.INVALID_TXN_STATE])
FAILURES = st.sampled_from([Errors.MESSAGE_TOO_LARGE, Errors.NOT_LEADER_OR_FOLLOWER])
PROPERTIES = st.sampled_from(
    [
        {},
        {"group.max.size": "2"},
        {"group.initial.rebalance.delay.ms": "0"},
        {"offsets.retention.check.interval.ms": "7000", "offset.metadata.max.bytes": "1"},
    ]
)


class CoordinatorMachine(RuleBasedStateMachine):
    """Members of two groups do as they like; `Broker` checks that no token is answered twice."""

    members: ClassVar[Bundle[str]] = Bundle("members")

    def __init__(self) -> None:
        super().__init__()
        self.broker = Broker()
        self.calls: list[Call] = []

    @initialize(target=members, profile=st.sampled_from(PROFILES), properties=PROPERTIES, owned=st.booleans())
    def a_broker(self, profile: str, properties: dict[str, str], *, owned: bool) -> MultipleResults[str]:
        self.broker = Broker(profile, properties, owned=owned)
        return multiple("", "stranger")

    def send(self, request: GroupRequest, version: int | None = None) -> Call:
        call = self.broker.send(request, version=version)
        self.calls.append(call)
        return call

    @rule(
        target=members,
        member=members,
        group=GROUPS,
        instance=INSTANCES,
        names=NAMES,
        metadata=METADATA,
        session_ms=TIMEOUTS_MS,
        rebalance_ms=REBALANCES_MS,
        version=st.sampled_from([3, 5, 6, 8, 9]),
    )
    def joins(
        self,
        member: str,
        group: str,
        instance: str | None,
        names: tuple[str, ...],
        metadata: bytes,
        session_ms: int,
        rebalance_ms: int,
        version: int,
    ) -> MultipleResults[str] | str:
        request = join(
            member,
            group=group,
            instance=instance,
            names=names,
            metadata=metadata,
            session_ms=session_ms,
            rebalance_ms=rebalance_ms,
        )
        call = self.send(request, version)
        if call.is_parked:
            described = self.broker.describe(group).members
            return multiple(*(each.member_id for each in described))
        return call.as_(JoinGroupResponse).member_id

    @rule(member=members, group=GROUPS, instance=INSTANCES, generation=GENERATIONS)
    def syncs(self, member: str, group: str, instance: str | None, generation: int) -> None:
        self.send(sync(member, generation, group=group, instance=instance))

    @rule(member=members, group=GROUPS)
    def does_what_it_should(self, member: str, group: str) -> None:
        for generation in range(5):
            self.send(heartbeat(member, generation, group=group))
            self.send(sync(member, generation, group=group))

    @rule(member=members, group=GROUPS, instance=INSTANCES, generation=GENERATIONS)
    def heartbeats(self, member: str, group: str, instance: str | None, generation: int) -> None:
        self.send(heartbeat(member, generation, group=group, instance=instance))

    @rule(first=members, second=members, group=GROUPS, instance=INSTANCES)
    def leave_in_a_batch(self, first: str, second: str, group: str, instance: str | None) -> None:
        self.send(leave((first, instance), second, group=group))

    @rule(
        member=members,
        group=GROUPS,
        generation=GENERATIONS,
        retention_ms=st.sampled_from([-1, 0, 10_000]),
        metadata=st.sampled_from(["", "x", "xx"]),
    )
    def commits(self, member: str, group: str, generation: int, retention_ms: int, metadata: str) -> None:
        request = commit(
            {0: 1, 1: 2}, member_id=member, generation=generation, group=group, metadata=metadata
        )
        self.send(replace(request, retention_time_ms=Millis(retention_ms)), 4)

    @rule(
        member=members,
        group=GROUPS,
        instance=INSTANCES,
        generation=GENERATIONS,
        producer=PRODUCERS,
        epoch=st.sampled_from([0, 0, 0, -1]),
        metadata=st.sampled_from(["", "xx"]),
        verification=VERIFICATIONS,
    )
    def commits_in_a_transaction(
        self,
        member: str,
        group: str,
        instance: str | None,
        generation: int,
        producer: int,
        epoch: int,
        metadata: str,
        verification: Errors,
    ) -> None:
        self.send(
            txn_commit(
                {0: 1, 1: 2},
                producer_id=producer,
                producer_epoch=epoch,
                member_id=member,
                generation=generation,
                instance=instance,
                metadata={1: metadata},
                group=group,
                verification=verification,
            )
        )

    @rule(group=GROUPS, producer=PRODUCERS, committed=st.booleans())
    def a_transaction_ends(self, group: str, producer: int, *, committed: bool) -> None:
        if self.broker.owned:
            self.broker.end(producer, committed=committed, group=group)

    @rule()
    def a_topic_is_deleted(self) -> None:
        if self.broker.owned:
            self.broker.settle(self.broker.coordinator.topics_deleted(["t"], now_ms=self.broker.now))

    @rule(group=GROUPS, stable=st.booleans())
    def fetches(self, group: str, *, stable: bool) -> None:
        self.send(fetch(0, 1, group=group, stable=stable))

    @rule(group=GROUPS)
    def deletes_offsets(self, group: str) -> None:
        self.send(offset_delete(0, group=group))

    @rule()
    def deletes_groups(self) -> None:
        if not self.broker.delays_appends:
            self.broker.delete("a", "b")

    @rule(ms=st.sampled_from([0, 1, 500, 3_000, 10_000, 60_000, 300_000]))
    def time_passes(self, ms: int) -> None:
        self.broker.elapse(ms)

    @rule()
    def appends_take_their_time(self) -> None:
        self.broker.delays_appends = True

    @rule(error=st.one_of(st.just(Errors.NONE), FAILURES))
    def appends_are_through(self, error: Errors) -> None:
        self.broker.release(error)

    @rule()
    def the_broker_restarts(self) -> None:
        self.broker.release()
        if self.broker.owned:
            self.broker.restart()

    @invariant()
    def every_deadline_is_ahead_or_due(self) -> None:
        deadline_ms = self.broker.coordinator.next_deadline()
        assert deadline_ms is None or deadline_ms >= self.broker.now_ms

    @invariant()
    def what_is_read_twice_is_the_same(self) -> None:
        if not self.broker.delays_appends:
            for group in ("a", "b"):
                assert self.broker.fetch(0, 1, group=group) == self.broker.fetch(0, 1, group=group)

    @invariant()
    def what_is_stable_is_what_is_read(self) -> None:
        if self.broker.delays_appends:
            return
        for group in ("a", "b"):
            pairs = zip(
                self.broker.fetch(0, 1, group=group),
                self.broker.fetch(0, 1, group=group, stable=True),
                strict=True,
            )
            for read, stable in pairs:
                assert stable in (read, (-1, Errors.UNSTABLE_OFFSET_COMMIT))

    @invariant()
    def all_apis_stay_in_service(self) -> None:
        assert self.broker.state("a") in {"", *(state.value for state in ClassicGroupState)}


TestCoordinatorMachine = CoordinatorMachine.TestCase
TestCoordinatorMachine.settings = settings(
    max_examples=60,
    stateful_step_count=40,
    derandomize=True,
)

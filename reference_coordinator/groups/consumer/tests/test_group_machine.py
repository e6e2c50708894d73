"""Whatever consumers do: no two have one partition, no epoch falls, and every reconciliation ends, evenly."""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from reference_coordinator.core.errors import Errors
from reference_coordinator.groups.consumer.group import ConsumerGroup
from reference_coordinator.groups.consumer.tests.consumer_kit import (
    GROUP,
    Consumers,
    Owned,
    assignment_of,
    heartbeat_of,
    topic_id,
)
from reference_coordinator.messages.consumer_groups import ConsumerGroupHeartbeatRequest

pytestmark = pytest.mark.slow

MEMBERS = ("ana", "bob", "cy", "dan")
TOPICS = ("t", "u")
names = st.sets(st.sampled_from(TOPICS)).map(lambda chosen: tuple(sorted(chosen)))


class Consumer:
    """What one consumer knows: a client that does what it is told."""

    def __init__(self) -> None:
        self.epoch = 0
        self.owned: Owned = {}
        self.is_member = False


class GroupMachine(RuleBasedStateMachine):
    """A group of well-behaved consumers, with topics that grow."""

    release = "4.3"

    def __init__(self) -> None:
        super().__init__()
        self.clients = {name: Consumer() for name in MEMBERS}
        self.group_epoch = 0
        self.sizes = dict.fromkeys(TOPICS, 1)

    @initialize()
    def begin(self) -> None:
        self.consumers = Consumers.on(self.release, {"offsets.topic.num.partitions": "1"}, **self.sizes)

    @rule(name=st.sampled_from(MEMBERS), subscribed=names)
    def join(self, name: str, subscribed: tuple[str, ...]) -> None:
        client = self.clients[name]
        client.owned = {}
        self._send(name, heartbeat_of(name, 0, names=subscribed))

    @rule(name=st.sampled_from(MEMBERS), subscribed=st.none() | names, confirms=st.booleans())
    def beat(self, name: str, subscribed: tuple[str, ...] | None, *, confirms: bool) -> None:
        client = self.clients[name]
        if client.is_member:
            owned = client.owned if confirms else None
            self._send(name, heartbeat_of(name, client.epoch, names=subscribed, owned=owned))

    @rule(name=st.sampled_from(MEMBERS))
    def leave(self, name: str) -> None:
        if self.clients[name].is_member:
            # It may have been dropped without knowing.
            error = self.consumers.error(name, -1)
            assert error in {Errors.NONE, Errors.UNKNOWN_MEMBER_ID, Errors.GROUP_ID_NOT_FOUND}
            self.clients[name] = Consumer()

    @rule(topic=st.sampled_from(TOPICS), partitions=st.integers(1, 5))
    def grow(self, topic: str, partitions: int) -> None:
        self.sizes[topic] = max(partitions, self.sizes[topic])
        self.consumers.topics(**self.sizes)

    @rule(ms=st.sampled_from((1, 4_999, 5_000, 46_000)))
    def wait(self, ms: int) -> None:
        self.consumers.broker.elapse(ms)

    @rule()
    def restart(self) -> None:
        self.consumers.broker.restart()
        self.consumers.topics(**self.sizes)

    @rule(name=st.sampled_from(MEMBERS))
    def lose_a_write(self, name: str) -> None:
        client = self.clients[name]
        if client.is_member:
            self.consumers.broker.append_error = Errors.NOT_ENOUGH_REPLICAS
            self.consumers.beat(name, client.epoch, names=("t",), owned=client.owned)
            self.consumers.broker.append_error = Errors.NONE

    @rule()
    def settle(self) -> None:
        """Let every member do what it is told, until nobody is told anything."""
        for _ in range(8):
            for name, client in self.clients.items():
                if client.is_member:
                    self._send(name, heartbeat_of(name, client.epoch, owned=client.owned))
        group = self._group
        if group is not None and group.members:
            assert group.state.value == "Stable"
            assert group.assignment_epoch == group.group_epoch
            for member_id, member in group.members.items():
                had = {topic: set(each) for topic, each in member.assigned_partitions.items()}
                # Kafka keeps the kind of subscription that the group had before a member without topics came
                # back, and may give it what it has not subscribed to; that is never handed out.
                target = {
                    topic: set(each)
                    for topic, each in group.target_assignment_of(member_id).items()
                    if topic in {topic_id(name) for name in member.subscribed_topic_names}
                }
                assert had == target
            self._is_shared_evenly(group)

    def _is_shared_evenly(self, group: ConsumerGroup) -> None:
        """Look whether members that subscribe alike have all partitions, and as many each as the others."""
        subscribed = {member.subscribed_topic_names for member in group.members.values()}
        if len(subscribed) > 1 or not any(subscribed):
            return
        owned = [
            [(topic, each) for topic, partitions in member.assigned_partitions.items() for each in partitions]
            for member in group.members.values()
        ]
        (names,) = subscribed
        everything = [(topic_id(name), each) for name in names for each in range(self.sizes[name])]
        assert sorted(each for part in owned for each in part) == sorted(everything)
        assert max(map(len, owned)) - min(map(len, owned)) <= 1

    def _send(self, name: str, request: ConsumerGroupHeartbeatRequest) -> None:
        client = self.clients[name]
        response = self.consumers.answer(request)
        if response.error_code is not Errors.NONE:
            assert response.error_code in {Errors.UNKNOWN_MEMBER_ID, Errors.GROUP_ID_NOT_FOUND}
            self.clients[name] = Consumer()
            return
        if client.is_member and request.member_epoch:
            assert response.member_epoch >= client.epoch
        client.is_member, client.epoch = True, response.member_epoch
        assigned = assignment_of(response)
        client.owned = client.owned if assigned is None else assigned

    @property
    def _group(self) -> ConsumerGroup | None:
        found = self.consumers.broker.coordinator.shard.find_group(GROUP)
        assert found is None or isinstance(found, ConsumerGroup)
        return found

    @invariant()
    def nobody_shares_a_partition(self) -> None:
        owned = [
            (topic, partition)
            for client in self.clients.values()
            for topic, partitions in client.owned.items()
            for partition in partitions
            if client.is_member
        ]
        group = getattr(self, "consumers", None) and self._group
        if group is None:
            return
        group.check_invariants()
        known = {name for name, client in self.clients.items() if client.is_member}
        if known <= set(group.members):
            assert len(owned) == len(set(owned))

    @invariant()
    def the_epoch_never_falls(self) -> None:
        group = getattr(self, "consumers", None) and self._group
        if group is not None:
            assert group.group_epoch >= self.group_epoch
            self.group_epoch = group.group_epoch


@pytest.mark.parametrize("release", ["4.2", "4.3", "4.4"])
def test_consumers_share_partitions(release: str) -> None:
    machine = type("Machine", (GroupMachine,), {"release": release})

    run_state_machine_as_test(
        machine, settings=settings(max_examples=60, stateful_step_count=30, deadline=None)
    )

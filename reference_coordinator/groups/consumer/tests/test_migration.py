"""Groups that go from the classic to the consumer protocol and back while they have members."""

import struct
from collections.abc import Mapping
from dataclasses import replace

import pytest

from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import MemberId
from reference_coordinator.groups.consumer.embedded_protocol import (
    assignment_orders,
    serialize_assignment,
)
from reference_coordinator.groups.consumer.tests.consumer_kit import Consumers
from reference_coordinator.messages import JoinGroupRequestProtocol, JoinGroupResponse
from reference_coordinator.tests.calls import Call
from reference_coordinator.tests.requests import join, sync

Owned = tuple[tuple[str, tuple[int, ...]], ...]


def subscription(*topics: str, owned: Owned = ()) -> bytes:
    """A subscription of version 1."""
    names = b"".join(struct.pack(f">h{len(each)}s", len(each), each.encode()) for each in topics)
    head = struct.pack(">hi", 1, len(topics)) + names + struct.pack(">i", -1)
    return head + serialize_assignment(owned, version=0)[2:-4]


class Classic:
    """A classic consumer of the group."""

    def __init__(self, consumers: Consumers, *, instance: str | None = None) -> None:
        self.consumers = consumers
        self.instance = instance
        self.member_id = MemberId("")
        self.generation = -1

    def join(
        self, *topics: str, owned: Owned = (), version: int = 3, names: tuple[str, ...] = ("range",)
    ) -> Call:
        """Send a JoinGroup."""
        metadata = subscription(*(topics or ("t",)), owned=owned)
        return self.join_with(dict.fromkeys(names, metadata), version=version)

    def join_with(self, metadata: Mapping[str, bytes], *, kind: str = "consumer", version: int = 3) -> Call:
        """Send a JoinGroup with protocols as they are."""
        protocols = (JoinGroupRequestProtocol(name=each, metadata=data) for each, data in metadata.items())
        request = join(self.member_id, instance=self.instance, kind=kind)
        return self.consumers.broker.send(
            replace(request, protocols=tuple(protocols)), version=5 if self.instance else version
        )

    def joined(self, call: Call) -> JoinGroupResponse:
        """Take in the answer to a JoinGroup."""
        response = call.join
        assert response.error_code is Errors.NONE
        self.member_id, self.generation = response.member_id, response.generation_id
        return response

    def sync(self, assignments: dict[MemberId, bytes] | None = None) -> Call:
        """Send a SyncGroup."""
        request = sync(
            self.member_id, self.generation, instance=self.instance, assignments=assignments, name="range"
        )
        return self.consumers.broker.send(replace(request, protocol_type="consumer"))

    def beat(self, generation: int | None = None) -> Errors:
        """Send a heartbeat."""
        epoch = self.generation if generation is None else generation
        return self.consumers.broker.heartbeat(self.member_id, epoch, instance=self.instance).error


def stable_classic(
    consumers: Consumers,
    *,
    instance: str | None = None,
    user_data: bytes = b"",
    assignment: bytes = serialize_assignment((("t", (0, 1, 2)),), version=1),
) -> Classic:
    """A classic group in generation 1, whose only member has all of a topic."""
    classic = Classic(consumers, instance=instance)
    call = classic.join()
    consumers.broker.elapse(3_000)
    classic.joined(call)
    if user_data:
        assignment = assignment[:-4] + struct.pack(">i", len(user_data)) + user_data
    classic.sync({classic.member_id: assignment})
    return classic


@pytest.mark.parametrize("policy", ["disabled", "upgrade"])
def test_a_group_stays_one_of_consumers_where_that_is_the_policy(release: str, policy: str) -> None:
    consumers = Consumers.on(release, {"group.consumer.migration.policy": policy}, t=3)
    consumers.beat("bob", 0, names=("t",))
    classic = Classic(consumers)
    call = classic.join()
    if policy == "disabled" and release in {"4.3", "4.4"}:
        assert call.error is Errors.INCONSISTENT_GROUP_PROTOCOL
        return
    classic.joined(call)

    consumers.beat("bob", -1)

    assert consumers.epochs()[0] == "Assigning"


def test_an_assignment_with_a_length_beyond_its_bytes_refuses_the_conversion(release: str) -> None:
    consumers = Consumers.on(release, {}, t=3)
    classic = stable_classic(consumers, assignment=b"part of ana")

    error = consumers.error("bob", 0, names=("t",))

    assert error is (Errors.GROUP_ID_NOT_FOUND if release == "4.4" else Errors.UNKNOWN_SERVER_ERROR)
    assert classic.beat() is Errors.NONE


def test_who_is_parked_in_a_classic_group_has_to_rejoin() -> None:
    consumers = Consumers.on("4.3", t=3)
    classic = stable_classic(consumers)
    call = Classic(consumers).join()
    assert call.is_parked

    assert consumers.error("bob", 0, names=("t",)) is Errors.NONE

    assert call.error is Errors.REBALANCE_IN_PROGRESS
    assert classic.beat() is Errors.REBALANCE_IN_PROGRESS


def test_a_conversion_that_could_not_be_written_is_undone() -> None:
    consumers = Consumers.on("4.3", t=3)
    classic = stable_classic(consumers)
    consumers.broker.append_error = Errors.NOT_ENOUGH_REPLICAS
    assert consumers.error("bob", 0, names=("t",)) is Errors.COORDINATOR_NOT_AVAILABLE
    consumers.broker.append_error = Errors.NONE
    assert consumers.broker.state() == "Stable"
    assert classic.beat() is Errors.NONE

    consumers.beat("bob", 0, names=("t",))
    consumers.broker.append_error = Errors.NOT_ENOUGH_REPLICAS
    assert consumers.error("bob", -1) is Errors.COORDINATOR_NOT_AVAILABLE
    assert consumers.epochs()[0] == "Reconciling"


def test_topics_of_an_assignment_may_come_in_any_order() -> None:
    one, other = ("orders", (0, 1)), ("payments", (2,))
    either_way = tuple(serialize_assignment(each, version=3) for each in ((one, other), (other, one)))

    assert assignment_orders(either_way[0]) == either_way
    assert assignment_orders(serialize_assignment((one,), version=3)) == ()

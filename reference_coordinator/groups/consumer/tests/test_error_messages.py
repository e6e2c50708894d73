"""What a member or an administrator learns beside an error."""

import struct
from dataclasses import replace

import pytest

from reference_coordinator.core.consumer_records import MemberState
from reference_coordinator.core.errors import CoordinatorError, Errors
from reference_coordinator.core.ids import Millis
from reference_coordinator.groups.consumer.group import ConsumerGroup
from reference_coordinator.groups.consumer.tests.consumer_kit import GROUP, Consumers, heartbeat_of
from reference_coordinator.groups.consumer.tests.test_migration import Classic, stable_classic, subscription
from reference_coordinator.messages import ConsumerGroupHeartbeatRequest
from reference_coordinator.runtime.error_responses import refusal_response
from reference_coordinator.tests.kit import Broker

_JOINS = heartbeat_of("ana", 0, names=("t",))
_NO_SUBSCRIPTION = "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining."
_OWNED = "cannot join the group because the instance id is owned"
_REJOIN = "The member must abandon all its partitions and rejoin."


def refusal(
    consumers: Consumers, request: ConsumerGroupHeartbeatRequest, *, version: int = 1
) -> tuple[Errors, str | None]:
    """The error and the message with which a heartbeat is answered."""
    response = consumers.answer(request, version=version)
    return response.error_code, response.error_message


INVALID_REQUESTS = {
    "MemberId can't be empty.": heartbeat_of(" ", 0, names=("t",)),
    "GroupId can't be empty.": heartbeat_of("ana", 0, names=("t",), group=""),
    "InstanceId can't be empty.": heartbeat_of("ana", 0, names=("t",), instance=""),
    "RackId can't be empty.": heartbeat_of("ana", 0, names=("t",), rack=" "),
    "RebalanceTimeoutMs must be provided in first request.": replace(_JOINS, rebalance_timeout_ms=Millis(-1)),
    "TopicPartitions must be empty when (re-)joining.": replace(_JOINS, topic_partitions=None),
    _NO_SUBSCRIPTION: heartbeat_of("ana", 0),
    "InstanceId can't be null.": heartbeat_of("ana", -2),
    "MemberEpoch is invalid.": heartbeat_of("ana", -3),
}


WRONG_TWICE = {
    "MemberId can't be empty.": heartbeat_of("", 0, group="", instance="", rack=""),
    "GroupId can't be empty.": heartbeat_of("ana", 0, group="", instance="", rack=""),
    "InstanceId can't be empty.": heartbeat_of("ana", 0, instance="", rack=""),
    "RackId can't be empty.": replace(heartbeat_of("ana", 0, rack=""), rebalance_timeout_ms=Millis(-1)),
    "RebalanceTimeoutMs must be provided in first request.": replace(
        heartbeat_of("ana", 0, owned={"t": (0,)}), rebalance_timeout_ms=Millis(-1)
    ),
    "TopicPartitions must be empty when (re-)joining.": heartbeat_of("ana", 0, owned={"t": (0,)}),
    _NO_SUBSCRIPTION: heartbeat_of("ana", 0, assignor="none"),
    "InstanceId can't be null.": heartbeat_of("ana", -2, assignor="none"),
    "MemberEpoch is invalid.": heartbeat_of("ana", -3, assignor="none"),
}


@pytest.mark.parametrize(("message", "request_"), [*INVALID_REQUESTS.items(), *WRONG_TWICE.items()])
def test_the_first_wrong_field_of_an_invalid_request_is_named(
    consumers: Consumers, message: str, request_: ConsumerGroupHeartbeatRequest
) -> None:
    assert refusal(consumers, request_) == (Errors.INVALID_REQUEST, message)


@pytest.mark.parametrize("configured", ["uniform,range", "range,uniform"])
def test_supported_assignors_are_not_listed_in_the_order_of_the_configuration(
    release: str, configured: str
) -> None:
    consumers = Consumers.on(release, {"group.consumer.assignors": configured}, t=1)

    assert refusal(consumers, replace(_JOINS, server_assignor="none")) == (
        Errors.UNSUPPORTED_ASSIGNOR,
        "ServerAssignor none is not supported. Supported assignors: uniform, range.",
    )


def test_epochs_that_do_not_match_are_named(release: str) -> None:
    consumers = Consumers.on(release, t=3, u=1)
    first = consumers.answer(_JOINS).member_epoch
    now = consumers.beat("ana", first, names=("t", "u")).member_epoch
    known = f"than the one known by the group coordinator ({now}). {_REJOIN}"

    assert refusal(consumers, heartbeat_of("ana", now + 1)) == (
        Errors.FENCED_MEMBER_EPOCH,
        f"The consumer group member has a greater member epoch ({now + 1}) {known}",
    )
    assert refusal(consumers, heartbeat_of("ana", first)) == (
        Errors.FENCED_MEMBER_EPOCH,
        f"The consumer group member has a smaller member epoch ({first}) {known}",
    )


def test_strangers_learn_that_they_are_not_members(consumers: Consumers) -> None:
    consumers.answer(_JOINS)
    unknown = (Errors.UNKNOWN_MEMBER_ID, "Member bob is not a member of group g.")

    assert refusal(consumers, heartbeat_of("bob", 1)) == unknown
    assert refusal(consumers, heartbeat_of("bob", -1)) == unknown
    instance = (Errors.UNKNOWN_MEMBER_ID, "Instance id j is unknown.")
    assert refusal(consumers, heartbeat_of("ana", 1, instance="j")) == instance
    assert refusal(consumers, heartbeat_of("ana", -2, instance="j")) == instance


def test_who_has_an_instance_id_is_named(consumers: Consumers) -> None:
    epoch = consumers.beat("ana", 0, names=("t",), instance="i").member_epoch
    fenced = (Errors.FENCED_INSTANCE_ID, "Static member bob with instance id i was fenced by member ana.")

    assert refusal(consumers, heartbeat_of("bob", 1, instance="i")) == fenced
    assert refusal(consumers, heartbeat_of("bob", -2, instance="i")) == fenced
    for member in ("bob", "ana"):
        assert refusal(consumers, heartbeat_of(member, 0, names=("t",), instance="i")) == (
            Errors.UNRELEASED_INSTANCE_ID,
            f"Static member {member} with instance id i {_OWNED} by ana member.",
        )
    assert consumers.error("ana", epoch, instance="j") is Errors.UNKNOWN_MEMBER_ID
    assert consumers.error("ana", epoch) is Errors.NONE


def test_a_full_group_tells_how_many_it_takes(release: str) -> None:
    consumers = Consumers.on(release, {"group.consumer.max.size": "1"}, t=1)
    consumers.answer(_JOINS)

    assert refusal(consumers, heartbeat_of("bob", 0, names=("t",))) == (
        Errors.GROUP_MAX_SIZE_REACHED,
        "The consumer group has reached its maximum capacity of 1 members.",
    )


def test_what_is_wrong_with_a_regular_expression_is_named(release: str) -> None:
    assert refusal(Consumers.on(release), heartbeat_of("ana", 0, regex="[")) == (
        Errors.INVALID_REGULAR_EXPRESSION,
        "SubscribedTopicRegex `[` is not a valid regular expression: missing closing ].",
    )


def test_a_missing_group_has_another_name_for_who_leaves_it(consumers: Consumers) -> None:
    missing = Errors.GROUP_ID_NOT_FOUND

    assert refusal(consumers, heartbeat_of("ana", 1)) == (missing, "Consumer group g not found.")
    assert refusal(consumers, heartbeat_of("ana", -1)) == (missing, "Group g not found.")
    assert consumers.describe().error_message == "Group g not found."


def test_a_classic_group_says_that_it_is_no_consumer_group(consumers: Consumers) -> None:
    stable_classic(consumers)
    other = (Errors.GROUP_ID_NOT_FOUND, "Group g is not a consumer group.")

    assert refusal(consumers, heartbeat_of("ana", 1)) == other
    assert refusal(consumers, heartbeat_of("ana", -1)) == other
    described = consumers.describe()
    assert (described.error_code, described.error_message) == other


_CANNOT = "Cannot upgrade classic group g to consumer group because"
_CUSTOM = (
    f"{_CANNOT} an unsupported custom assignor is in use. Please refer to the documentation or switch to a "
    "default assignor before re-attempting the upgrade."
)


@pytest.mark.parametrize(
    ("properties", "user_data", "message"),
    [
        ({}, b"custom", _CUSTOM),
        ({"group.consumer.migration.policy": "Disabled"}, b"", f"{_CANNOT} online upgrade is disabled."),
        ({"group.consumer.migration.policy": "downgrade"}, b"", f"{_CANNOT} online upgrade is disabled."),
    ],
    ids=["custom assignor", "disabled", "downgrade"],
)
def test_a_joining_consumer_learns_why_a_classic_group_stays(
    release: str, properties: dict[str, str], user_data: bytes, message: str
) -> None:
    consumers = Consumers.on(release, properties, t=3)
    classic = stable_classic(consumers, user_data=user_data)

    assert refusal(consumers, _JOINS) == (Errors.GROUP_ID_NOT_FOUND, message)
    assert classic.beat() is Errors.NONE
    assert consumers.broker.state() == "Stable"


def test_a_joining_consumer_learns_that_a_classic_group_is_too_large(release: str) -> None:
    consumers = Consumers.on(release, {"group.consumer.max.size": "1"}, t=3)
    calls = [Classic(consumers).join(), Classic(consumers).join()]
    consumers.broker.elapse(6_000)
    assert [each.error for each in calls] == [Errors.NONE, Errors.NONE]

    assert refusal(consumers, _JOINS) == (
        Errors.GROUP_ID_NOT_FOUND,
        f"{_CANNOT} the group size exceeds the consumer group maximum size.",
    )


@pytest.mark.parametrize(
    ("kind", "metadata", "why"),
    [
        ("connect", b"", "the group does not use the consumer embedded protocol."),
        ("consumer", b"\0", "the embedded consumer protocol is malformed."),
    ],
)
def test_a_joining_consumer_learns_that_a_classic_member_speaks_otherwise(
    consumers: Consumers, kind: str, metadata: bytes, why: str
) -> None:
    classic = Classic(consumers)
    call = classic.join_with({"range": metadata}, kind=kind)
    consumers.broker.elapse(3_000)
    classic.joined(call)

    assert refusal(consumers, _JOINS) == (Errors.GROUP_ID_NOT_FOUND, f"{_CANNOT} {why}")


HEADERS = {
    b"\0": "Buffer underflow while parsing consumer protocol's header",
    struct.pack(">h", -2): "Unsupported assignment version: -2",
}


@pytest.mark.parametrize("header", HEADERS)
def test_who_leaves_learns_why_a_group_cannot_become_classic(release: str, header: bytes) -> None:
    consumers = Consumers.on(release, t=3)
    consumers.beat("bob", 0, names=("t",))
    for name in ("range", "custom"):
        # Only the protocol is chosen that all classic members have, and nobody has read its metadata.
        call = Classic(consumers).join_with({name: subscription("t"), "sticky": header})
        assert call.error is Errors.NONE

    assert refusal(consumers, heartbeat_of("bob", -1)) == (
        Errors.GROUP_ID_NOT_FOUND,
        f"Cannot downgrade the classic group g: {HEADERS[header]}.",
    )
    assert len(consumers.describe().members) == 3


def test_a_member_of_an_unknown_state_has_to_rejoin(consumers: Consumers) -> None:
    epoch = consumers.answer(_JOINS).member_epoch
    shard = consumers.broker.coordinator.shard
    group = shard.find_group(GROUP)
    assert isinstance(group, ConsumerGroup)
    group.members[_JOINS.member_id] = replace(group.members[_JOINS.member_id], state=MemberState.UNKNOWN)

    assert refusal(consumers, heartbeat_of("ana", epoch)) == (
        Errors.FENCED_MEMBER_EPOCH,
        f"The consumer group member is in a unknown state. {_REJOIN}",
    )


def test_errors_of_the_runtime_have_no_message(consumers: Consumers, release: str) -> None:
    epoch = consumers.answer(_JOINS).member_epoch
    consumers.broker.append_error = Errors.NOT_ENOUGH_REPLICAS
    request = heartbeat_of("ana", epoch, names=("u",))
    assert refusal(consumers, request) == (Errors.COORDINATOR_NOT_AVAILABLE, None)
    consumers.broker.append_error = Errors.NONE

    broker = Broker(profile=release, owned=False)
    stranger = Consumers(broker)
    assert refusal(stranger, request) == (Errors.NOT_COORDINATOR, None)
    assert stranger.describe().error_message is None
    broker.begin_loading()
    assert refusal(stranger, request) == (Errors.COORDINATOR_LOAD_IN_PROGRESS, None)
    assert stranger.describe().error_message is None


def test_a_client_does_not_get_to_know_why_the_coordinator_failed() -> None:
    shard = Broker(profile="4.3").coordinator.shard
    secret = CoordinatorError(Errors.UNKNOWN_SERVER_ERROR, "Failed to compute a new target assignment")

    assert refusal_response(shard, _JOINS, secret) == refusal_response(
        shard, _JOINS, CoordinatorError(Errors.UNKNOWN_SERVER_ERROR)
    )

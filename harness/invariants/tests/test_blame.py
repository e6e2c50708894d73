"""Who is blamed for what a client was refused, and what gets no sentence."""

from collections.abc import Sequence

import pytest

from harness.invariants import AtFault, Invariant
from harness.invariants.blame import Blame, Refusal, ToBlame
from harness.invariants.exchange import EventPairing
from harness.tests.invariant_traces import GROUP, Trace
from harness.tests.replayed import GROUP as READERS
from harness.tests.replayed import Fields, Recording, beat, commit, enters, join, one_member, two_members
from harness.trace.events import Event, EventKind


def blamed(events: Sequence[Event], group: str = READERS, **given: object) -> list[Refusal]:
    pairing, exchanges = EventPairing(), []
    for event in events:
        exchange = pairing.take(event)
        if exchange is not None and event.kind is EventKind.REQUEST:
            exchanges.append(exchange)
    blame = Blame(group=group, is_whole=True, **given)  # type: ignore[arg-type] # a test gives what there is
    return [each for each in blame.take_all(exchanges) if each.group == group]


def test_a_silent_member_is_removed_after_its_session_and_known_even_without_its_id() -> None:
    recording, ana = one_member()
    recording.passes(8_100)
    for member_id in (ana, ""):
        beat(recording, "ana", member_id, 1)

    for refusal in (refusals := blamed(recording.events)):
        assert (refusal.party, refusal.client) == (ToBlame.CLIENT, "ana")
        assert "session 6.0 s, silent for 8.1 s" in refusal.says
    assert len(refusals) == 2


def test_a_twin_with_the_same_instance_id_is_named() -> None:
    trace = Trace()
    trace.join("ana", 1, instance="ship")
    trace.join("bob", 1, instance="ship")
    trace.exchange(
        "ana",
        "Heartbeat",
        {"member_id": "ana", "group_instance_id": "ship"},
        {"error_code": "FENCED_INSTANCE_ID"},
    )

    (refusal,) = blamed(trace.events, GROUP)

    assert refusal.party is ToBlame.CLIENT
    assert "bob joined with `ship` on another connection" in refusal.says


def test_a_commit_of_the_past_is_blamed() -> None:
    recording = two_members()
    ana = str(recording.last("JoinGroup", "ana")["member_id"])
    commit(recording, "ana", ana, 2, 44)

    (refusal,) = blamed(recording.events)

    assert "with 2 after the group went on to 3" in refusal.says


def test_what_all_clients_meet_gets_no_sentence() -> None:
    assert blamed(two_members().events) == []
    trace = Trace()
    of_another_type = {"groups": [{"group_id": GROUP, "error_code": "GROUP_ID_NOT_FOUND"}]}
    trace.exchange("admin", "DescribeGroups", {"groups": [GROUP]}, of_another_type)
    assert blamed(trace.events, GROUP) == []


def test_the_same_refused_request_is_a_storm_from_the_eleventh_time_on() -> None:
    recording, ana = one_member()
    left: Fields = {"group_id": READERS, "members": ({"member_id": ana, "group_instance_id": None},)}
    recording.sends("admin", "LeaveGroup", 3, left)
    for offset in range(13):
        commit(recording, "ana", ana, 1, offset)

    refusals = blamed(recording.events)

    assert [each.party for each in refusals] == [*[ToBlame.UNKNOWN] * 10, *[ToBlame.CLIENT] * 3]
    assert "by LeaveGroup of admin" in refusals[0].says
    assert "13 times in a row" in refusals[-1].says


@pytest.mark.parametrize(("beats", "count"), [(3, 1), (2, 0)])
def test_who_leaves_without_a_reason_and_is_back_may_not_have_polled(beats: int, count: int) -> None:
    recording, ana = one_member()
    for _ in range(beats):
        recording.passes(4_000)
        beat(recording, "ana", ana, 1)
    recording.sends("ana", "LeaveGroup", 1, {"group_id": READERS, "member_id": ana})
    recording.passes(2_000)
    enters(recording, "ana")

    refusals = blamed(recording.events)

    assert [each.party for each in refusals] == [ToBlame.UNKNOWN] * count
    assert all("12.0 s after its last rebalance, with a limit of 10.0 s" in each.says for each in refusals)


def test_an_id_that_is_to_be_used_and_is_not_is_blamed() -> None:
    recording = Recording()
    enters(recording, "ana")
    for _ in range(2):
        recording.sends("bob", "JoinGroup", 5, join())

    (refusal,) = blamed(recording.events)

    assert (refusal.party, refusal.client) == (ToBlame.CLIENT, "bob")
    assert "ignores MEMBER_ID_REQUIRED" in refusal.says


def refused(error: str) -> dict[str, object]:
    return {"topics": [{"name": "orders", "partitions": [{"partition_index": 7, "error_code": error}]}]}


def test_who_asks_for_what_cannot_be_is_blamed() -> None:
    trace = Trace()
    trace.join("ana", 1, session_timeout_ms=6_000)
    not_empty = {"results": [{"group_id": GROUP, "error_code": "NON_EMPTY_GROUP"}]}
    trace.exchange("bob", "DeleteGroups", {"groups_names": [GROUP]}, not_empty)
    trace.exchange("bob", "OffsetDelete", {}, refused("GROUP_SUBSCRIBED_TO_TOPIC"))
    trace.exchange("bob", "OffsetCommit", {}, refused("UNKNOWN_TOPIC_OR_PARTITION"))
    other_type = {"error_code": "INCONSISTENT_GROUP_PROTOCOL"}
    trace.exchange("bob", "JoinGroup", {"protocol_type": "connect"}, other_type)

    refusals = blamed(trace.events, GROUP)

    assert {each.party for each in refusals} == {ToBlame.CLIENT}
    assert [each.says.split(": ", 1)[1] for each in refusals] == [
        "deletes or rewinds a group that has members (ana is one of 1)",
        "deletes offsets of a topic that members read (ana is one of 1)",
        "names a topic or partition that does not exist (orders-7)",
        "joins with another protocol type than the group has (`connect`, the group has `consumer`)",
    ]


def test_a_producer_that_a_newer_one_fenced_is_blamed() -> None:
    trace = Trace()
    names: dict[str, object] = {"transactional_id": "tx"}
    for client, epoch in (("ana", 0), ("bob", 1)):
        trace.exchange(client, "InitProducerId", names, {"producer_id": 5, "producer_epoch": epoch})
    trace.passes(1_400)
    trace.exchange(
        "ana", "TxnOffsetCommit", {**names, "producer_epoch": 0}, refused("INVALID_PRODUCER_EPOCH")
    )

    (refusal,) = blamed(trace.events, GROUP)

    assert (refusal.party, refusal.client) == (ToBlame.CLIENT, "ana")
    assert "it has epoch 0, and bob got 1 for `tx` 1.4 s before" in refusal.says


def test_nothing_is_certain_of_a_connection_whose_bytes_were_lost() -> None:
    recording, ana = one_member()
    recording.passes(8_100)
    beat(recording, "ana", ana, 1)
    connection = recording.events[-1].connection or ""

    (refusal,) = blamed(recording.events, lost_ms={connection: 0.0})

    assert refusal.party is ToBlame.UNKNOWN


@pytest.mark.parametrize(
    ("spoken", "found"),
    [
        (("a Heartbeat", "b Heartbeat", "a Heartbeat"), [(Invariant.IDENTITY, AtFault.CLIENTS)]),
        (("a JoinGroup", "b JoinGroup", "a JoinGroup"), [(Invariant.IDENTITY, AtFault.CLIENTS)]),
        (("a JoinGroup", "b Heartbeat", "a JoinGroup", "b Heartbeat"), []),
        (("a Heartbeat", "b Heartbeat", "b Heartbeat"), []),
        (("a Heartbeat", "b LeaveGroup", "a Heartbeat"), []),
        (("a Heartbeat", "b TxnOffsetCommit", "a Heartbeat"), []),
    ],
    ids=["two heartbeat", "two join", "split connections", "a reconnect", "an admin", "a producer"],
)
def test_one_member_id_is_used_on_one_connection_for_each_purpose(
    spoken: Sequence[str], found: list[tuple[Invariant, AtFault]]
) -> None:
    trace = Trace()
    for each in spoken:
        connection, api = each.split()
        trace.exchange(connection, api, {"member_id": "m", "generation_id": 1}, {"error_code": "X"})

    assert trace.found() == found

"""What a recording does not show is never taken for agreement, and what nobody can read changes nothing."""

import pytest

from harness.invariants.blame import ToBlame
from harness.invariants.tests.test_blame import blamed
from harness.replay.topics import SPREADS_MS, TopicsSeen
from harness.tests.replayed import GROUP, Fields, Recording, beat, commit, enters, join, sync
from harness.tests.replayed_epochs import EpochRecording
from harness.trace.events import EventKind
from harness.wire.codec import encode_request


def cut_short() -> Recording:
    """Ana's SyncGroup ends early, for which the broker ends her connection; bob joins meanwhile."""
    recording = Recording()
    ana = enters(recording, "ana")
    recording.passes(5)
    fields: Fields = {"group_id": GROUP, "generation_id": 1, "member_id": ana, "assignments": ()}
    frame = encode_request("SyncGroup", 3, correlation_id=77, client_id="ana", fields=fields)[:-3]
    recording._keep(EventKind.REQUEST, "ana", "SyncGroup", 3, 77, frame, None)
    recording._keep(EventKind.CLOSED, "ana", None, None, None, None, None)
    recording._connections.pop("ana")
    recording.sends("bob", "JoinGroup", 5, join())
    recording.sends("bob", "JoinGroup", 5, join(str(recording.last("JoinGroup", "bob")["member_id"])))
    recording.passes(12_000)
    sync(recording, "bob", str(recording.last("JoinGroup", "bob")["member_id"]), 2, {})
    return recording


def test_a_request_that_cannot_be_read_changes_nothing_and_names_its_client() -> None:
    recording = cut_short()

    replayed = recording.replayed()

    assert (replayed.findings, replayed.not_compared) == ((), {})
    assert recording.last("JoinGroup", "bob")["generation_id"] == 2
    (refusal,) = [each for each in blamed(recording.events) if "nobody can read" in each.cause]
    assert (refusal.party, refusal.client, refusal.api) == (ToBlame.CLIENT, "ana", "SyncGroup")


@pytest.mark.parametrize("is_looked_up", [False, True])
def test_a_subscription_to_a_topic_that_no_answer_showed_is_not_compared(*, is_looked_up: bool) -> None:
    recording = EpochRecording("4.4")
    if is_looked_up:
        recording.looks_up("parcels")
    fields: Fields = {
        "group_id": GROUP,
        "member_id": "ana",
        "member_epoch": 0,
        "rebalance_timeout_ms": 5_000,
        "subscribed_topic_names": ("parcels",),
        "topic_partitions": (),
    }
    recording.sends("ana", "ConsumerGroupHeartbeat", 0, fields)

    replayed = recording.replayed()

    why = "of a consumer group with a topic that no Metadata answer named: parcels"
    assert (replayed.compared, replayed.not_compared) == ((1, {}) if is_looked_up else (0, {why: 1}))


def test_a_member_that_was_never_seen_to_join_is_not_compared() -> None:
    recording = Recording()
    for offset in range(2):
        commit(recording, "ana", "ana-of-before", 3, offset)
    beat(recording, "ana", "ana-of-before", 3)

    replayed = recording.replayed(is_whole=False)

    assert replayed.compared == 0
    assert sum(replayed.not_compared.values()) == 3


def test_commits_of_a_member_that_was_never_seen_to_join_are_not_compared() -> None:
    recording = Recording()
    commit(recording, "ana", "ana-of-before", 3, 1)

    assert recording.replayed(is_whole=False).compared == 0


def test_a_topic_has_the_id_that_an_answer_shows_after_it_was_made() -> None:
    seen = TopicsSeen()
    seen.see("CreateTopics", {"name": "parcels", "num_partitions": 2}, 1.0, 2.0)
    partitions = ({"partition_index": 0}, {"partition_index": 1})
    seen.see("Metadata", {"name": "parcels", "topic_id": "an id", "partitions": partitions}, 3.0, 4.0)

    (change,) = seen.changes()

    assert (change.num_partitions, change.topic_id, change.answered_ms) == (2, "an id", 2.0 + SPREADS_MS)

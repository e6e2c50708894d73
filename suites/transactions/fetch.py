"""OffsetFetch, OffsetDelete, DeleteGroups and expiry while a transaction is open."""

from collections.abc import Mapping

from harness.scenario import GONE, Actor, Conversation, Pattern, ask, expect, scenario
from suites.consumer_groups.validation import sole_member
from suites.transactions.producers import ORDER_0, TAKEN, Producer, announced, ends, pending, sees

FETCHES = "OffsetMetadataManager#fetchOffsets"
UNSTABLE: Mapping[str, Pattern] = {
    "partition_index": 0,
    "committed_offset": -1,
    "committed_leader_epoch": -1,
    "metadata": "",
    "error_code": "UNSTABLE_OFFSET_COMMIT",
}
FREQUENT_EXPIRY = {"offsets.retention.check.interval.ms": "500"}


@scenario("transactions/fetch/unstable", source=FETCHES, clauses=("OF-16", "OF-17"))
def a_pending_offset_makes_its_partition_unstable(conversation: Conversation) -> None:
    """OffsetFetch with require_stable gets UNSTABLE_OFFSET_COMMIT only for the pending partition."""
    ana = pending(conversation).actor

    ana.sends(ask.offset_fetch(version=7, topics={"orders": (0,)}, require_stable=True))
    ana.receives(
        expect.response(
            "OffsetFetch", error_code="NONE", topics=({"name": "orders", "partitions": (UNSTABLE,)},)
        )
    )
    ana.sends(ask.offset_fetch(version=7, topics={"orders": (1,)}, require_stable=True))
    ana.receives(expect.offset_fetch({"orders": {1: -1}}))
    ana.sends(ask.offset_fetch(version=7, topics={"orders": (0,)}, require_stable=False))
    ana.receives(expect.offset_fetch({"orders": {0: -1}}))


@scenario("transactions/fetch/unstable-v8", source="KIP-709", clauses=("OF-17", "OF-12"))
def stability_is_required_for_a_whole_batch(conversation: Conversation) -> None:
    """OffsetFetch v8 applies require_stable to each group, whether it exists or not."""
    ana = pending(conversation).actor

    for group in (None, conversation.group("missing")):
        ana.sends(
            ask.offset_fetch(version=8, topics={"orders": (0,)}, require_stable=True)
            if group is None
            else ask.offset_fetch(version=8, group_id=group, topics={"orders": (0,)}, require_stable=True)
        )
        ana.receives(expect.response("OffsetFetch", groups=({"error_code": "NONE"},)))


@scenario(
    "transactions/fetch/all-pending", source="OffsetMetadataManager#fetchAllOffsets", clauses=("OF-18",)
)
def what_is_pending_alone_is_not_listed(conversation: Conversation) -> None:
    """OffsetFetch of all topics leaves out a partition with only a pending offset, stable or not."""
    ana = pending(conversation).actor

    for require_stable in (True, False):
        ana.asks(ask.offset_fetch(version=7, require_stable=require_stable), expect.offset_fetch({}))


@scenario("transactions/fetch/hides-committed", source=FETCHES, clauses=("OF-19", "OF-20"))
def a_pending_offset_hides_the_committed_one(conversation: Conversation) -> None:
    """A pending offset hides the committed one from an OffsetFetch with require_stable, and only then."""
    ana = conversation.actor("ana")
    producer = announced(ana)
    ana.sends(ask.offset_commit(generation_id=-1, member_id="", topics={"orders": {0: 10, 1: 11}}))
    ana.receives(expect.offset_commit({"orders": {0: "NONE", 1: "NONE"}}))
    ana.asks(producer.commits(ORDER_0), TAKEN)

    ana.sends(ask.offset_fetch(version=7, topics={"orders": (0,)}, require_stable=True))
    ana.receives(expect.response("OffsetFetch", topics=({"partitions": (UNSTABLE,)},)))
    ana.sends(ask.offset_fetch(version=7, require_stable=True))
    ana.receives(expect.response("OffsetFetch", error_code="NONE"))
    ana.sends(ask.offset_fetch(version=7, topics={"orders": (0,)}, require_stable=False))
    ana.receives(expect.offset_fetch({"orders": {0: 10}}))
    ends(producer, committed=True)
    ana.repeats(
        ask.offset_fetch(version=7, topics={"orders": (0,)}, require_stable=True),
        until=expect.offset_fetch({"orders": {0: 42}}),
    )


@scenario(
    "transactions/end/commit", source="OffsetMetadataManager#replayEndTransactionMarker", clauses=("OF-20",)
)
def a_committed_transaction_brings_its_offsets(conversation: Conversation) -> None:
    """After its transaction commits, an offset is visible to everyone."""
    producer = pending(conversation)
    ana = producer.actor

    ends(producer, committed=True)
    sees(ana, {"orders": {0: 42}})
    ana.asks(ask.offset_fetch(), expect.offset_fetch({"orders": {0: 42}}))


@scenario(
    "transactions/end/abort", source="OffsetMetadataManager#replayEndTransactionMarker", clauses=("OF-21",)
)
def an_aborted_transaction_brings_back_what_was(conversation: Conversation) -> None:
    """After its transaction aborts, an offset is gone and the one committed before is stable again."""
    ana = conversation.actor("ana")
    producer = announced(ana)
    ana.sends(ask.offset_commit(generation_id=-1, member_id="", topics={"orders": {0: 10}}))
    ana.receives(expect.offset_commit({"orders": {0: "NONE"}}))
    ana.sends(producer.commits({"orders": {0: 42, 1: 43}}))
    ana.receives(expect.txn_offset_commit({"orders": {0: "NONE", 1: "NONE"}}))

    ends(producer, committed=False)
    ana.repeats(
        ask.offset_fetch(version=7, topics={"orders": (0, 1)}, require_stable=True),
        until=expect.response(
            "OffsetFetch",
            topics=(
                {
                    "partitions": (
                        {"partition_index": 0, "committed_offset": 10, "error_code": "NONE"},
                        {"partition_index": 1, "committed_offset": -1, "error_code": "NONE"},
                    )
                },
            ),
        ),
    )


@scenario(
    "transactions/delete/pending-offset", source="OffsetMetadataManager#deleteOffsets", clauses=("OD-14",)
)
def a_deleted_partition_loses_what_is_pending(conversation: Conversation) -> None:
    """OffsetDelete drops a pending offset: the partition is stable, and EndTxn does not bring it back."""
    producer = pending(conversation)
    ana = producer.actor
    ana.asks(producer.commits({"orders": {1: 43}}), expect.txn_offset_commit({"orders": {1: "NONE"}}))

    ana.sends(ask.offset_delete(topics={"orders": (0,)}))
    ana.receives(expect.offset_delete(error_code="NONE", errors={"orders": {0: "NONE"}}))
    ana.sends(ask.offset_fetch(version=7, topics={"orders": (0,)}, require_stable=True))
    ana.receives(expect.offset_fetch({"orders": {0: -1}}))
    ends(producer, committed=True)
    sees(ana, {"orders": {1: 43}})
    ana.asks(ask.offset_fetch(), expect.offset_fetch({"orders": {1: 43}}))


@scenario(
    "transactions/delete/last-pending-offset", source="GroupMetadata#hasOffsets", clauses=("OD-14", "OD-07")
)
def a_group_outlives_the_loss_of_its_pending_offset(conversation: Conversation) -> None:
    """A group that loses its only, pending, offset exists at least until the transaction ends."""
    producer = pending(conversation)
    ana = producer.actor

    ana.sends(ask.offset_delete(topics={"orders": (0,)}))
    ana.receives(expect.offset_delete(error_code="NONE", errors={"orders": {0: "NONE"}}))
    conversation.elapses(100)
    ana.asks(ask.describe_groups(), expect.describe_groups(error_code="NONE", group_state="Empty"))
    ends(producer, committed=True)
    conversation.elapses(500)
    ana.asks(ask.offset_fetch(), expect.offset_fetch({}))


@scenario(
    "transactions/delete/group",
    source="OffsetMetadataManager#deleteAllOffsets",
    clauses=("TC-32", "DL-09"),
)
def a_deleted_group_loses_what_is_pending(conversation: Conversation) -> None:
    """A group with a pending offset can be deleted, and EndTxn does not bring it back."""
    producer = pending(conversation)
    ana = producer.actor

    ana.asks(ask.delete_groups(), expect.delete_groups("NONE"))
    ana.repeats(ask.describe_groups(), until=GONE)
    ends(producer, committed=True)
    conversation.elapses(500)
    ana.asks(ask.describe_groups(), expect.describe_groups(error_code="NONE", group_state="Dead"))
    ana.asks(ask.offset_fetch(topics={"orders": (0,)}), expect.offset_fetch({"orders": {0: -1}}))


@scenario(
    "transactions/delete/group-made-anew",
    source="OffsetMetadataManager#deleteAllOffsets",
    clauses=("TC-32",),
)
def a_group_made_anew_does_not_inherit_what_is_pending(conversation: Conversation) -> None:
    """A group deleted and created again within a transaction gets only the offsets since then."""
    producer = pending(conversation)
    ana = producer.actor
    ana.asks(ask.delete_groups(), expect.delete_groups("NONE"))

    ana.asks(producer.commits({"orders": {1: 43}}), expect.txn_offset_commit({"orders": {1: "NONE"}}))
    ends(producer, committed=True)
    sees(ana, {"orders": {1: 43}})
    ana.asks(ask.offset_fetch(), expect.offset_fetch({"orders": {1: 43}}))


@scenario(
    "transactions/expiry/pending-only",
    source="KAFKA-19163",
    clauses=("TC-31", "EX-14"),
    broker_config=FREQUENT_EXPIRY,
)
def a_group_with_pending_offsets_is_kept(conversation: Conversation) -> None:
    """A group with only a pending offset survives expiry, except in 4.0.0."""
    ana = conversation.actor("ana")
    producer = announced(ana)
    # An expiry pass during the verification of a new group's transaction removes the group.
    ana.repeats(producer.commits(ORDER_0), until=TAKEN)

    conversation.elapses(1_600)
    ana.asks(ask.describe_groups(), expect.describe_groups(error_code="NONE", protocol_type=""))
    ends(producer, committed=True)
    conversation.elapses(300)
    ana.asks(ask.offset_fetch(topics={"orders": (0,)}), expect.response("OffsetFetch", error_code="NONE"))


def _expires_below_a_pending_one(conversation: Conversation, ana: Actor) -> Producer:
    """Commit an offset for a short time and stage another for its partition, and let the time pass."""
    producer = announced(ana)
    ana.sends(
        ask.offset_commit(
            version=2, generation_id=-1, member_id="", retention_time_ms=700, topics={"orders": {0: 7}}
        )
    )
    ana.receives(expect.offset_commit({"orders": {0: "NONE"}}))
    ana.asks(producer.commits(ORDER_0), TAKEN)
    conversation.elapses(2_000)
    return producer


@scenario(
    "transactions/expiry/pending-over-expired",
    source="GroupMetadata#removeExpiredOffsets",
    clauses=("EX-13",),
    broker_config=FREQUENT_EXPIRY,
)
def a_committed_offset_below_a_pending_one_may_stay(conversation: Conversation) -> None:
    """An expired offset is kept while another is pending for its partition, only in 4.x."""
    ana = conversation.actor("ana")
    producer = _expires_below_a_pending_one(conversation, ana)

    ana.asks(ask.offset_fetch(topics={"orders": (0,)}), expect.response("OffsetFetch", error_code="NONE"))
    ends(producer, committed=False)
    ana.repeats(ask.list_groups(), until=expect.list_groups(error_code="NONE"), within_ms=1_000)


@scenario(
    "transactions/expiry/pending-in-consumer-group",
    source="OffsetMetadataManager#cleanupExpiredOffsets",
    clauses=("EX-13",),
    broker_config=FREQUENT_EXPIRY,
)
def an_offset_of_a_consumer_group_stays_below_a_pending_one(conversation: Conversation) -> None:
    """An expired offset of an Empty consumer group stays while another is pending, and then goes."""
    ana, _ = sole_member(conversation)
    ana.leaves()
    producer = _expires_below_a_pending_one(conversation, ana)

    ana.asks(ask.offset_fetch(topics={"orders": (0,)}), expect.offset_fetch({"orders": {0: 7}}))
    ends(producer, committed=False)
    ana.repeats(ask.offset_fetch(topics={"orders": (0,)}), until=expect.offset_fetch({"orders": {0: -1}}))

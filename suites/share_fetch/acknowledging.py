"""How members acknowledge the records that they acquired."""

from collections.abc import Mapping

from harness.scenario import Conversation, GroupRef, ask, expect, scenario
from harness.scenario.ask_shares import ACCEPT, GAP, REJECT, RELEASE, RENEW, Acknowledged
from suites.share_fetch.readers import (
    FIRST_MS,
    RELEASED_MS,
    Options,
    Reader,
    another,
    has_state,
    reader,
    topic_of,
    writes,
)

TAKES = "SharePartition#acknowledge"
TAKES_BATCH = "SharePartition#acknowledgeCompleteBatch"
TAKES_OFFSETS = "SharePartition#acknowledgePerOffsetBatchRecords"
VALIDATES = "KafkaApis#validateAcknowledgementBatches"
FINDS = "SharePartition#fetchSubMapForAcknowledgementBatch"
RENEWS = "SharePartition#acknowledgeCompleteBatch, KIP-1222"


@scenario("share_fetch/acknowledging/accepted", source=TAKES_BATCH, clauses=("SF-09",))
def accepted_records_are_done(conversation: Conversation) -> None:
    """Accepted records are not delivered again."""
    ana = reader(conversation, 3)
    ana.fetches((0, 2, 1))
    ana.acknowledges((0, 2, (ACCEPT,)))
    writes(ana.actor, ana.topic, 2)
    ana.fetches((3, 4, 1))


@scenario("share_fetch/acknowledging/released", source=TAKES_BATCH, clauses=("SF-09",))
def released_records_return(conversation: Conversation) -> None:
    """Released records are delivered again, with delivery count 2."""
    ana = reader(conversation, 3)
    bob = another(conversation, ana)
    ana.fetches((0, 2, 1))
    ana.acknowledges((0, 2, (RELEASE,)))
    bob.fetches((0, 2, 2))


@scenario("share_fetch/acknowledging/rejected", source=TAKES_BATCH, clauses=("SF-09",))
def rejected_records_are_done(conversation: Conversation) -> None:
    """Rejected records are not delivered again."""
    ana = reader(conversation, 2)
    ana.fetches((0, 1, 1))
    ana.acknowledges((0, 1, (REJECT,)))
    ana.gets_nothing()


@scenario("share_fetch/acknowledging/gap", source=TAKES_BATCH, clauses=("SF-09",))
def missing_records_are_done(conversation: Conversation) -> None:
    """Records that a member acknowledges as gaps are not delivered again."""
    ana = reader(conversation, 2)
    ana.fetches((0, 1, 1))
    ana.acknowledges((0, 1, (GAP,)))
    ana.gets_nothing()


@scenario("share_fetch/acknowledging/one-by-one", source=TAKES_OFFSETS, clauses=("SF-09",))
def each_record_has_a_type(conversation: Conversation) -> None:
    """An acknowledgement batch may have a type for each record; only released ones are delivered again."""
    ana = reader(conversation, 5)
    ana.fetches((0, 4, 1))
    ana.acknowledges((0, 4, (ACCEPT, RELEASE, REJECT, RELEASE, GAP)))
    ana.fetches((1, 1, 2), (3, 3, 2))


@scenario("share_fetch/acknowledging/neighbours", source=TAKES_OFFSETS, clauses=("SF-09",))
def neighbours_come_as_a_range(conversation: Conversation) -> None:
    """Consecutive released records are acquired as one range since 4.2, and one by one before."""
    ana = reader(conversation, 5)
    ana.fetches((0, 4, 1))
    ana.acknowledges((0, 4, (ACCEPT, RELEASE, RELEASE, RELEASE, ACCEPT)))
    ana.fetches()
    ana.acknowledges((1, 3, (ACCEPT,)))


@scenario("share_fetch/acknowledging/in-parts", source=TAKES_OFFSETS, clauses=("SF-09",))
def a_batch_may_be_acknowledged_in_parts(conversation: Conversation) -> None:
    """Parts of an acquired batch may be acknowledged one after the other, in any order."""
    ana = reader(conversation, 6)
    ana.fetches((0, 5, 1))
    ana.acknowledges((4, 5, (ACCEPT,)))
    ana.acknowledges((0, 2, (ACCEPT,)))
    ana.acknowledges((3, 3, (RELEASE,)))
    ana.fetches((3, 3, 2))


@scenario("share_fetch/acknowledging/several-batches", source=TAKES, clauses=("SF-09",))
def one_acknowledgement_may_span_batches(conversation: Conversation) -> None:
    """An acknowledgement may cover several batches that were acquired separately."""
    ana = reader(conversation, 2)
    ana.fetches((0, 1, 1))
    writes(ana.actor, ana.topic, 3)
    ana.fetches((2, 4, 1))
    ana.acknowledges((0, 4, (ACCEPT,)))
    ana.gets_nothing()


@scenario(
    "share_fetch/acknowledging/with-a-fetch", source="KafkaApis#handleShareFetchRequest", clauses=("SF-09",)
)
def a_fetch_brings_acknowledgements(conversation: Conversation) -> None:
    """A ShareFetch may acknowledge records, and returns the result beside the newly acquired records."""
    ana = reader(conversation, 2)
    ana.fetches((0, 1, 1))
    writes(ana.actor, ana.topic, 2)
    ana.sends_fetch(acks=((0, 1, (ACCEPT,)),))
    expected = expect.share_fetch(acquired={ana.topic: {0: ((2, 3, 1),)}})
    ana.actor.receives(expected)


@scenario(
    "share_fetch/acknowledging/released-with-a-fetch",
    source="SharePartition#nextFetchOffset",
    clauses=("SF-09",),
)
def a_fetch_does_not_get_what_it_releases(conversation: Conversation) -> None:
    """A ShareFetch does not acquire the records that it releases, but a later one does."""
    ana = reader(conversation, 2)
    ana.fetches((0, 1, 1))
    ana.sends_fetch(acks=((0, 1, (RELEASE,)),), max_wait_ms=1_000)
    ana.actor.receives(expect.share_fetch())
    ana.closes()
    conversation.elapses(RELEASED_MS)
    ana.fetches()


@scenario("share_fetch/acknowledging/again", source=TAKES, clauses=("SF-10",))
def settled_records_may_be_acknowledged_again(conversation: Conversation) -> None:
    """Records before the start offset may be acknowledged again, with any type."""
    ana = reader(conversation, 3)
    ana.fetches((0, 2, 1))
    ana.acknowledges((0, 2, (ACCEPT,)))
    ana.acknowledges((0, 2, (RELEASE,)))
    ana.gets_nothing()


@scenario("share_fetch/acknowledging/in-between-again", source=TAKES_OFFSETS, clauses=("SF-10", "SF-21"))
def records_behind_others_are_acknowledged_once(conversation: Conversation) -> None:
    """Accepted records behind in-flight ones cannot be acknowledged again: INVALID_RECORD_STATE."""
    ana = reader(conversation, 4)
    ana.fetches((0, 3, 1))
    ana.acknowledges((2, 3, (ACCEPT,)))
    ana.acknowledges((2, 3, (ACCEPT,)), error_code="INVALID_RECORD_STATE")
    ana.acknowledges((0, 1, (ACCEPT,)))


@scenario("share_fetch/acknowledging/of-another", source=TAKES_BATCH, clauses=("SF-21",))
def records_of_another_member_are_not_ones_own(conversation: Conversation) -> None:
    """Acknowledging records that another member has acquired gets INVALID_RECORD_STATE."""
    ana = reader(conversation, 2)
    bob = another(conversation, ana)
    ana.fetches((0, 1, 1))
    bob.fetches(max_wait_ms=100)
    bob.acknowledges((0, 1, (ACCEPT,)), error_code="INVALID_RECORD_STATE")
    bob.acknowledges((1, 1, (ACCEPT,)), error_code="INVALID_RECORD_STATE")
    ana.acknowledges((0, 1, (ACCEPT,)))


@scenario("share_fetch/acknowledging/beyond", source=FINDS, clauses=("SF-21",))
def records_that_nobody_has_are_refused(conversation: Conversation) -> None:
    """Acknowledging offsets beyond the acquired ones gets INVALID_REQUEST for the whole batch."""
    ana = reader(conversation, 3)
    ana.fetches((0, 2, 1))
    ana.acknowledges((0, 3, (ACCEPT,)), error_code="INVALID_REQUEST")
    ana.acknowledges((7, 9, (ACCEPT,)), error_code="INVALID_REQUEST")
    ana.acknowledges((0, 2, (ACCEPT,)))


@scenario("share_fetch/acknowledging/nothing-acquired", source=FINDS, clauses=("SF-21",))
def nothing_acquired_is_nothing_to_acknowledge(conversation: Conversation) -> None:
    """An acknowledgement without records in flight gets INVALID_RECORD_STATE."""
    ana = reader(conversation)
    ana.fetches(max_wait_ms=FIRST_MS)
    ana.acknowledges((0, 0, (ACCEPT,)), error_code="INVALID_RECORD_STATE")


@scenario(
    "share_fetch/acknowledging/all-or-nothing",
    source="SharePartition#rollbackOrProcessStateUpdates",
    clauses=("SF-21",),
)
def acknowledgements_of_a_partition_go_together(conversation: Conversation) -> None:
    """If one acknowledgement batch of a partition is refused, none of its batches takes effect."""
    ana = reader(conversation, 4)
    ana.fetches((0, 3, 1))
    ana.acknowledges((0, 1, (ACCEPT,)), (2, 9, (ACCEPT,)), error_code="INVALID_REQUEST")
    ana.acknowledges((0, 3, (RELEASE,)))
    ana.fetches()


@scenario("share_fetch/acknowledging/wrong-shapes", source=VALIDATES, clauses=("SF-11",))
def acknowledgements_have_a_shape(conversation: Conversation) -> None:
    """Reversed or overlapping batches, a wrong number of types, or unknown types get INVALID_REQUEST."""
    ana = reader(conversation, 4)
    ana.fetches((0, 3, 1))
    shapes: tuple[Acknowledged, ...] = (
        ((2, 1, (ACCEPT,)),),
        ((2, 3, (ACCEPT,)), (0, 1, (ACCEPT,))),
        ((0, 3, ()),),
        ((0, 3, (ACCEPT, ACCEPT)),),
        ((0, 3, (5,)),),
        ((0, 3, (-1,)),),
        ((0, 3, (RENEW,)),),
    )
    for shape in shapes:
        ana.acknowledges(*shape, error_code="INVALID_REQUEST")
    ana.acknowledges((0, 3, (ACCEPT,)))


@scenario("share_fetch/acknowledging/touching", source=VALIDATES, clauses=("SF-11",))
def batches_may_touch(conversation: Conversation) -> None:
    """Batches may touch, but then acknowledge a record twice, which gets INVALID_RECORD_STATE."""
    ana = reader(conversation, 4)
    ana.fetches((0, 3, 1))
    ana.acknowledges((0, 2, (ACCEPT,)), (2, 3, (ACCEPT,)), error_code="INVALID_RECORD_STATE")


@scenario("share_fetch/acknowledging/wrong-shape-in-a-fetch", source=VALIDATES, clauses=("SF-11",))
def a_fetch_goes_on_beside_a_wrong_shape(conversation: Conversation) -> None:
    """A ShareFetch whose acknowledgement is refused still fetches records."""
    ana = reader(conversation, 1)
    ana.fetches((0, 0, 1))
    writes(ana.actor, ana.topic, 1)
    ana.sends_fetch(acks=((1, 0, (ACCEPT,)),))
    ana.actor.receives(expect.share_fetch(acquired={ana.topic: {0: ((1, 1, 1),)}}))


@scenario("share_fetch/acknowledging/unknown", source="KafkaApis#handleAcknowledgements", clauses=("SF-14",))
def unknown_partitions_are_refused_by_themselves(conversation: Conversation) -> None:
    """An acknowledgement of an unknown partition or topic is refused without affecting the others."""
    ana = reader(conversation, 1)
    ana.fetches((0, 0, 1))
    nowhere = "6f9b3bd6-0000-4000-8000-000000000001"
    all_of_it: Acknowledged = ((0, 0, (ACCEPT,)),)
    topics: Mapping[str | GroupRef, Mapping[int, Acknowledged]] = {
        ana.topic: {0: all_of_it, 7: all_of_it},
        nowhere: {0: all_of_it},
    }
    asked = ask.share_acknowledge(
        member_id=ana.member_id,
        share_session_epoch=1,
        topics=topics,
    )
    results: Mapping[str | GroupRef, Mapping[int, str]] = {
        ana.topic: {0: "NONE", 7: "UNKNOWN_TOPIC_OR_PARTITION"},
        nowhere: {0: "UNKNOWN_TOPIC_ID"},
    }
    ana.actor.asks(asked, expect.share_acknowledge(results=results))


@scenario("share_fetch/acknowledging/not-fetched", source=TAKES, clauses=("SF-14",))
def a_partition_that_nobody_has_fetched_is_unknown(conversation: Conversation) -> None:
    """Acknowledging a partition that the group never fetched gets UNKNOWN_TOPIC_OR_PARTITION."""
    actor = conversation.actor("ana")
    topic = topic_of(conversation, actor, 1, partitions=2)
    has_state(actor, topic)
    ana = Reader(actor, topic)
    ana.fetches((0, 0, 1))
    ana.acknowledges((0, 0, (ACCEPT,)), partition=1, error_code="UNKNOWN_TOPIC_OR_PARTITION")
    ana.acknowledges((0, 0, (ACCEPT,)))


@scenario(
    "share_fetch/acknowledging/without-batches", source="KafkaApis#handleAcknowledgements", clauses=("SF-11",)
)
def a_partition_without_batches_is_left_out(conversation: Conversation) -> None:
    """A ShareAcknowledge of a partition without batches has no result for it."""
    ana = reader(conversation, 1)
    ana.fetches((0, 0, 1))
    asked = ask.share_acknowledge(member_id=ana.member_id, share_session_epoch=1, topics={ana.topic: {0: ()}})
    ana.actor.asks(asked, expect.share_acknowledge(results={}))
    ana.epoch = 2
    ana.acknowledges((0, 0, (ACCEPT,)))


@scenario("share_fetch/acknowledging/renewal-unannounced", source=VALIDATES, clauses=("SF-12",))
def a_renewal_has_to_be_announced(conversation: Conversation) -> None:
    """A renewal in a ShareAcknowledge v2 that does not announce it gets INVALID_REQUEST."""
    ana = reader(conversation, 2)
    ana.fetches((0, 1, 1))
    ana.acknowledges((0, 1, (RENEW,)), version=2, error_code="INVALID_REQUEST")
    ana.acknowledges((0, 1, (RENEW,)), version=2, renews=True)
    ana.acknowledges((0, 1, (ACCEPT,)))


@scenario(
    "share_fetch/acknowledging/renewing-fetch", source="KafkaApis#handleShareFetchRequest", clauses=("SF-13",)
)
def a_fetch_that_renews_fetches_nothing(conversation: Conversation) -> None:
    """A ShareFetch v2 that renews locks must not request records, else it gets INVALID_REQUEST."""
    ana = reader(conversation, 2)
    ana.fetches((0, 1, 1))
    writes(ana.actor, ana.topic, 1)
    none = Options(min_bytes=0, max_bytes=0, max_records=0, max_wait_ms=0, is_renew_ack=True)
    asking: tuple[Options, ...] = ({"min_bytes": 1}, {"max_bytes": 1}, {"max_records": 1}, {"max_wait_ms": 1})
    for asked in asking:
        wanted: Options = {**none, **asked}
        ana.sends_fetch(epoch=1, version=2, **wanted)
        ana.actor.receives(expect.share_fetch(error_code="INVALID_REQUEST"))
    ana.sends_fetch(acks=((0, 1, (RENEW,)),), version=2, **none)
    ana.actor.receives(expect.share_fetch(acknowledged={ana.topic: {0: "NONE"}}))
    ana.fetches((2, 2, 1))


@scenario("share_fetch/acknowledging/renewal-refused", source=RENEWS, clauses=("SF-12",))
def a_group_may_have_no_renewals(conversation: Conversation) -> None:
    """With share.renew.acknowledge.enable false, a renewal gets INVALID_RECORD_STATE since 4.3."""
    ana = reader(conversation, 2)
    ana.actor.asks(
        ask.group_configs({"share.renew.acknowledge.enable": "false"}),
        expect.response("IncrementalAlterConfigs"),
    )
    ana.actor.awaits_metadata()
    ana.fetches((0, 1, 1))
    asked = ask.share_acknowledge(
        version=2,
        member_id=ana.member_id,
        share_session_epoch=1,
        topics={ana.topic: {0: ((0, 1, (RENEW,)),)}},
        is_renew_ack=True,
    )
    ana.actor.asks(asked, expect.share_acknowledge())


@scenario(
    "share_fetch/acknowledging/parked-after-release",
    source="DelayedShareFetch#tryComplete",
    clauses=("SF-29",),
)
def a_waiting_fetch_looks_before_the_release_is_written(conversation: Conversation) -> None:
    """A waiting ShareFetch is not woken by a release, but checks again at the end of its wait."""
    ana = reader(conversation, 2)
    bob = another(conversation, ana)
    ana.fetches((0, 1, 1))
    bob.sends_fetch(max_wait_ms=3_000)
    ana.acknowledges((0, 1, (RELEASE,)))
    bob.actor.receives(expect.share_fetch())


@scenario(
    "share_fetch/acknowledging/parked-after-accept",
    source="DelayedShareFetch#tryComplete",
    clauses=("SF-29",),
)
def a_waiting_fetch_goes_on_waiting_after_an_accept(conversation: Conversation) -> None:
    """A waiting ShareFetch is answered when records are written, not when others are accepted."""
    ana = reader(conversation, 2)
    bob = another(conversation, ana)
    ana.fetches((0, 1, 1))
    bob.sends_fetch(max_wait_ms=4_000)
    ana.acknowledges((0, 1, (ACCEPT,)))
    bob.actor.stays_parked(for_ms=200)
    writes(ana.actor, ana.topic, 1)
    bob.is_given((2, 2, 1))

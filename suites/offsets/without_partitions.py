"""Requests that name a topic without any of its partitions."""

from harness.scenario import Conversation, ask, expect, scenario
from suites.transactions.producers import announced, ends, sees

NOTHING_OF = ({"orders": ()}, {"no-such-topic": ()}, {"no-such-topic": (), "orders": (), "payments": (0,)})


@scenario(
    "offsets/without-partitions/commit",
    source="KafkaApis#handleOffsetCommitRequest",
    clauses=("OC-22",),
)
def a_topic_of_which_nothing_is_committed_is_no_error(conversation: Conversation) -> None:
    """An OffsetCommit of a topic without partitions is not an error; releases differ in listing the topic."""
    ana = conversation.actor("ana")

    for named in NOTHING_OF:
        offsets = {topic: dict.fromkeys(partitions, 7) for topic, partitions in named.items()}
        ana.sends(ask.offset_commit(generation_id=-1, member_id="", topics=offsets))
        ana.receives(expect.response("OffsetCommit"))
    ana.asks(ask.offset_fetch(), expect.offset_fetch({"payments": {0: 7}}))


@scenario(
    "offsets/without-partitions/transactional-commit",
    source="KafkaApis#handleTxnOffsetCommitRequest",
    clauses=("TC-12",),
)
def a_topic_of_which_nothing_is_committed_in_a_transaction_is_no_error(conversation: Conversation) -> None:
    """A TxnOffsetCommit of a topic without partitions is not an error."""
    ana = conversation.actor("ana")
    producer = announced(ana)

    for named in NOTHING_OF:
        offsets = {topic: dict.fromkeys(partitions, 7) for topic, partitions in named.items()}
        ana.asks(producer.commits(offsets), expect.response("TxnOffsetCommit"))
    ends(producer, committed=True)
    sees(ana, {"payments": {0: 7}})


@scenario(
    "offsets/without-partitions/delete",
    source="KafkaApis#handleOffsetDeleteRequest",
    clauses=("OD-06",),
)
def a_topic_of_which_nothing_is_deleted_is_no_error(conversation: Conversation) -> None:
    """An OffsetDelete of a topic without partitions is not an error."""
    ana = conversation.actor("ana")
    ana.sends(
        ask.offset_commit(generation_id=-1, member_id="", topics={"orders": {0: 7}, "payments": {0: 7}})
    )
    ana.receives(expect.response("OffsetCommit"))

    for named in NOTHING_OF:
        ana.asks(ask.offset_delete(topics=named), error_code="NONE")
    ana.repeats(ask.offset_fetch(), until=expect.offset_fetch({"orders": {0: 7}}))


@scenario(
    "offsets/without-partitions/fetch",
    source="KafkaApis#handleOffsetFetchRequest",
    clauses=("OF-01",),
)
def a_topic_of_which_nothing_is_fetched_is_no_error(conversation: Conversation) -> None:
    """An OffsetFetch of a topic without partitions is not an error."""
    ana = conversation.actor("ana")
    ana.sends(
        ask.offset_commit(generation_id=-1, member_id="", topics={"orders": {0: 7}, "payments": {0: 7}})
    )
    ana.receives(expect.response("OffsetCommit"))

    for named in NOTHING_OF:
        ana.asks(ask.offset_fetch(topics=named), expect.response("OffsetFetch", error_code="NONE"))
    ana.asks(ask.offset_fetch(), expect.offset_fetch({"orders": {0: 7}, "payments": {0: 7}}))

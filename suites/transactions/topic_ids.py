"""TxnOffsetCommit v6, which names topics by their ids."""

from harness.scenario import Conversation, Pattern, ask, expect, scenario, sweep
from suites.offsets.topics import NO_ID, UNKNOWN_ID, committed_by_id, id_of
from suites.transactions.producers import Producer, initialised, sees

HANDLES = "KafkaApis#handleTxnOffsetCommitRequest"
VALIDATES = "OffsetMetadataManager#validateTransactionalOffsetCommit"
BY_ID = 6


@scenario("transactions/topic-id/commit", source=HANDLES, clauses=("TC-39", "OF-20"))
def version_6_commits_by_topic_id(conversation: Conversation) -> None:
    """TxnOffsetCommit v6 refuses unknown or zero topic ids with UNKNOWN_TOPIC_ID, and unknown partitions."""
    ana = conversation.actor("ana")
    producer = initialised(ana)
    orders = id_of(ana, "orders")

    topics = (committed_by_id(orders, 0, 99), committed_by_id(UNKNOWN_ID, 0), committed_by_id(NO_ID, 1))
    ana.asks(producer.commits({}, version=BY_ID, topics=topics), expect.response("TxnOffsetCommit"))
    sees(ana, {"orders": {0: -1}})
    _commits(producer)
    sees(ana, {"orders": {0: 7, 1: -1}})


@scenario("transactions/topic-id/commit-nothing-known", source=HANDLES, clauses=("TC-39",))
def an_unknown_id_never_reaches_the_coordinator(conversation: Conversation) -> None:
    """TxnOffsetCommit v6 with only unknown topic ids gets UNKNOWN_TOPIC_ID, for any group."""
    ana = conversation.actor("ana")
    producer = initialised(ana)

    ana.sends(producer.commits({}, version=BY_ID, generation_id=3, topics=(committed_by_id(UNKNOWN_ID, 0),)))
    refused: Pattern = {"topic_id": UNKNOWN_ID, "partitions": ({"error_code": "UNKNOWN_TOPIC_ID"},)}
    ana.receives(expect.response("TxnOffsetCommit", topics=(refused,)))
    ana.asks(ask.describe_groups(), expect.describe_groups(error_code="NONE", group_state="Dead"))


@scenario("transactions/topic-id/commit-to-missing-group", source=VALIDATES, clauses=("TC-40",))
def version_6_names_a_missing_group(conversation: Conversation) -> None:
    """TxnOffsetCommit v6 with a generation to a missing group gets GROUP_ID_NOT_FOUND; without, NONE."""
    ana = conversation.actor("ana")
    producer = initialised(ana)
    orders = id_of(ana, "orders")

    for generation_id, error in ((3, "GROUP_ID_NOT_FOUND"), (-1, "NONE")):
        topics = (committed_by_id(orders, 0),)
        ana.sends(producer.commits({}, version=BY_ID, generation_id=generation_id, topics=topics))
        reported: Pattern = {"topic_id": orders, "partitions": ({"partition_index": 0, "error_code": error},)}
        ana.receives(expect.response("TxnOffsetCommit", topics=(reported,)))
    _commits(producer)
    sees(ana, {"orders": {0: 7}})


@scenario(
    "transactions/versions/commit-by-id",
    source=HANDLES,
    clauses=("TC-39", "TC-12", "OF-16", "OF-20"),
    sweep=sweep("TxnOffsetCommit", BY_ID, BY_ID),
)
def a_member_commits_by_topic_id(conversation: Conversation, version: int) -> None:
    """TxnOffsetCommit v{version} names topics by id; a non-member gets UNKNOWN_MEMBER_ID."""
    (ana,) = conversation.stable_group("ana")
    producer = initialised(ana)
    orders = id_of(ana, "orders")

    for member_id, generation_id, error in (
        ("nobody", ana.generation_id, "UNKNOWN_MEMBER_ID"),
        (ana.member_id, ana.generation_id - 1, "ILLEGAL_GENERATION"),
        (ana.member_id, ana.generation_id, "NONE"),
    ):
        topics = (committed_by_id(orders, 0),)
        ana.sends(
            producer.commits(
                {}, version=version, member_id=member_id, generation_id=generation_id, topics=topics
            )
        )
        reported: Pattern = {"topic_id": orders, "partitions": ({"partition_index": 0, "error_code": error},)}
        ana.receives(expect.response("TxnOffsetCommit", topics=(reported,)))
    sees(ana, {"orders": {0: -1}})
    _commits(producer)
    sees(ana, {"orders": {0: 7}})


def _commits(producer: Producer) -> None:
    """Commit the transaction of a producer that added no group, which raises its epoch."""
    producer.actor.sends(producer.ends(committed=True, version=5))
    producer.actor.receives(expect.response("EndTxn", error_code="NONE", producer_epoch=1))

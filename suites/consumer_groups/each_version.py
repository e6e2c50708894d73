"""Consumer groups in every version of the APIs that they share with other groups."""

from harness.scenario import Conversation, ask, containing, expect, scenario, sweep
from harness.scenario.messages import Number
from suites.consumer_groups.validation import sole_member
from suites.transactions.producers import ORDER_0, announced, ends, sees


@scenario(
    "consumer_groups/versions/list",
    source="ConsumerGroup#asListedGroup",
    clauses=("LG-13",),
    sweep=sweep("ListGroups", 0, 5),
)
def a_consumer_group_is_listed(conversation: Conversation, version: int) -> None:
    """ListGroups v{version} lists a consumer group with protocol type consumer, even when empty."""
    ana, _ = sole_member(conversation)
    listed = containing({"group_id": conversation.group("main"), "protocol_type": "consumer"})

    ana.asks(ask.list_groups(version=version), expect.list_groups(error_code="NONE", groups=listed))
    ana.leaves()
    ana.asks(ask.list_groups(version=version), expect.list_groups(error_code="NONE", groups=listed))


@scenario(
    "consumer_groups/versions/transactional",
    source="OffsetMetadataManager#validateTransactionalOffsetCommit",
    clauses=("TC-36", "TC-37"),
    sweep=sweep("TxnOffsetCommit", 3, 5),
)
def a_member_commits_in_a_transaction(conversation: Conversation, version: int) -> None:
    """TxnOffsetCommit v{version} is accepted in the member's epoch; a later one is ILLEGAL_GENERATION."""
    ana, _ = sole_member(conversation)
    producer = announced(ana)
    epochs: tuple[tuple[Number, str], ...] = ((ana.epoch + 1, "ILLEGAL_GENERATION"), (ana.epoch, "NONE"))

    for epoch, error in epochs:
        ana.asks(
            producer.commits(ORDER_0, version=version, member_id=ana.member_id, generation_id=epoch),
            expect.txn_offset_commit({"orders": {0: error}}),
        )
    sees(ana, {"orders": {0: -1}})
    ends(producer, committed=True)
    sees(ana, {"orders": {0: 42}})

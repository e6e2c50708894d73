from collections.abc import Callable

import pytest

from harness.scenario import (
    AnswerRef,
    Conversation,
    GroupRef,
    add_offsets_to_txn,
    create_topic,
    create_topic_response,
    delete_topic,
    delete_topic_response,
    end_txn,
    end_txn_response,
    init_producer_id,
    init_producer_id_response,
    offset_commit,
    offset_commit_response,
    record,
    scenario,
    txn_offset_commit,
    txn_offset_commit_response,
    write_txn_markers,
    write_txn_markers_response,
)
from harness.scenario.messages import Request
from harness.scenario.script import Receive, Send
from harness.wire.schema import request_shape


def asks(producer: AnswerRef, version: int) -> dict[str, Callable[[], Request]]:
    topics = {"orders": {0: 1}}
    return {
        "TxnOffsetCommit": lambda: txn_offset_commit(
            version=version, producer_id=producer, producer_epoch=0, topics=topics
        ),
        "AddOffsetsToTxn": lambda: add_offsets_to_txn(
            version=version, producer_id=producer, producer_epoch=0
        ),
        "EndTxn": lambda: end_txn(version=version, producer_id=producer, producer_epoch=0, committed=True),
        "InitProducerId": lambda: init_producer_id(version=version),
    }


@pytest.mark.parametrize(
    ("api", "version"),
    [
        *(("TxnOffsetCommit", version) for version in range(6)),
        *(("AddOffsetsToTxn", version) for version in range(5)),
        *(("EndTxn", version) for version in range(6)),
        *(("InitProducerId", version) for version in range(6)),
    ],
)
def test_a_request_has_only_fields_of_its_version(api: str, version: int) -> None:
    asked = asks(AnswerRef(0, ("producer_id",)), version)[api]()

    assert asked.api == api
    assert asked.fields.keys() <= request_shape(api, version).fields.keys()


@scenario("transactions/test/one", source="TransactionCoordinator#x")
def a_whole_transaction(conversation: Conversation) -> None:
    """A producer has all builders say what they can, with a topic of its own."""
    ana = conversation.actor("ana")
    topic = conversation.group("topic")
    ana.sends(init_producer_id())
    reported = ana.receives(init_producer_id_response(error_code="NONE", producer_epoch=0))
    ana.sends(create_topic(topic))
    ana.receives(create_topic_response(error_code="NONE"))
    ana.sends(
        txn_offset_commit(
            producer_id=reported["producer_id"],
            producer_epoch=reported["producer_epoch"] + 1,
            topics={topic: {0: (1, None)}},
        )
    )
    ana.receives(txn_offset_commit_response({topic: {0: "NONE"}}))
    ana.sends(
        write_txn_markers(
            producer_id=reported["producer_id"],
            producer_epoch=reported["producer_epoch"],
            committed=True,
            topics={"__consumer_offsets": (0,)},
        )
    )
    ana.receives(write_txn_markers_response({"__consumer_offsets": {0: "NONE"}}))
    ana.sends(end_txn(producer_id=reported["producer_id"], producer_epoch=0, committed=False))
    ana.receives(end_txn_response(error_code="NONE"))
    ana.sends(offset_commit(generation_id=-1, member_id="", topics={topic: {0: 1}}))
    ana.receives(offset_commit_response({topic: {0: "NONE"}}))
    ana.sends(delete_topic(topic))
    ana.receives(delete_topic_response(error_code="NONE"))


def test_a_transaction_is_reported_in_the_scenarios_own_names() -> None:
    script = record(a_whole_transaction)
    sent = {step.api: step.fields for step in script.steps if isinstance(step, Send)}

    assert sent["InitProducerId"]["transactional_id"] == GroupRef("txn")
    assert sent["TxnOffsetCommit"]["transactional_id"] == GroupRef("txn")
    assert sent["TxnOffsetCommit"]["group_id"] == GroupRef("main")
    assert sent["DeleteTopics"]["topic_names"] == (GroupRef("topic"),)
    partition = {"partition_index": 0, "committed_offset": 1, "committed_metadata": None}
    assert sent["TxnOffsetCommit"]["topics"] == ({"name": GroupRef("topic"), "partitions": (partition,)},)


def test_what_is_expected_of_a_marker_is_expected_of_its_partitions() -> None:
    script = record(a_whole_transaction)
    expected = next(
        step.fields for step in script.steps if isinstance(step, Receive) and step.api == "WriteTxnMarkers"
    )

    assert expected.keys() == {"markers"}

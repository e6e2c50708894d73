from collections.abc import Callable

import pytest

from harness.scenario import AnswerRef, Conversation, GroupRef, ask, expect, record, scenario
from harness.scenario.messages import Request
from harness.scenario.script import Receive, Send
from harness.wire.schema import request_shape


def asks(producer: AnswerRef, version: int) -> dict[str, Callable[[], Request]]:
    topics = {"orders": {0: 1}}
    return {
        "TxnOffsetCommit": lambda: ask.txn_offset_commit(
            version=version, producer_id=producer, producer_epoch=0, topics=topics
        ),
        "AddOffsetsToTxn": lambda: ask.add_offsets_to_txn(
            version=version, producer_id=producer, producer_epoch=0
        ),
        "EndTxn": lambda: ask.end_txn(
            version=version, producer_id=producer, producer_epoch=0, committed=True
        ),
        "InitProducerId": lambda: ask.init_producer_id(version=version),
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
    given = ana.asks(ask.init_producer_id(), expect.init_producer_id(error_code="NONE", producer_epoch=0))
    producer_id, epoch = given["producer_id"], given["producer_epoch"]
    ana.asks(ask.create_topic(topic), expect.create_topic(error_code="NONE"))
    commit = ask.txn_offset_commit(
        producer_id=producer_id, producer_epoch=epoch + 1, topics={topic: {0: (1, None)}}
    )
    ana.asks(commit, expect.txn_offset_commit({topic: {0: "NONE"}}))
    log = {"__consumer_offsets": (0,)}
    markers = ask.write_txn_markers(producer_id=producer_id, producer_epoch=epoch, committed=True, topics=log)
    ana.asks(markers, expect.write_txn_markers({"__consumer_offsets": {0: "NONE"}}))
    ana.asks(ask.end_txn(producer_id=producer_id, producer_epoch=0, committed=False), error_code="NONE")
    plain_commit = ask.offset_commit(generation_id=-1, member_id="", topics={topic: {0: 1}})
    ana.asks(plain_commit, expect.offset_commit({topic: {0: "NONE"}}))
    ana.asks(ask.delete_topic(topic), expect.delete_topic(error_code="NONE"))


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

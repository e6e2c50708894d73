"""Versions that kio lacks, byte by byte, and what a 4.4 makes of them."""

from uuid import UUID

import pytest

from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import GroupId, TopicId
from reference_coordinator.messages import (
    DeletableGroupResult,
    DeleteGroupsResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
)
from reference_coordinator.profile.api_versions import Api, served_ranges
from reference_coordinator.profile.profiles import profile_for
from reference_coordinator.tests.wire_broker import WireBroker
from reference_coordinator.tests.wire_producer import Producer
from reference_coordinator.wire import RequestHeader, read_request, write_response

ORDERS = UUID("6bd2e1c5-5e0a-4bd5-8cde-6a4ae2f2b0aa")
COMMIT_V6 = bytes.fromhex(
    "001c 0006 00000007 0001 63 00"  # key, version, correlation id, client id, no tags
    "02 78 02 67 0000000000000003 0001"  # transactional id, group id, producer id, epoch
    "00000005 02 6d 00"  # generation, member id, no instance
    "02 6bd2e1c55e0a4bd58cde6a4ae2f2b0aa"  # one topic: its id
    "02 00000001 000000000000002a ffffffff 02 79 00 00 00"  # one partition: offset 42, no epoch, metadata
)


def test_a_commit_of_version_6_is_read_as_kafka_writes_it() -> None:
    message = read_request(COMMIT_V6, ranges=served_ranges(profile_for("4.4"))).message

    assert isinstance(message, TxnOffsetCommitRequest)
    assert (message.transactional_id, message.group_id, message.member_id) == ("x", "g", "m")
    assert (message.producer_id, message.producer_epoch, message.generation_id) == (3, 1, 5)
    (topic,) = message.topics
    (partition,) = topic.partitions
    assert (topic.name, topic.topic_id) == ("", str(ORDERS))
    assert (partition.partition_index, partition.committed_offset, partition.committed_metadata) == (
        1,
        42,
        "y",
    )


def test_an_answer_of_version_6_is_written_as_kafka_reads_it() -> None:
    partition = OffsetCommitResponsePartition(partition_index=1, error_code=Errors.GROUP_ID_NOT_FOUND)
    topic = OffsetCommitResponseTopic(name="orders", topic_id=TopicId(str(ORDERS)), partitions=(partition,))
    header = RequestHeader(api=Api.TXN_OFFSET_COMMIT, api_version=6, correlation_id=7, client_id=None)

    frame = write_response(header, TxnOffsetCommitResponse(topics=(topic,)))

    assert frame.hex() == f"00000007 00 00000000 02 {ORDERS.hex} 02 00000001 0045 00 00 00".replace(" ", "")


@pytest.mark.parametrize(("version", "message"), [(2, ""), (3, "00")])
def test_a_deleted_group_has_no_message_and_says_so_in_version_3(version: int, message: str) -> None:
    header = RequestHeader(api=Api.DELETE_GROUPS, api_version=version, correlation_id=7, client_id=None)
    result = DeletableGroupResult(group_id=GroupId("g"), error_code=Errors.NON_EMPTY_GROUP)

    frame = write_response(header, DeleteGroupsResponse(results=(result,)))

    assert frame.hex() == f"00000007 00 00000000 02 02 67 0044 {message} 00 00".replace(" ", "")


def commits(
    producer: Producer, *topics: tuple[UUID | None, int], generation_id: int = -1
) -> dict[object, int]:
    """Commit by topic id; return the errors by topic id and partition."""
    answer = producer.client.ask(
        "txn_offset_commit",
        6,
        **producer.names,
        group_id="g",
        generation_id=generation_id,
        topics=tuple(
            {
                "topic_id": topic_id,
                "partitions": ({"partition_index": index, "committed_offset": 7, "committed_metadata": ""},),
            }
            for topic_id, index in topics
        ),
    )
    return {
        (topic.topic_id, each.partition_index): each.error_code
        for topic in answer.topics
        for each in topic.partitions
    }


def test_a_transactional_commit_by_topic_id_is_judged_by_name_and_answered_by_id() -> None:
    producer = Producer(WireBroker("4.4"))
    known, unknown = producer.client.topic_id(), UUID(int=1)

    reported = commits(producer, (unknown, 0), (known, 0), (known, 99), (None, 0))

    assert reported == {
        (unknown, 0): Errors.UNKNOWN_TOPIC_ID,
        (known, 0): Errors.NONE,
        (known, 99): Errors.UNKNOWN_TOPIC_OR_PARTITION,
        (None, 0): Errors.UNKNOWN_TOPIC_ID,
    }
    assert producer.fetch() == -1
    assert producer.end(5) == Errors.NONE
    assert producer.fetch() == 7


def test_a_generation_of_a_missing_group_is_named_as_such_from_version_6_on() -> None:
    producer = Producer(WireBroker("4.4"))
    known = producer.client.topic_id()

    assert commits(producer, (known, 0), generation_id=3) == {(known, 0): Errors.GROUP_ID_NOT_FOUND}
    assert producer.commit(5, generation_id=3) == [Errors.ILLEGAL_GENERATION]
    assert commits(producer, (known, 0)) == {(known, 0): Errors.NONE}


def test_a_group_is_deleted_in_version_3() -> None:
    producer = Producer(WireBroker("4.4"))
    commits(producer, (producer.client.topic_id(), 0))
    producer.end(5)

    results = [producer.client.ask("delete_groups", 3, groups_names=("g",)).results[0] for _ in range(2)]

    assert [each.error_code for each in results] == [Errors.NONE, Errors.GROUP_ID_NOT_FOUND]
    assert [each.error_message for each in results] == [None, None]

"""Requests of transactions as they were read, to version-free messages."""

from collections.abc import Iterable
from typing import Final

from reference_coordinator.core.ids import TopicPartition
from reference_coordinator.messages import (
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    TxnOffsetCommitRequest,
)
from reference_coordinator.transactions.messages import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTransaction,
    EndTxnRequest,
    InitProducerIdRequest,
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from reference_coordinator.wire.reading import ReadEntity
from reference_coordinator.wire.topic_logs import topic_id_of

_FIRST_BATCHED_ADD_PARTITIONS: Final = 4


def init_producer_id(body: ReadEntity, _: int) -> InitProducerIdRequest:
    """Return the message of an InitProducerId."""
    return InitProducerIdRequest(
        transactional_id=body["transactional_id"],
        transaction_timeout_ms=body["transaction_timeout"],
        producer_id=body.get("producer_id", -1),
        producer_epoch=body.get("producer_epoch", -1),
    )


def add_partitions_to_txn(body: ReadEntity, version: int) -> AddPartitionsToTxnRequest:
    """Return the message of an AddPartitionsToTxn.

    Source: AddPartitionsToTxnRequest#normalizeRequest (4.3.1).
    """
    if version < _FIRST_BATCHED_ADD_PARTITIONS:
        old = AddPartitionsToTxnTransaction(
            transactional_id=body["v3_and_below_transactional_id"],
            producer_id=body["v3_and_below_producer_id"],
            producer_epoch=body["v3_and_below_producer_epoch"],
            verify_only=False,
            partitions=_partitions(body["v3_and_below_topics"]),
        )
        return AddPartitionsToTxnRequest(transactions=(old,))
    return AddPartitionsToTxnRequest(
        transactions=tuple(
            AddPartitionsToTxnTransaction(
                transactional_id=each["transactional_id"],
                producer_id=each["producer_id"],
                producer_epoch=each["producer_epoch"],
                verify_only=each["verify_only"],
                partitions=_partitions(each["topics"]),
            )
            for each in body["transactions"]
        )
    )


def _partitions(topics: Iterable[ReadEntity]) -> tuple[TopicPartition, ...]:
    return tuple(TopicPartition(topic["name"], index) for topic in topics for index in topic["partitions"])


def add_offsets_to_txn(body: ReadEntity, _: int) -> AddOffsetsToTxnRequest:
    """Return the message of an AddOffsetsToTxn."""
    return AddOffsetsToTxnRequest(
        transactional_id=body["transactional_id"],
        producer_id=body["producer_id"],
        producer_epoch=body["producer_epoch"],
        group_id=body["group_id"],
    )


def end_txn(body: ReadEntity, _: int) -> EndTxnRequest:
    """Return the message of an EndTxn."""
    return EndTxnRequest(
        transactional_id=body["transactional_id"],
        producer_id=body["producer_id"],
        producer_epoch=body["producer_epoch"],
        committed=body["committed"],
    )


def write_txn_markers(body: ReadEntity, _: int) -> WriteTxnMarkersRequest:
    """Return the message of a WriteTxnMarkers."""
    return WriteTxnMarkersRequest(
        markers=tuple(
            WritableTxnMarker(
                producer_id=marker["producer_id"],
                producer_epoch=marker["producer_epoch"],
                transaction_result=marker["transaction_result"],
                topics=tuple(
                    WritableTxnMarkerTopic(name=topic["name"], partition_indexes=topic["partition_indexes"])
                    for topic in marker["topics"]
                ),
                coordinator_epoch=marker["coordinator_epoch"],
                transaction_version=marker.get("transaction_version", 0),
            )
            for marker in body["markers"]
        )
    )


def txn_offset_commit(body: ReadEntity, _: int) -> TxnOffsetCommitRequest:
    """Return the message of a TxnOffsetCommit."""
    return TxnOffsetCommitRequest(
        transactional_id=body["transactional_id"],
        group_id=body["group_id"],
        producer_id=body["producer_id"],
        producer_epoch=body["producer_epoch"],
        generation_id=body.get("generation_id", -1),
        member_id=body.get("member_id", ""),
        group_instance_id=body.get("group_instance_id", None),
        topics=tuple(
            OffsetCommitRequestTopic(
                name=topic.get("name", ""),
                topic_id=topic_id_of(topic),
                partitions=tuple(
                    OffsetCommitRequestPartition(
                        partition_index=each["partition_index"],
                        committed_offset=each["committed_offset"],
                        committed_leader_epoch=each.get("committed_leader_epoch", -1),
                        committed_metadata=each["committed_metadata"],
                    )
                    for each in topic["partitions"]
                ),
            )
            for topic in body["topics"]
        ),
    )

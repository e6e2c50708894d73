"""Offsets of transactions, and the ends of these, for a coordinator under test."""

from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import (
    GenerationId,
    GroupId,
    GroupInstanceId,
    MemberId,
    ProducerEpoch,
    ProducerId,
    TransactionalId,
)
from reference_coordinator.core.map_order import partition_for
from reference_coordinator.core.records import EndTransactionMarker
from reference_coordinator.messages import (
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    TxnOffsetCommitRequest,
)
from reference_coordinator.profile.config import GroupCoordinatorConfig
from reference_coordinator.tests.kit import Broker


def end(broker: Broker, producer_id: int, *, committed: bool, group: str = "g") -> None:
    """Write the end of a producer's transaction to the log, and tell of it."""
    config = GroupCoordinatorConfig.from_properties(broker.properties)
    marker = EndTransactionMarker(
        partition=partition_for(group, config.offsets_topic_num_partitions),
        producer_id=ProducerId(producer_id),
        producer_epoch=ProducerEpoch(0),
        is_commit=committed,
    )
    broker.log.append(marker)
    broker.settle(broker.coordinator.transaction_ended(marker, now_ms=broker.now))


def txn_commit(
    offsets: dict[int, int],
    *,
    producer_id: int = 7,
    producer_epoch: int = 0,
    member_id: str = "",
    generation: int = -1,
    instance: str | None = None,
    metadata: dict[int, str] | None = None,
    group: str = "g",
    verification: Errors = Errors.NONE,
) -> TxnOffsetCommitRequest:
    """Offsets of topic `t` in a transaction; `metadata` is by partition."""
    return TxnOffsetCommitRequest(
        transactional_id=TransactionalId("x"),
        group_id=GroupId(group),
        producer_id=ProducerId(producer_id),
        producer_epoch=ProducerEpoch(producer_epoch),
        generation_id=GenerationId(generation),
        member_id=MemberId(member_id),
        group_instance_id=None if instance is None else GroupInstanceId(instance),
        topics=(
            OffsetCommitRequestTopic(
                name="t",
                partitions=tuple(
                    OffsetCommitRequestPartition(
                        partition_index=index,
                        committed_offset=offset,
                        committed_metadata=(metadata or {}).get(index, ""),
                    )
                    for index, offset in offsets.items()
                ),
            ),
        ),
        verification=verification,
    )

"""What members send, in short words."""

from collections.abc import Mapping

from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import (
    UNKNOWN_MEMBER_ID,
    GenerationId,
    GroupId,
    GroupInstanceId,
    MemberId,
    Millis,
    ProducerEpoch,
    ProducerId,
    TransactionalId,
)
from reference_coordinator.messages import (
    DeleteGroupsRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    LeaveGroupRequest,
    MemberIdentity,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetDeleteRequest,
    OffsetDeleteRequestTopic,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    TxnOffsetCommitRequest,
)

SESSION_MS = 10_000
REBALANCE_MS = 20_000


def join(
    member_id: str = UNKNOWN_MEMBER_ID,
    *,
    instance: str | None = None,
    names: tuple[str, ...] = ("range",),
    metadata: bytes = b"",
    session_ms: int = SESSION_MS,
    rebalance_ms: int = REBALANCE_MS,
    kind: str = "consumer",
    group: str = "g",
) -> JoinGroupRequest:
    return JoinGroupRequest(
        group_id=GroupId(group),
        session_timeout_ms=Millis(session_ms),
        rebalance_timeout_ms=Millis(rebalance_ms),
        member_id=MemberId(member_id),
        group_instance_id=None if instance is None else GroupInstanceId(instance),
        protocol_type=kind,
        protocols=tuple(JoinGroupRequestProtocol(name=each, metadata=metadata) for each in names),
    )


def sync(
    member_id: str,
    generation: int = 1,
    *,
    instance: str | None = None,
    assignments: dict[MemberId, bytes] | None = None,
    kind: str | None = None,
    name: str | None = None,
    group: str = "g",
) -> SyncGroupRequest:
    return SyncGroupRequest(
        group_id=GroupId(group),
        generation_id=GenerationId(generation),
        member_id=MemberId(member_id),
        group_instance_id=None if instance is None else GroupInstanceId(instance),
        protocol_type=kind,
        protocol_name=name,
        assignments=tuple(
            SyncGroupRequestAssignment(member_id=each, assignment=data)
            for each, data in (assignments or {}).items()
        ),
    )


def heartbeat(
    member_id: str, generation: int = 1, *, instance: str | None = None, group: str = "g"
) -> HeartbeatRequest:
    return HeartbeatRequest(
        group_id=GroupId(group),
        generation_id=GenerationId(generation),
        member_id=MemberId(member_id),
        group_instance_id=None if instance is None else GroupInstanceId(instance),
    )


def leave(*members: str | tuple[str, str | None], group: str = "g") -> LeaveGroupRequest:
    pairs = [(each, None) if isinstance(each, str) else each for each in members]
    return LeaveGroupRequest(
        group_id=GroupId(group),
        members=tuple(
            MemberIdentity(
                member_id=MemberId(member_id),
                group_instance_id=None if instance is None else GroupInstanceId(instance),
            )
            for member_id, instance in pairs
        ),
    )


def _offsets(
    topic: str, offsets: Mapping[int, int], metadata: Mapping[int, str | None], *, leader_epoch: int = -1
) -> tuple[OffsetCommitRequestTopic, ...]:
    partitions = tuple(
        OffsetCommitRequestPartition(
            partition_index=index,
            committed_offset=offset,
            committed_leader_epoch=leader_epoch,
            committed_metadata=metadata[index],
        )
        for index, offset in offsets.items()
    )
    return (OffsetCommitRequestTopic(name=topic, partitions=partitions),)


def commit(
    offsets: dict[int, int],
    *,
    member_id: str = "",
    generation: int = -1,
    instance: str | None = None,
    metadata: str | None = "",
    retention_ms: int = -1,
    leader_epoch: int = -1,
    topic: str = "t",
    group: str = "g",
) -> OffsetCommitRequest:
    return OffsetCommitRequest(
        group_id=GroupId(group),
        generation_id_or_member_epoch=GenerationId(generation),
        member_id=MemberId(member_id),
        group_instance_id=None if instance is None else GroupInstanceId(instance),
        retention_time_ms=Millis(retention_ms),
        topics=_offsets(topic, offsets, dict.fromkeys(offsets, metadata), leader_epoch=leader_epoch),
    )


def fetch(*partitions: int, topic: str = "t", group: str = "g", stable: bool = False) -> OffsetFetchRequest:
    topics = (OffsetFetchRequestTopic(name=topic, partition_indexes=partitions),)
    asked = OffsetFetchRequestGroup(group_id=GroupId(group), topics=topics)
    return OffsetFetchRequest(groups=(asked,), require_stable=stable)


def fetch_all(*groups: str) -> OffsetFetchRequest:
    """A fetch of all topics."""
    asked = (OffsetFetchRequestGroup(group_id=GroupId(each), topics=None) for each in groups)
    return OffsetFetchRequest(groups=tuple(asked))


def delete(*groups: str) -> DeleteGroupsRequest:
    return DeleteGroupsRequest(groups_names=tuple(map(GroupId, groups)))


def offset_delete(*partitions: int, topic: str = "t", group: str = "g") -> OffsetDeleteRequest:
    topics = (OffsetDeleteRequestTopic(name=topic, partition_indexes=partitions),)
    return OffsetDeleteRequest(group_id=GroupId(group), topics=topics)


def subscription(*topics: str) -> bytes:
    encoded = [topic.encode() for topic in topics]
    names = b"".join(len(each).to_bytes(2, "big") + each for each in encoded)
    return b"\0\0" + len(topics).to_bytes(4, "big") + names + b"\xff\xff\xff\xff"


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
        topics=_offsets("t", offsets, dict.fromkeys(offsets, "") | (metadata or {})),
        verification=verification,
    )

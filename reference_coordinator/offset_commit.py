"""OffsetCommit, OffsetFetch and OffsetDelete."""

from collections.abc import Iterable, Mapping
from typing import Final, assert_never

from reference_coordinator.append_errors import maybe_convert_offset_commit_error
from reference_coordinator.appends import AnswerStored, OffsetsStored
from reference_coordinator.behaviours import Behaviour, CoordinatorFamily
from reference_coordinator.classic.group import ClassicGroup
from reference_coordinator.classic.rebalance import reschedule_classic_group_member_heartbeat
from reference_coordinator.classic.state import ClassicGroupState
from reference_coordinator.errors import CoordinatorError, Errors
from reference_coordinator.ids import (
    UNKNOWN_MEMBER_ID,
    GroupId,
    Millis,
    ResponseToken,
)
from reference_coordinator.map_order import utf16_length
from reference_coordinator.messages import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from reference_coordinator.messages.offsets import DEFAULT_RETENTION_TIME_MS
from reference_coordinator.offset_store import OffsetAndMetadata, TopicPartition
from reference_coordinator.records import OffsetCommitRecord
from reference_coordinator.shard import Shard

_MISSING_GROUP_NAMED_SINCE: Final = 9

Verdicts = list[tuple[TopicPartition, Errors]]


def commit_offset(
    shard: Shard, request: OffsetCommitRequest, *, api_version: int, token: ResponseToken
) -> None:
    """Take in offsets; whom they are for has been validated.

    Raises:
        CoordinatorError: the commit is refused as a whole.

    Source: OffsetMetadataManager#commitOffset (4.3.1), GroupCoordinator#handleCommitOffsets (3.9.2).
    """
    group = validate_offset_commit(shard, request, api_version=api_version)
    verdicts, accepted = _judge_partitions(shard, request)
    response = commit_response(shard, request, verdicts)
    if not accepted:
        shard.respond(token, response)
        return
    records = tuple(_record(request.group_id, each, accepted[each]) for each in accepted)
    match shard.profile.coordinator:
        case CoordinatorFamily.JAVA:
            stored = AnswerStored(token=token, request=request, response=response)
            shard.append(request.group_id, records, stored, replays=True)
        case CoordinatorFamily.SCALA:
            _prepare_commit(shard, request, accepted)
            offsets_stored = OffsetsStored(group=group, token=token, response=response, offsets=accepted)
            shard.append(request.group_id, records, offsets_stored)


def validate_offset_commit(shard: Shard, request: OffsetCommitRequest, *, api_version: int) -> ClassicGroup:
    """Find or make the group, and refuse who may not commit to it.

    Raises:
        CoordinatorError: the first check that fails.

    Source: OffsetMetadataManager#validateOffsetCommit (4.3.1), GroupCoordinator#doCommitOffsets (3.9.2).
    """
    group = shard.group(request.group_id)
    if group is None:
        if request.generation_id_or_member_epoch >= 0:
            names_group = shard.profile.has(Behaviour.COMMIT_V9_NAMES_MISSING_GROUP)
            if names_group and api_version >= _MISSING_GROUP_NAMED_SINCE:
                raise CoordinatorError(Errors.GROUP_ID_NOT_FOUND)
            raise CoordinatorError(Errors.ILLEGAL_GENERATION)
        group = shard.create_classic_group(request.group_id)
    validate_offset_commit_to_classic_group(shard, group, request)
    match group.state:
        case ClassicGroupState.STABLE | ClassicGroupState.PREPARING_REBALANCE:
            member = group.members[request.member_id]
            reschedule_classic_group_member_heartbeat(shard, group, member)
        case ClassicGroupState.EMPTY | ClassicGroupState.COMPLETING_REBALANCE | ClassicGroupState.DEAD:
            pass
        case _:
            assert_never(group.state)
    return group


def validate_offset_commit_to_classic_group(
    shard: Shard, group: ClassicGroup, request: OffsetCommitRequest
) -> None:
    """Refuse who may not commit to the group as it is.

    Raises:
        CoordinatorError: the first check that fails.

    Source: ClassicGroup#validateOffsetCommit (4.3.1), GroupCoordinator#validateOffsetCommit (3.9.2).
    """
    generation_id = request.generation_id_or_member_epoch
    is_empty = group.state is ClassicGroupState.EMPTY
    if group.state is ClassicGroupState.DEAD:
        raise CoordinatorError(Errors.COORDINATOR_NOT_AVAILABLE)
    if generation_id < 0 and is_empty and _is_simple_commit(shard, request):
        return
    if not _names_anything(request):
        # Only members commit to a group that has some.
        raise CoordinatorError(Errors.UNKNOWN_MEMBER_ID)
    group.validate_member(
        request.member_id,
        request.group_instance_id,
        unknown_instance_is_refused=shard.profile.has(Behaviour.UNKNOWN_INSTANCE_ID_REFUSED),
    )
    if generation_id != group.generation_id:
        raise CoordinatorError(Errors.ILLEGAL_GENERATION)
    if group.state is ClassicGroupState.COMPLETING_REBALANCE:
        raise CoordinatorError(Errors.REBALANCE_IN_PROGRESS)


def _is_simple_commit(shard: Shard, request: OffsetCommitRequest) -> bool:
    """Whether a commit without a generation comes from somebody who is in no group."""
    checks_ids = shard.profile.has(Behaviour.SIMPLE_COMMIT_CHECKS_IDS)
    return not checks_ids or not _names_anything(request)


def _names_anything(request: OffsetCommitRequest) -> bool:
    return (
        request.generation_id_or_member_epoch >= 0
        or request.member_id != UNKNOWN_MEMBER_ID
        or request.group_instance_id is not None
    )


def _judge_partitions(
    shard: Shard, request: OffsetCommitRequest
) -> tuple[Verdicts, dict[TopicPartition, OffsetAndMetadata]]:
    """A verdict an occurrence in request order, and what is to be stored; the last one counts."""
    verdicts: Verdicts = []
    accepted: dict[TopicPartition, OffsetAndMetadata] = {}
    for each, offset in _offsets(shard, request):
        if utf16_length(offset.metadata) > shard.config.offset_metadata_max_bytes:
            verdicts.append((each, Errors.OFFSET_METADATA_TOO_LARGE))
        else:
            verdicts.append((each, Errors.NONE))
            accepted[each] = offset
    return verdicts, accepted


def _offsets(
    shard: Shard, request: OffsetCommitRequest
) -> Iterable[tuple[TopicPartition, OffsetAndMetadata]]:
    for topic in request.topics:
        for partition in topic.partitions:
            named = TopicPartition(topic=topic.name, partition=partition.partition_index)
            yield named, _offset_from_request(shard, request, partition)


def _offset_from_request(
    shard: Shard, request: OffsetCommitRequest, partition: OffsetCommitRequestPartition
) -> OffsetAndMetadata:
    """Source: OffsetAndMetadata#fromRequest (4.3.1)."""
    keeps_default = request.retention_time_ms == DEFAULT_RETENTION_TIME_MS
    expires_ms = None if keeps_default else Millis(shard.now_ms + request.retention_time_ms)
    return OffsetAndMetadata(
        offset=partition.committed_offset,
        leader_epoch=partition.committed_leader_epoch,
        metadata=partition.committed_metadata or "",
        commit_timestamp_ms=shard.now_ms,
        expire_timestamp_ms=expires_ms,
    )


def _record(group_id: GroupId, partition: TopicPartition, offset: OffsetAndMetadata) -> OffsetCommitRecord:
    return OffsetCommitRecord(
        group_id=group_id,
        topic=partition.topic,
        partition=partition.partition,
        offset=offset.offset,
        leader_epoch=offset.leader_epoch,
        metadata=offset.metadata,
        commit_timestamp_ms=offset.commit_timestamp_ms,
        expire_timestamp_ms=offset.expire_timestamp_ms,
    )


def _prepare_commit(
    shard: Shard, request: OffsetCommitRequest, accepted: Mapping[TopicPartition, OffsetAndMetadata]
) -> None:
    """Source: GroupMetadataManager#storeOffsets (3.9.2)."""
    if shard.profile.has(Behaviour.REJECTED_COMMIT_STAYS_PENDING):
        shard.offsets.prepare_commit(request.group_id, dict(_offsets(shard, request)))
    else:
        shard.offsets.prepare_commit(request.group_id, accepted)


def offsets_stored(shard: Shard, stored: OffsetsStored, error: Errors) -> None:
    """Answer a commit to the Scala coordinator, now that it is written or could not be.

    Source: GroupMetadataManager#createPutCacheCallback (3.9.2).
    """
    group_id = stored.group.group_id
    if stored.group.state is not ClassicGroupState.DEAD:
        for partition, offset in stored.offsets.items():
            if error is Errors.NONE:
                shard.offsets.put(group_id, partition, offset)
            shard.offsets.forget_pending(group_id, partition, offset)
    response = stored.response
    if error is not Errors.NONE:
        told = maybe_convert_offset_commit_error(error)
        response = _with_none_replaced(response, told)
    shard.respond(stored.token, response)


def _with_none_replaced(response: OffsetCommitResponse, error: Errors) -> OffsetCommitResponse:
    return OffsetCommitResponse(
        topics=tuple(
            OffsetCommitResponseTopic(
                name=topic.name,
                partitions=tuple(
                    each
                    if each.error_code is not Errors.NONE
                    else OffsetCommitResponsePartition(partition_index=each.partition_index, error_code=error)
                    for each in topic.partitions
                ),
            )
            for topic in response.topics
        )
    )


def commit_error(shard: Shard, request: OffsetCommitRequest, error: Errors) -> OffsetCommitResponse:
    """A commit refused as a whole: the error on every partition.

    Source: OffsetCommitRequest#getErrorResponse (4.3.1).
    """
    verdicts = [(each, error) for each, _ in _offsets(shard, request)]
    return commit_response(shard, request, verdicts)


def commit_response(shard: Shard, request: OffsetCommitRequest, verdicts: Verdicts) -> OffsetCommitResponse:
    """The verdicts by topic; the Scala coordinator answers each partition once.

    Source: OffsetMetadataManager#commitOffset (4.3.1), GroupCoordinatorAdapter#commitOffsets (3.9.2).
    """
    if shard.profile.has(Behaviour.DUPLICATE_PARTITIONS_ANSWERED_EACH):
        left = iter(verdicts)
        return OffsetCommitResponse(
            topics=tuple(
                _response_topic(topic.name, [next(left) for _ in topic.partitions])
                for topic in request.topics
            )
        )
    last = dict(verdicts)
    names = dict.fromkeys(each.topic for each in last)
    return OffsetCommitResponse(
        topics=tuple(
            _response_topic(name, [pair for pair in last.items() if pair[0].topic == name]) for name in names
        )
    )


def _response_topic(name: str, verdicts: Verdicts) -> OffsetCommitResponseTopic:
    return OffsetCommitResponseTopic(
        name=name,
        partitions=tuple(
            OffsetCommitResponsePartition(partition_index=each.partition, error_code=error)
            for each, error in verdicts
        ),
    )

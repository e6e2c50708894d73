"""TxnOffsetCommit: check the group and the transaction, and store the offsets."""

from typing import Final, assert_never

from reference_coordinator.core.effects import Permitted, Producer
from reference_coordinator.core.errors import CoordinatorError, Errors, IllegalStateError
from reference_coordinator.core.ids import NO_PRODUCER_ID, GroupId, ResponseToken, TopicId, TopicPartition
from reference_coordinator.core.map_order import topic_partitions_in_scala_map_order
from reference_coordinator.core.records import EndTransactionMarker
from reference_coordinator.groups.classic.lookups import get_or_maybe_create_classic_group
from reference_coordinator.groups.group import CommitPartitionValidator, Group
from reference_coordinator.messages import TxnOffsetCommitRequest, TxnOffsetCommitResponse
from reference_coordinator.offsets.shard import CoordinatorShard
from reference_coordinator.offsets.storing import Commit, CommitResponse, store_offsets
from reference_coordinator.offsets.transactional import Offsets
from reference_coordinator.profile.behaviours import Behaviour, CoordinatorFamily
from reference_coordinator.runtime.append_errors import maybe_convert_offset_commit_error
from reference_coordinator.runtime.coordinator_result import CoordinatorResult
from reference_coordinator.runtime.error_responses import txn_commit_error

_MISSING_GROUP_NAMED_SINCE: Final = 6
_MEMBER_EPOCH_NAMED_SINCE: Final = 6


def commit_transactional_offset(
    shard: CoordinatorShard, request: TxnOffsetCommitRequest, *, api_version: int, token: ResponseToken
) -> CoordinatorResult[CommitResponse]:
    """Store offsets that take effect when the producer's transaction is committed.

    Raises:
        CoordinatorError: the commit is refused as a whole.

    Source: OffsetMetadataManager#commitTransactionalOffset (4.3.1),
    GroupCoordinator#handleTxnCommitOffsets (3.9.2).
    """
    group, validator = validate_transactional_offset_commit(shard, request, api_version=api_version)
    commit = Commit(
        group=group,
        validator=None if validator is None else _of_transaction(validator, api_version),
        token=token,
        request=request,
        producer=producer_of(shard, request),
        respond_with=lambda topics: TxnOffsetCommitResponse(topics=topics),
    )
    return store_offsets(shard, commit)


def producer_of(shard: CoordinatorShard, request: TxnOffsetCommitRequest) -> Producer | None:
    """Return the producer to write the offsets with; None if they take effect at once.

    Decided in: CoordinatorRuntime#scheduleTransactionalWriteOperation (4.3.1),
    GroupCoordinator#handleTxnCommitOffsets (3.9.2).
    """
    commits_at_once = shard.profile.has(Behaviour.NO_PRODUCER_ID_COMMITS_AT_ONCE)
    if request.producer_id == NO_PRODUCER_ID and commits_at_once:
        return None
    return Producer(producer_id=request.producer_id, producer_epoch=request.producer_epoch)


def validate_transactional_offset_commit(
    shard: CoordinatorShard, request: TxnOffsetCommitRequest, *, api_version: int
) -> tuple[Group, CommitPartitionValidator | None]:
    """Find or create the group, and refuse an unverified transaction or an invalid member.

    The Scala coordinator creates the group before any check, the Java one only if no generation is given.

    Raises:
        CoordinatorError: the first check that fails.

    Source: OffsetMetadataManager#validateTransactionalOffsetCommit (4.4.0),
    GroupCoordinator#handleTxnCommitOffsets and #doTxnCommitOffsets (3.9.2).
    """
    group = shard.find_group(request.group_id)
    match shard.profile.coordinator:
        case CoordinatorFamily.SCALA:
            if group is None:
                group = get_or_maybe_create_classic_group(shard, request.group_id, create_if_not_exists=True)
            if request.verification is not Errors.NONE:
                raise CoordinatorError(maybe_convert_offset_commit_error(request.verification))
        case CoordinatorFamily.JAVA:
            if group is None:
                if request.generation_id >= 0:
                    names_group = api_version >= _MISSING_GROUP_NAMED_SINCE
                    missing = Errors.GROUP_ID_NOT_FOUND if names_group else Errors.ILLEGAL_GENERATION
                    raise CoordinatorError(missing)
                group = get_or_maybe_create_classic_group(shard, request.group_id, create_if_not_exists=True)
        case _:
            assert_never(shard.profile.coordinator)
    try:
        validator = group.validate_offset_commit(
            request.member_id,
            request.group_instance_id,
            request.generation_id,
            is_transactional=True,
            api_version=api_version,
        )
    except CoordinatorError as refusal:
        raise CoordinatorError(_reported(refusal.error, api_version)) from refusal
    return group, validator


def _reported(error: Errors, api_version: int) -> Errors:
    """Return the error to report to a producer; before version 6, the API has no member epochs."""
    is_stale = error is Errors.STALE_MEMBER_EPOCH and api_version < _MEMBER_EPOCH_NAMED_SINCE
    return Errors.ILLEGAL_GENERATION if is_stale else error


def _of_transaction(validator: CommitPartitionValidator, api_version: int) -> CommitPartitionValidator:
    """Decided in: OffsetMetadataManager#commitTransactionalOffset (4.3.1)."""

    def validate(topic: str, topic_id: TopicId | None, partition: int) -> None:
        try:
            validator(topic, topic_id, partition)
        except CoordinatorError as refusal:
            raise CoordinatorError(_reported(refusal.error, api_version)) from refusal

    return validate


def other_verdicts(
    shard: CoordinatorShard, request: TxnOffsetCommitRequest, error: Errors
) -> tuple[Permitted, ...]:
    """Return other permitted answers if the transaction coordinator has not verified the group's partition.

    Decided in: AddPartitionsToTxnManager#addTxnData (4.3.1).
    """
    verdicts = (Errors.INVALID_TXN_STATE, Errors.TRANSACTION_ABORTABLE)
    is_shared = shard.profile.has(Behaviour.VERIFICATIONS_SHARE_A_BATCH) and request.verification in verdicts
    if not is_shared or error not in verdicts:
        return ()
    return (
        Permitted(
            field="topics",
            any_of=tuple(txn_commit_error(shard, request, each).topics for each in verdicts),
            reason="asked at once with others, in whose versions the refusal may be told",
        ),
    )


def replay_end_transaction_marker(shard: CoordinatorShard, marker: EndTransactionMarker) -> None:
    """Commit a transaction's offsets, or drop them.

    Source: OffsetMetadataManager#replayEndTransactionMarker (4.3.1),
    GroupMetadataManager#handleTxnCompletion (3.9.2).
    """
    ended = shard.offsets.transactions.take(
        marker.producer_id, lambda group_id: shard.partition_for(group_id) == marker.partition
    )
    if not marker.is_commit:
        return
    for group_id, offsets in ended.items():
        try:
            complete_pending_txn_offset_commit(shard, group_id, offsets)
        except IllegalStateError:
            # No client gets an error: Kafka does this on a separate thread.
            return


def complete_pending_txn_offset_commit(shard: CoordinatorShard, group_id: GroupId, offsets: Offsets) -> None:
    """Commit one group's offsets of a transaction, except where later ones are already committed.

    Raises:
        IllegalStateError: an offset was never written to the log; those after it in the map are lost.

    Source: GroupMetadata#completePendingTxnOffsetCommit (3.9.2).
    """
    in_order = topic_partitions_in_scala_map_order((each.topic, each.partition) for each in offsets)
    for topic, partition in in_order:
        named = TopicPartition(topic=topic, partition=partition)
        if offsets[named].record_offset is None:
            raise IllegalStateError("an offset that was never written is to be committed")
        shard.offsets.put_if_newer(group_id, named, offsets[named])

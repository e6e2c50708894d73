"""TxnOffsetCommit, and what becomes of its offsets when the transaction ends."""

from typing import Final, assert_never

from reference_coordinator.classic.group import ClassicGroup
from reference_coordinator.classic.state import ClassicGroupState
from reference_coordinator.core.effects import Permitted, Producer
from reference_coordinator.core.errors import CoordinatorError, Errors
from reference_coordinator.core.ids import NO_PRODUCER_ID, UNKNOWN_MEMBER_ID, ResponseToken
from reference_coordinator.group.append_errors import maybe_convert_offset_commit_error
from reference_coordinator.group.shard import Shard
from reference_coordinator.messages import TxnOffsetCommitRequest, TxnOffsetCommitResponse
from reference_coordinator.offsets.answers import refused_topics
from reference_coordinator.offsets.commit import Committer, validate_offset_commit_to_classic_group
from reference_coordinator.offsets.storing import Commit, store_offsets
from reference_coordinator.profile.behaviours import Behaviour, CoordinatorFamily

_MISSING_GROUP_NAMED_SINCE: Final = 6


def commit_transactional_offset(
    shard: Shard, request: TxnOffsetCommitRequest, *, api_version: int, token: ResponseToken
) -> None:
    """Take in offsets that are to count when the producer's transaction is committed.

    Raises:
        CoordinatorError: the commit is refused as a whole.

    Source: OffsetMetadataManager#commitTransactionalOffset (4.3.1),
    GroupCoordinator#handleTxnCommitOffsets (3.9.2).
    """
    group = validate_transactional_offset_commit(shard, request, api_version=api_version)
    is_plain = request.producer_id == NO_PRODUCER_ID and shard.profile.has(
        Behaviour.NO_PRODUCER_ID_COMMITS_AT_ONCE
    )
    commit = Commit(
        group=group,
        token=token,
        request=request,
        producer=None
        if is_plain
        else Producer(producer_id=request.producer_id, producer_epoch=request.producer_epoch),
        respond_with=lambda topics: TxnOffsetCommitResponse(topics=topics),
    )
    store_offsets(shard, commit)


def validate_transactional_offset_commit(
    shard: Shard, request: TxnOffsetCommitRequest, *, api_version: int
) -> ClassicGroup:
    """Find or make the group, and refuse a transaction or a member that is not as it says.

    The Scala coordinator makes the group before it asks anything, the Java one only for who needs none.

    Raises:
        CoordinatorError: the first check that fails.

    Source: OffsetMetadataManager#validateTransactionalOffsetCommit (4.4.0),
    GroupCoordinator#handleTxnCommitOffsets and #doTxnCommitOffsets (3.9.2).
    """
    group = shard.group(request.group_id)
    match shard.profile.coordinator:
        case CoordinatorFamily.SCALA:
            if group is None:
                group = shard.create_classic_group(request.group_id)
            if request.verification is not Errors.NONE:
                raise CoordinatorError(maybe_convert_offset_commit_error(request.verification))
        case CoordinatorFamily.JAVA:
            if group is None:
                if request.generation_id >= 0:
                    names_group = api_version >= _MISSING_GROUP_NAMED_SINCE
                    missing = Errors.GROUP_ID_NOT_FOUND if names_group else Errors.ILLEGAL_GENERATION
                    raise CoordinatorError(missing)
                group = shard.create_classic_group(request.group_id)
        case _:
            assert_never(shard.profile.coordinator)
    committer = Committer(
        generation_id=request.generation_id,
        member_id=request.member_id,
        group_instance_id=request.group_instance_id,
    )
    if shard.profile.has(Behaviour.TXN_COMMIT_CHECKED_AS_COMMIT):
        validate_offset_commit_to_classic_group(shard, group, committer, is_transactional=True)
    else:
        _check_what_is_named(shard, group, committer)
    return group


def _check_what_is_named(shard: Shard, group: ClassicGroup, committer: Committer) -> None:
    """Source: GroupCoordinator#doTxnCommitOffsets (2.8.2)."""
    if group.state is ClassicGroupState.DEAD:
        raise CoordinatorError(Errors.COORDINATOR_NOT_AVAILABLE)
    if not shard.profile.has(Behaviour.TXN_COMMIT_CHECKS_MEMBER):
        return
    instance = committer.group_instance_id
    if instance is not None and group.static_members.get(instance) not in {None, committer.member_id}:
        raise CoordinatorError(Errors.FENCED_INSTANCE_ID)
    if committer.member_id != UNKNOWN_MEMBER_ID and committer.member_id not in group.members:
        raise CoordinatorError(Errors.UNKNOWN_MEMBER_ID)
    if 0 <= committer.generation_id != group.generation_id:
        raise CoordinatorError(Errors.ILLEGAL_GENERATION)


def txn_commit_error(shard: Shard, request: TxnOffsetCommitRequest, error: Errors) -> TxnOffsetCommitResponse:
    """A commit refused as a whole: the error on every partition.

    Source: TxnOffsetCommitRequest#getErrorResponse (4.3.1).
    """
    return TxnOffsetCommitResponse(topics=refused_topics(shard.profile, request.topics, error))


def other_verdicts(shard: Shard, request: TxnOffsetCommitRequest, error: Errors) -> tuple[Permitted, ...]:
    """What else may be said of a transaction that does not know of the group.

    Source: AddPartitionsToTxnManager#addTxnData (4.3.1).
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

"""Whether a member of a consumer group may commit and fetch offsets."""

from collections.abc import Mapping
from typing import Final

from reference_coordinator.core.errors import CoordinatorError, Errors, IllegalStateError
from reference_coordinator.core.ids import MemberId, TopicId
from reference_coordinator.groups.consumer.member import ConsumerGroupMember
from reference_coordinator.groups.group import CommitPartitionValidator
from reference_coordinator.profile.profiles import Behaviour, Profile

_CONSUMER_PROTOCOL_COMMITS_SINCE: Final = 9


def validate_offset_commit_of_member(
    member: ConsumerGroupMember, epoch: int, *, is_transactional: bool, api_version: int, profile: Profile
) -> CommitPartitionValidator | None:
    """Refuse a member by its epoch, or say how each partition is judged.

    Raises:
        CoordinatorError: UNSUPPORTED_VERSION, STALE_MEMBER_EPOCH or ILLEGAL_GENERATION.

    Decided in: ConsumerGroup#validateOffsetCommit (4.3.1).
    """
    is_old = api_version < _CONSUMER_PROTOCOL_COMMITS_SINCE
    if not is_transactional and not member.use_classic_protocol and is_old:
        raise CoordinatorError(Errors.UNSUPPORTED_VERSION)
    if epoch == member.member_epoch:
        return None
    if epoch > member.member_epoch or not profile.has(Behaviour.PARTITIONS_HAVE_ASSIGNMENT_EPOCHS):
        raise CoordinatorError(_stale(member))
    return _assignment_epoch_validator(member, epoch)


def validate_offset_fetch_of_member(
    members: Mapping[MemberId, ConsumerGroupMember], member_id: str | None, member_epoch: int
) -> None:
    """Refuse a member that is unknown or of another epoch.

    Raises:
        CoordinatorError: UNKNOWN_MEMBER_ID, STALE_MEMBER_EPOCH or ILLEGAL_GENERATION.
        IllegalStateError: an epoch comes without a member.

    Decided in: ConsumerGroup#validateOffsetFetch (4.3.1).
    """
    if member_id is None:
        raise IllegalStateError("a map of members has no null key")
    member = members.get(MemberId(member_id))
    if member is None:
        raise CoordinatorError(Errors.UNKNOWN_MEMBER_ID)
    if member.member_epoch != member_epoch:
        raise CoordinatorError(_stale(member))


def _assignment_epoch_validator(member: ConsumerGroupMember, epoch: int) -> CommitPartitionValidator:
    """Decided in: ConsumerGroup#createAssignmentEpochValidator (4.3.1)."""

    def validate(topic_id: TopicId | None, partition: int) -> None:
        since = None if topic_id is None else member.assignment_epoch(topic_id, partition)
        if since is None or epoch < since:
            raise CoordinatorError(_stale(member))

    return validate


def _stale(member: ConsumerGroupMember) -> Errors:
    return Errors.ILLEGAL_GENERATION if member.use_classic_protocol else Errors.STALE_MEMBER_EPOCH

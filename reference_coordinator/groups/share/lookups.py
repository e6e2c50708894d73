"""Lookups of share groups among the groups of all types, and checks of their members."""

from reference_coordinator.core.errors import CoordinatorError, Errors
from reference_coordinator.core.ids import GroupId, MemberId
from reference_coordinator.groups.group import Group
from reference_coordinator.groups.group_metadata_manager import GroupMetadataManager
from reference_coordinator.groups.share.group import ShareGroup, new_share_group
from reference_coordinator.groups.share.member import ShareGroupMember
from reference_coordinator.messages.consumer_groups import JOIN_GROUP_MEMBER_EPOCH
from reference_coordinator.profile.profiles import Behaviour


def as_share_group(group: Group) -> ShareGroup:
    """Return the group as a share group. Its type must be share."""
    assert isinstance(group, ShareGroup), f"{group.group_id} is of type {group.type.value}"
    return group


def share_group(shard: GroupMetadataManager, group_id: GroupId, *, committed: bool = False) -> ShareGroup:
    """Return the share group with an id: the newest state, or the committed one that reads use.

    Raises:
        CoordinatorError: GROUP_ID_NOT_FOUND, also if a group of another type has the id.

    Source: GroupMetadataManager#shareGroup (4.3.1).
    """
    group = shard.group(group_id, committed=committed)
    if not isinstance(group, ShareGroup):
        raise CoordinatorError(Errors.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a share group.")
    return group


def get_or_maybe_create_share_group(
    shard: GroupMetadataManager, group_id: GroupId, *, create_if_not_exists: bool
) -> ShareGroup:
    """Return the share group with an id. Create it if there is none and that is requested.

    Raises:
        CoordinatorError: GROUP_ID_NOT_FOUND, or UNKNOWN_SERVER_ERROR in the preview if there is no group.

    Source: GroupMetadataManager#getOrMaybeCreateShareGroup (4.3.1),
    GroupMetadataManager#getOrMaybeCreatePersistedShareGroup (4.0.2).
    """
    group = shard.find_group(group_id)
    if isinstance(group, ShareGroup):
        return group
    if group is not None:
        raise CoordinatorError(Errors.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a share group.")
    if not create_if_not_exists:
        is_preview = not shard.profile.has(Behaviour.SHARE_STATE_INITIALIZED)
        error = Errors.UNKNOWN_SERVER_ERROR if is_preview else Errors.GROUP_ID_NOT_FOUND
        raise CoordinatorError(error, f"Share group {group_id} not found.")
    return new_share_group(group_id, shard.profile)


def throw_if_share_group_is_full(shard: GroupMetadataManager, group: ShareGroup, member_id: MemberId) -> None:
    """Refuse a new member if the group has reached its maximum size.

    Raises:
        CoordinatorError: GROUP_MAX_SIZE_REACHED.

    Source: GroupMetadataManager#throwIfShareGroupIsFull (4.3.1).
    """
    max_size = shard.config.group_share_max_size
    if len(group.members) >= max_size and member_id not in group.members:
        raise CoordinatorError(
            Errors.GROUP_MAX_SIZE_REACHED,
            f"The share group has reached its maximum capacity of {max_size} members.",
        )


def throw_if_share_group_is_not_empty(group: ShareGroup) -> None:
    """Refuse an operation that requires a group without members.

    Raises:
        CoordinatorError: NON_EMPTY_GROUP.

    Source: GroupMetadataManager#throwIfShareGroupIsNotEmpty (4.3.1).
    """
    if group.members:
        raise CoordinatorError(Errors.NON_EMPTY_GROUP, "The group is not empty.")


def throw_if_share_group_member_epoch_is_invalid(
    group: ShareGroup, member: ShareGroupMember, received_member_epoch: int
) -> None:
    """Refuse an epoch that is neither the member's current nor its previous one.

    Raises:
        CoordinatorError: FENCED_MEMBER_EPOCH.

    Source: GroupMetadataManager#throwIfShareGroupMemberEpochIsInvalid (4.3.1).
    """
    may_rejoin = group.profile.has(Behaviour.REJOINING_MEMBER_KEEPS_EPOCH)
    if received_member_epoch == JOIN_GROUP_MEMBER_EPOCH and may_rejoin:
        return
    known = f"known by the group coordinator ({member.member_epoch})"
    advice = "The member must abandon all its partitions and rejoin."
    if received_member_epoch > member.member_epoch:
        raise CoordinatorError(
            Errors.FENCED_MEMBER_EPOCH,
            f"The share group member has a greater member epoch ({received_member_epoch}) than the one "
            f"{known}. {advice}",
        )
    if received_member_epoch < member.member_epoch and received_member_epoch != member.previous_member_epoch:
        previous = f", and it does not match the previous member epoch ({member.previous_member_epoch})"
        names_previous = group.profile.has(Behaviour.SHARE_STATE_INITIALIZED)
        raise CoordinatorError(
            Errors.FENCED_MEMBER_EPOCH,
            f"The share group member has a smaller member epoch ({received_member_epoch}) than the one "
            f"{known}{previous if names_previous else ''}. {advice}",
        )

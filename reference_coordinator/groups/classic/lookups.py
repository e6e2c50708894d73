"""Lookups of classic groups among the groups of all types."""

from reference_coordinator.core.errors import CoordinatorError, Errors
from reference_coordinator.core.ids import GroupId
from reference_coordinator.groups.classic.group import ClassicGroup
from reference_coordinator.groups.group import Group
from reference_coordinator.groups.group_metadata_manager import GroupMetadataManager


def as_classic_group(group: Group) -> ClassicGroup:
    """Return the group as a classic group. Its type must be classic."""
    assert isinstance(group, ClassicGroup), f"{group.group_id} is of type {group.type.value}"
    return group


def classic_group(shard: GroupMetadataManager, group_id: GroupId, *, committed: bool = False) -> ClassicGroup:
    """Return the classic group with an id: the newest state, or the committed one that reads use.

    Raises:
        CoordinatorError: GROUP_ID_NOT_FOUND, also if a group of another type has the id.

    Source: GroupMetadataManager#classicGroup (4.3.1).
    """
    return _throw_if_not_classic(shard.group(group_id, committed=committed))


def get_or_maybe_create_classic_group(
    shard: GroupMetadataManager, group_id: GroupId, *, create_if_not_exists: bool
) -> ClassicGroup:
    """Return the classic group with an id. If there is no group, create it if requested.

    Raises:
        CoordinatorError: GROUP_ID_NOT_FOUND, also if a group of another type has the id.

    Source: GroupMetadataManager#getOrMaybeCreateClassicGroup (4.3.1).
    """
    group = shard.find_group(group_id)
    if group is not None:
        return _throw_if_not_classic(group)
    if not create_if_not_exists:
        raise CoordinatorError(Errors.GROUP_ID_NOT_FOUND, f"Classic group {group_id} not found.")
    made = new_classic_group(shard, group_id)
    shard.add_new_group(made)
    return made


def new_classic_group(shard: GroupMetadataManager, group_id: GroupId) -> ClassicGroup:
    """Return an empty group that is not registered yet."""
    return ClassicGroup(
        group_id=group_id,
        profile=shard.profile,
        choices=shard.choices,
        current_state_timestamp_ms=shard.now_ms,
    )


def _throw_if_not_classic(group: Group) -> ClassicGroup:
    if not isinstance(group, ClassicGroup):
        message = f"Group {group.group_id} is not a classic group."
        raise CoordinatorError(Errors.GROUP_ID_NOT_FOUND, message)
    return group

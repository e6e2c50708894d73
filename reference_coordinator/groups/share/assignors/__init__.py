"""The assignor `simple` of share groups, in the versions of all releases."""

from collections.abc import Mapping
from typing import Final

from reference_coordinator.core.ids import MemberId
from reference_coordinator.groups.share.assignors import simple_balanced, simple_everything, simple_hashed
from reference_coordinator.groups.share.assignors.share_spec import ShareGroupSpec
from reference_coordinator.groups.share.member import AssignedPartitions
from reference_coordinator.profile.profiles import Behaviour, Profile

NAME: Final = "simple"
"""Source: SimpleAssignor#name (4.3.1)."""


def assign(spec: ShareGroupSpec, profile: Profile) -> Mapping[MemberId, AssignedPartitions]:
    """Assign the assignable partitions. Source: SimpleAssignor#assign (4.3.1).

    A member without an entry in the result has an empty assignment.

    Raises:
        PartitionAssignorError: in 4.1, partitions are left, and no member may have more.
    """
    if profile.has(Behaviour.SHARE_ASSIGNOR_BALANCES):
        return simple_balanced.assign(spec)
    if profile.has(Behaviour.SHARE_STATE_INITIALIZED):
        return simple_hashed.assign(spec)
    return simple_everything.assign(spec)

"""`simple` in the preview of share groups: every member gets every partition of its topics."""

from collections.abc import Mapping

from reference_coordinator.core.ids import MemberId
from reference_coordinator.groups.share.assignors.share_spec import ShareGroupSpec, by_topic
from reference_coordinator.groups.share.member import AssignedPartitions


def assign(spec: ShareGroupSpec) -> Mapping[MemberId, AssignedPartitions]:
    """Assign all partitions to all members. Source: SimpleAssignor#assign (4.0.2)."""
    return {
        member_id: by_topic(spec.target_partitions(member.subscribed_topic_ids))
        for member_id, member in spec.members.items()
    }

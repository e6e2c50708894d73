"""The state of one coordinator: its groups and their offsets."""

from dataclasses import dataclass, field

from typing_extensions import override

from reference_coordinator.groups.group_metadata_manager import GroupMetadataManager
from reference_coordinator.offsets.store import OffsetStore


@dataclass(slots=True, kw_only=True)
class CoordinatorShard(GroupMetadataManager):
    """The state of one coordinator. Source: GroupCoordinatorShard (4.3.1)."""

    offsets: OffsetStore = field(default_factory=OffsetStore)

    @override
    def forget_partition(self, partition: int) -> None:
        """Forget a partition's groups, offsets and deadlines, but not the writes under way."""
        for group_id in self.offsets.group_ids():
            if self.partition_for(group_id) == partition:
                self.offsets.forget_group(group_id)
        GroupMetadataManager.forget_partition(self, partition)

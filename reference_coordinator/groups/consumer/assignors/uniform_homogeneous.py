"""The assignor `uniform` if all members subscribe to the same topics: sticky, and balanced within one."""

from collections.abc import Mapping
from itertools import islice
from typing import Final

from reference_coordinator.core.ids import MemberId, TopicId
from reference_coordinator.core.java_hash_map import JavaHashSet
from reference_coordinator.core.map_order import int_hash_code, uuid_hash_code
from reference_coordinator.groups.consumer.assignors.assignor_helpers import (
    AssignmentMap,
    assignment_of,
    deep_copy_assignment,
    from_record,
)
from reference_coordinator.groups.consumer.assignors.group_spec import (
    Assignment,
    GroupSpec,
    PartitionAssignorError,
    SubscribedTopic,
    unknown_topic,
)
from reference_coordinator.profile.behaviour import Behaviour
from reference_coordinator.profile.profiles import Profile


class UniformHomogeneousAssignmentBuilder:
    """One computation of an assignment. Source: UniformHomogeneousAssignmentBuilder (4.3.1)."""

    def __init__(self, spec: GroupSpec, topics: Mapping[TopicId, SubscribedTopic], profile: Profile) -> None:
        self._members: Final = spec.members
        self._assigned_partitions: Final = spec.assigned_partitions
        self._topics: Final = topics
        self._leaves_extra_partitions: Final = profile.has(Behaviour.UNIFORM_LEAVES_EXTRA_PARTITIONS)
        first = next(iter(self._members.values()))
        self._subscribed_topic_ids: Final = JavaHashSet.copy_of(
            first.subscribed_topic_ids, uuid_hash_code, size=first.num_subscribed_names
        )
        self._unfilled_members: Final[list[tuple[MemberId, int]]] = []
        self._unassigned_partitions: Final[list[tuple[TopicId, int]]] = []
        self._target_assignment: Final[dict[MemberId, AssignmentMap]] = {}
        self._minimum_member_quota = 0
        self._members_to_get_an_extra_partition = 0

    def build(self) -> dict[MemberId, Assignment]:
        """Assign all partitions. Source: UniformHomogeneousAssignmentBuilder#build (4.3.1).

        Raises:
            PartitionAssignorError: a subscribed topic does not exist, or partitions remain unassigned.
        """
        if not self._subscribed_topic_ids:
            return {}
        num_partitions = 0
        for topic_id in self._subscribed_topic_ids:
            if topic_id not in self._topics:
                raise unknown_topic(topic_id)
            partitions = range(self._topics[topic_id].num_partitions)
            num_partitions += len(partitions)
            free = ((topic_id, partition) for partition in partitions)
            self._unassigned_partitions.extend(each for each in free if each not in self._assigned_partitions)
        self._minimum_member_quota, self._members_to_get_an_extra_partition = divmod(
            num_partitions, len(self._members)
        )
        for index, (member_id, member) in enumerate(self._members.items()):
            self._maybe_revoke_partitions(member_id, from_record(member.assignment), index)
        self._assign_remaining_partitions()
        return {
            member_id: assignment_of(partitions) for member_id, partitions in self._target_assignment.items()
        }

    def _maybe_revoke_partitions(self, member_id: MemberId, old: AssignmentMap, index: int) -> None:
        """Source: UniformHomogeneousAssignmentBuilder#maybeRevokePartitions (4.3.1), for one member.

        Kafka copies an assignment when it changes it first. The copy's order shows only in the record, which
        an assignment that stays does not have.

        Until 4.0.1 the first members got the extra partitions, whether or not they owned them before.
        """
        has_extra_quota = self._members_to_get_an_extra_partition > 0
        quota = self._minimum_member_quota + has_extra_quota
        revoked: list[tuple[TopicId, int]] = []
        for topic_id, partitions in old.items():
            if topic_id in self._subscribed_topic_ids:
                kept = min(quota, len(partitions))
                quota -= kept
                revoked += [(topic_id, partition) for partition in list(partitions)[kept:]]
        members_left = len(self._members) - index
        if (
            self._leaves_extra_partitions
            and has_extra_quota
            and quota > 0
            and members_left > self._members_to_get_an_extra_partition
        ):
            quota -= 1
            has_extra_quota = False
        if quota > 0:
            self._unfilled_members.append((member_id, quota))
        self._members_to_get_an_extra_partition -= has_extra_quota
        self._unassigned_partitions.extend(revoked)
        self._target_assignment[member_id] = new = deep_copy_assignment(old)
        for topic_id, partition in revoked:
            new[topic_id].discard(partition)
        for topic_id in old:
            if topic_id not in self._subscribed_topic_ids or not new[topic_id]:
                del new[topic_id]

    def _assign_remaining_partitions(self) -> None:
        """Source: UniformHomogeneousAssignmentBuilder#assignRemainingPartitions (4.3.1)."""
        unassigned = iter(self._unassigned_partitions)
        for member_id, remaining_quota in self._unfilled_members:
            new = self._target_assignment[member_id]
            for topic_id, partition in islice(unassigned, remaining_quota):
                new.compute_if_absent(topic_id, lambda: JavaHashSet(int_hash_code)).add(partition)
        if next(unassigned, None) is not None:
            raise PartitionAssignorError("Partitions were left unassigned")

"""The assignor `uniform` if members subscribe to different topics: sticky, and nearly balanced."""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Final

from reference_coordinator.core.ids import MemberId, TopicId
from reference_coordinator.core.java_hash_map import JavaHashSet, capacity_for
from reference_coordinator.core.map_order import int_hash_code, uuid_order
from reference_coordinator.groups.consumer.assignors.assignor_helpers import (
    AssignmentMap,
    assignment_of,
    deep_copy_assignment,
    from_record,
)
from reference_coordinator.groups.consumer.assignors.group_spec import (
    Assignment,
    GroupSpec,
    SubscribedTopic,
    unknown_topic,
)
from reference_coordinator.groups.consumer.assignors.member_assignment_balancer import (
    MemberAssignmentBalancer,
)

_MAX_ITERATION_COUNT: Final = 16
"""Source: UniformHeterogeneousAssignmentBuilder.MAX_ITERATION_COUNT."""


class UniformHeterogeneousAssignmentBuilder:
    """One computation of an assignment. Source: UniformHeterogeneousAssignmentBuilder (4.3.1).

    Members are represented by their index in the order of Kafka's map.
    """

    def __init__(self, spec: GroupSpec, topics: Mapping[TopicId, SubscribedTopic]) -> None:
        self._member_ids: Final = list(spec.members)
        self._members: Final = list(spec.members.values())
        self._num_partitions: Final[dict[TopicId, int]] = {}
        self._topic_subscribers: Final[dict[TopicId, list[int]]] = {}
        for index, member in enumerate(self._members):
            for topic_id in member.subscribed_topic_ids:
                if topic_id not in topics:
                    raise unknown_topic(topic_id)
                self._num_partitions[topic_id] = topics[topic_id].num_partitions
                self._topic_subscribers.setdefault(topic_id, []).append(index)
        self._target_assignment: Final[list[AssignmentMap]] = []
        self._target_assignment_sizes: Final = [0] * len(self._members)
        self._partition_owners: Final[dict[TopicId, list[int | None]]] = {
            topic_id: [None] * num_partitions for topic_id, num_partitions in self._num_partitions.items()
        }

    def build(self) -> dict[MemberId, Assignment]:
        """Assign all partitions. Source: UniformHeterogeneousAssignmentBuilder#build (4.3.1)."""
        if not self._topic_subscribers:
            return {}
        for index, member in enumerate(self._members):
            self._maybe_revoke_partitions(index, from_record(member.assignment))
        self._assign_remaining_partitions()
        self._balance()
        assignments = map(assignment_of, self._target_assignment)
        return dict(zip(self._member_ids, assignments, strict=True))

    def _maybe_revoke_partitions(self, index: int, old: AssignmentMap) -> None:
        """Source: UniformHeterogeneousAssignmentBuilder#maybeRevokePartitions (4.3.1), for one member."""
        subscribed = self._members[index].subscribed_topic_ids
        new = deep_copy_assignment(old)
        for topic_id in old:
            if topic_id not in subscribed:
                del new[topic_id]
        for topic_id, partitions in new.items():
            self._target_assignment_sizes[index] += len(partitions)
            for partition in partitions:
                self._partition_owners[topic_id][partition] = index
        self._target_assignment.append(new)

    def _sort_topic_ids(self, topic_ids: Iterable[TopicId]) -> list[TopicId]:
        """Sort topics by partitions per subscriber, the highest number first.

        Source: UniformHeterogeneousAssignmentBuilder#sortTopicIds (4.3.1).
        """

        def rank(topic_id: TopicId) -> tuple[float, int, tuple[int, int]]:
            num_subscribers = len(self._topic_subscribers[topic_id])
            return -self._num_partitions[topic_id] / num_subscribers, num_subscribers, uuid_order(topic_id)

        return sorted(topic_ids, key=rank)

    def _assign_remaining_partitions(self) -> None:
        """Source: UniformHeterogeneousAssignmentBuilder#assignRemainingPartitions (4.3.1)."""
        unassigned = self._compute_unassigned_partitions()
        for topic_id in self._sort_topic_ids(unassigned):
            balancer = self._balancer(topic_id)
            for partition in unassigned[topic_id]:
                self._assign_partition(topic_id, partition, balancer.next_least_loaded_member())

    def _compute_unassigned_partitions(self) -> dict[TopicId, list[int]]:
        """Source: UniformHeterogeneousAssignmentBuilder#computeUnassignedPartitions (4.3.1)."""
        unassigned = {
            topic_id: [partition for partition, owner in enumerate(owners) if owner is None]
            for topic_id, owners in self._partition_owners.items()
        }
        return {topic_id: partitions for topic_id, partitions in unassigned.items() if partitions}

    def _balance(self) -> None:
        """Source: UniformHeterogeneousAssignmentBuilder#balance and #balanceTopics (4.3.1)."""
        topic_ids = self._sort_topic_ids(
            topic_id for topic_id, subscribers in self._topic_subscribers.items() if len(subscribers) > 1
        )
        last_rebalanced: TopicId | None = None
        for _ in range(_MAX_ITERATION_COUNT):
            for topic_id in topic_ids:
                if topic_id == last_rebalanced:
                    return
                reassigned = self._balance_topic(topic_id)
                if reassigned or last_rebalanced is None:
                    last_rebalanced = topic_id

    def _balance_topic(self, topic_id: TopicId) -> int:
        """Move partitions from the most to the least loaded members. Return how many were moved.

        Source: UniformHeterogeneousAssignmentBuilder#balanceTopic (4.3.1).
        """
        balancer = self._balancer(topic_id)
        if balancer.imbalance <= 1:
            return 0
        partitions_of: dict[int | None, list[int]] = {}
        for partition, owner in enumerate(self._partition_owners[topic_id]):
            partitions_of.setdefault(owner, []).append(partition)
        reassigned = 0
        while not balancer.is_balanced():
            most_loaded = balancer.next_most_loaded_member()
            while most_loaded is not None and not partitions_of.get(most_loaded):
                balancer.exclude_most_loaded_member()
                most_loaded = balancer.next_most_loaded_member()
            if most_loaded is None:
                break
            partition = partitions_of[most_loaded].pop()
            least_loaded = balancer.next_least_loaded_member()
            if balancer.is_balanced():
                break
            self._assign_partition(topic_id, partition, least_loaded)
            reassigned += 1
        return reassigned

    def _balancer(self, topic_id: TopicId) -> MemberAssignmentBalancer:
        return MemberAssignmentBalancer(self._topic_subscribers[topic_id], self._target_assignment_sizes)

    def _assign_partition(self, topic_id: TopicId, partition: int, index: int) -> None:
        """Source: UniformHeterogeneousAssignmentBuilder#assignPartition (4.3.1)."""
        old_index = self._partition_owners[topic_id][partition]
        if old_index is not None:
            self._remove_partition_from_target_assignment(topic_id, partition, old_index)
        self._add_partition_to_target_assignment(topic_id, partition, index)

    def _add_partition_to_target_assignment(self, topic_id: TopicId, partition: int, index: int) -> None:
        """Source: UniformHeterogeneousAssignmentBuilder#addPartitionToTargetAssignment (4.3.1)."""
        partitions_each = -(-self._num_partitions[topic_id] // len(self._topic_subscribers[topic_id]))
        new_set = partial(JavaHashSet[int], int_hash_code, capacity=capacity_for(partitions_each))
        self._target_assignment[index].compute_if_absent(topic_id, new_set).add(partition)
        self._partition_owners[topic_id][partition] = index
        self._target_assignment_sizes[index] += 1

    def _remove_partition_from_target_assignment(self, topic_id: TopicId, partition: int, index: int) -> None:
        """Source: UniformHeterogeneousAssignmentBuilder#removePartitionFromTargetAssignment (4.3.1)."""
        assignment = self._target_assignment[index]
        assignment[topic_id].discard(partition)
        if not assignment[topic_id]:
            del assignment[topic_id]
        self._partition_owners[topic_id][partition] = None
        self._target_assignment_sizes[index] -= 1

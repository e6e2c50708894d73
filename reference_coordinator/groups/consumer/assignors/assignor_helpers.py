"""Helpers of the assignors: assignments as Java maps."""

from collections.abc import Collection, Mapping
from typing import TypeAlias

from reference_coordinator.core.ids import TopicId
from reference_coordinator.core.java_hash_map import JavaHashMap, JavaHashSet
from reference_coordinator.core.map_order import int_hash_code, uuid_hash_code
from reference_coordinator.groups.consumer.assignors.group_spec import Assignment

AssignmentMap: TypeAlias = JavaHashMap[TopicId, JavaHashSet[int]]
"""An assignment that is being built."""


def from_record(assignment: Mapping[TopicId, Collection[int]]) -> AssignmentMap:
    """Convert a target assignment from its record form. Source: Assignment#fromRecord (4.3.1)."""
    partitions_by_topic: AssignmentMap = JavaHashMap(uuid_hash_code)
    for topic_id, partitions in assignment.items():
        partitions_by_topic[topic_id] = JavaHashSet.copy_of(partitions, int_hash_code)
    return partitions_by_topic


def deep_copy_assignment(assignment: Mapping[TopicId, Collection[int]]) -> AssignmentMap:
    """Return a mutable copy, whose order may differ. Source: AssignorHelpers#deepCopyAssignment (4.3.1)."""
    copied: AssignmentMap = JavaHashMap(uuid_hash_code, capacity=len(assignment))
    for topic_id, partitions in assignment.items():
        copied[topic_id] = JavaHashSet.copy_of(partitions, int_hash_code)
    return copied


def assignment_of(partitions_by_topic: AssignmentMap) -> Assignment:
    """Return the immutable assignment from the map that was built.

    Decided in: GroupCoordinatorRecordHelpers#newConsumerGroupTargetAssignmentRecord (4.3.1).
    """
    return {topic_id: tuple(partitions) for topic_id, partitions in partitions_by_topic.items()}

"""The offsets up to which members have restored tasks, as last reported. They are not in the log."""

from collections.abc import Mapping
from dataclasses import field
from typing import Final

from reference_coordinator.core.errors import CoordinatorError, Errors
from reference_coordinator.core.values import value
from reference_coordinator.messages.streams_groups import TaskOffset

Offsets = Mapping[str, Mapping[int, int]]
"""Offsets by subtopology and partition."""


@value
class MemberTaskOffsets:
    """The task offsets of one member. Source: MemberTaskOffsets (4.4.0)."""

    task_offsets: Offsets = field(default_factory=dict)
    task_end_offsets: Offsets = field(default_factory=dict)

    def update(
        self, task_offsets: tuple[TaskOffset, ...] | None, task_end_offsets: tuple[TaskOffset, ...] | None
    ) -> "MemberTaskOffsets":
        """Return the offsets after a heartbeat. None leaves them unchanged.

        Raises:
            CoordinatorError: INVALID_REQUEST, if a task is contained twice.

        Source: MemberTaskOffsets#update (4.4.0).
        """
        return MemberTaskOffsets(
            task_offsets=self.task_offsets if task_offsets is None else _to_nested_map(task_offsets),
            task_end_offsets=(
                self.task_end_offsets if task_end_offsets is None else _to_nested_map(task_end_offsets)
            ),
        )


NO_OFFSETS: Final = MemberTaskOffsets()
"""Source: MemberTaskOffsets.EMPTY (4.4.0)."""


def task_offsets_from_map(offsets: Offsets) -> tuple[TaskOffset, ...]:
    """Return offsets as a sorted list. Source: StreamsGroupMember#taskOffsetsFromMap (4.4.0)."""
    return tuple(
        TaskOffset(subtopology_id=key, partition=partition, offset=offsets[key][partition])
        for key in sorted(offsets)
        for partition in sorted(offsets[key])
    )


def _to_nested_map(listed: tuple[TaskOffset, ...]) -> Offsets:
    """Source: MemberTaskOffsets#toNestedMap (4.4.0)."""
    result: dict[str, dict[int, int]] = {}
    for each in listed:
        by_partition = result.setdefault(each.subtopology_id, {})
        if each.partition in by_partition:
            raise CoordinatorError(
                Errors.INVALID_REQUEST,
                f"Task offsets contain a duplicate entry for subtopology {each.subtopology_id} and partition "
                f"{each.partition}.",
            )
        by_partition[each.partition] = each.offset
    return result

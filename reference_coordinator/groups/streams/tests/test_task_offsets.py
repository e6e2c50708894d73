"""Offsets of tasks: what a heartbeat changes of them, and in which order they are shown."""

import pytest

from reference_coordinator.core.errors import CoordinatorError, Errors
from reference_coordinator.groups.streams.task_offsets import (
    NO_OFFSETS,
    MemberTaskOffsets,
    task_offsets_from_map,
)
from reference_coordinator.messages.streams_groups import TaskOffset


def _offset(key: str, partition: int, offset: int) -> TaskOffset:
    return TaskOffset(subtopology_id=key, partition=partition, offset=offset)


def test_null_leaves_what_was_there() -> None:
    known = NO_OFFSETS.update((_offset("0", 1, 7),), None).update(None, (_offset("0", 1, 9),))

    assert known == MemberTaskOffsets(task_offsets={"0": {1: 7}}, task_end_offsets={"0": {1: 9}})
    assert known.update((), ()) == NO_OFFSETS


def test_a_task_is_named_once() -> None:
    with pytest.raises(CoordinatorError) as refused:
        NO_OFFSETS.update((_offset("0", 1, 7), _offset("0", 1, 7)), None)
    assert refused.value.error is Errors.INVALID_REQUEST


def test_offsets_are_shown_in_order() -> None:
    assert task_offsets_from_map({"1": {0: 1}, "0": {2: 2, 1: 3}}) == (
        _offset("0", 1, 3),
        _offset("0", 2, 2),
        _offset("1", 0, 1),
    )

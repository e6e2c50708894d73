"""The state of share partitions in the journal of a broker."""

from dataclasses import astuple
from typing import Final, cast

from reference_coordinator.core.ids import GroupId, TopicId
from reference_coordinator.server.journal import Journal, Json
from reference_coordinator.shares.state import (
    KeptShareState,
    ShareGroupOffset,
    SharePartitionKey,
    SharePartitionStates,
)
from reference_coordinator.shares.state_batches import StateBatch

_PREFIX: Final = "share "


def save_share_states(states: SharePartitionStates, journal: Journal) -> None:
    """Write the state of each partition that changed since the last call to the journal."""
    for key, kept in states.take_changes().items():
        # The group comes last, since its name may contain anything.
        journal.put(f"{_PREFIX}{key.topic_id} {key.partition} {key.group_id}", _written(kept))


def restore_share_states(states: SharePartitionStates, journal: Journal) -> None:
    """Restore the states of partitions from the journal, and record their changes from now on."""
    states.note_changes()
    for name, content in journal.items(_PREFIX):
        topic_id, partition, group_id = name.split(" ", 2)
        key = SharePartitionKey(GroupId(group_id), TopicId(topic_id), int(partition))
        states.restore(key, _restored(cast("dict[str, Json]", content)))


def _written(kept: KeptShareState | None) -> Json:
    if kept is None:
        return None
    return {
        "state_epoch": kept.offset.state_epoch,
        "leader_epoch": kept.offset.leader_epoch,
        "start_offset": kept.offset.start_offset,
        "delivery_complete_count": kept.offset.delivery_complete_count,
        "batches": [[*astuple(each)] for each in kept.offset.state_batches],
        "leader_epoch_seen": kept.leader_epoch,
        "state_epoch_seen": kept.state_epoch,
    }


def _restored(content: dict[str, Json]) -> KeptShareState:
    numbers = {name: number for name, number in content.items() if isinstance(number, int)}
    rows = cast("list[tuple[int, int, int, int]]", content["batches"])
    return KeptShareState(
        offset=ShareGroupOffset(
            state_epoch=numbers["state_epoch"],
            leader_epoch=numbers["leader_epoch"],
            start_offset=numbers["start_offset"],
            delivery_complete_count=numbers["delivery_complete_count"],
            state_batches=tuple(
                StateBatch(first_offset=first, last_offset=last, delivery_state=state, delivery_count=count)
                for first, last, state, count in rows
            ),
        ),
        leader_epoch=numbers["leader_epoch_seen"],
        state_epoch=numbers["state_epoch_seen"],
    )

"""What the leaders of a classic group assign. Its coordinator is compared with the reference by replays."""

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from harness.invariants.exchange import Exchange, binary, items, number, text
from harness.invariants.violation import AtFault, Found, Invariant

TopicPartition: TypeAlias = tuple[str, int]

_VERSION: Final = struct.Struct(">h")
_COUNT: Final = struct.Struct(">i")
_LENGTH: Final = struct.Struct(">h")


def owned(assignment: bytes) -> frozenset[TopicPartition] | None:
    """Return the partitions of a serialized assignment, or None where the bytes are not an assignment.

    Source: ConsumerProtocol#deserializeAssignment (4.3.1). Versions differ only after the partitions.
    """
    try:
        return frozenset(_partitions(assignment))
    except (struct.error, UnicodeDecodeError):
        return None


def _partitions(assignment: bytes) -> list[TopicPartition]:
    found: list[TopicPartition] = []
    (topic_count,) = _COUNT.unpack_from(assignment, _VERSION.size)
    position = _VERSION.size + _COUNT.size
    for _ in range(topic_count):
        (length,) = _LENGTH.unpack_from(assignment, position)
        position += _LENGTH.size
        topic = assignment[position : position + length].decode()
        position += length
        (partition_count,) = _COUNT.unpack_from(assignment, position)
        position += _COUNT.size
        partitions = struct.unpack_from(f">{max(0, partition_count)}i", assignment, position)
        position += _COUNT.size * len(partitions)
        found += ((topic, partition) for partition in partitions)
    return found


_GENERATIONS_KEPT: Final = 8
_CONSUMERS: Final = "consumer"


@dataclass(frozen=True, slots=True)
class _Task:
    """What a leader has to assign in a generation."""

    members: frozenset[str]
    """The members in its JoinGroup response."""
    is_of_consumers: bool


@dataclass(slots=True)
class Group:
    """A group, whose leaders are tracked through joins and syncs."""

    _tasks: dict[tuple[int, str], _Task] = field(default_factory=dict)
    """By generation and leader, until the leader's assignments have been accepted."""

    def answered(self, answered: Exchange) -> Iterator[Found]:
        """Process an answer to a member and yield the violations that it shows."""
        if not answered.is_right:
            return
        match answered.api:
            case "JoinGroup":
                self._joined(answered)
            case "SyncGroup":
                yield from self._synced(answered)
            case _:
                pass

    def removed(self) -> None:
        """Clear the state, since the group no longer exists."""
        self._tasks.clear()

    def _joined(self, answered: Exchange) -> None:
        fields = answered.response
        leader, generation = text(fields, "leader"), number(fields, "generation_id")
        members = frozenset(text(each, "member_id") for each in items(fields, "members"))
        if members and leader == text(fields, "member_id") and not fields.get("skip_assignment"):
            is_of_consumers = text(answered.request, "protocol_type") == _CONSUMERS
            self._tasks[generation, leader] = _Task(members, is_of_consumers)
            for old in sorted(self._tasks)[:-_GENERATIONS_KEPT]:
                del self._tasks[old]

    def _synced(self, answered: Exchange) -> Iterator[Found]:
        asked = answered.request
        generation = number(asked, "generation_id")
        sent = {text(each, "member_id"): binary(each, "assignment") for each in items(asked, "assignments")}
        task = self._tasks.pop((generation, text(asked, "member_id")), None)
        if task is None:
            return
        if missing := sorted(task.members - {member for member, given in sent.items() if given}):
            yield (
                Invariant.ALL_ASSIGNED,
                AtFault.CLIENTS,
                f"in generation {generation} the leader sent no assignment for {', '.join(missing)}",
            )
        if task.is_of_consumers:
            yield from _owned_twice(generation, sent)


def _owned_twice(generation: int, sent: Mapping[str, bytes]) -> Iterator[Found]:
    owners: dict[TopicPartition, str] = {}
    for member, assignment in sent.items():
        mine = owned(assignment) or frozenset()
        for topic, partition in sorted(mine & owners.keys()):
            both = f"{owners[topic, partition]} and {member}"
            what = f"in generation {generation} the leader gave {topic}-{partition} to {both}"
            yield Invariant.ONE_OWNER, AtFault.CLIENTS, what
        owners |= dict.fromkeys(mine, member)

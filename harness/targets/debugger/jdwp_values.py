"""Finds the partition that a thread at a breakpoint processes, from one of its local variables."""

import struct
from enum import IntEnum
from typing import Final, Protocol

from harness.targets.base.interface import TargetError

_FIELD: Final = "partition"
"""Source: TopicPartition#partition (3.9.2)."""
_ID_BYTES: Final = 8
"""The size of the ids of frames, objects and fields in every HotSpot JVM."""


class ValueCommand(IntEnum):
    """Command set and command in two bytes. Source: the JDWP specification's detail page."""

    FIELDS = 0x0204
    REFERENCE_TYPE = 0x0901
    OBJECT_VALUES = 0x0902
    FRAMES = 0x0B06
    FRAME_VALUES = 0x1001


class Agent(Protocol):
    """An object that answers commands."""

    async def command(self, command: ValueCommand, data: bytes = b"") -> bytes:
        """Send a command and return its reply."""


async def partition_at(agent: Agent, thread: bytes, slot: int) -> int:
    """Return the partition of the `TopicPartition` that a paused thread has in a local variable.

    Raises:
        TargetError: there is none.
    """
    reply = await agent.command(ValueCommand.FRAMES, thread + struct.pack(">ii", 0, 1))
    frame = reply[4 : 4 + _ID_BYTES]
    variable = struct.pack(">iiB", 1, slot, ord("L"))
    reply = await agent.command(ValueCommand.FRAME_VALUES, thread + frame + variable)
    topic_partition = reply[5 : 5 + _ID_BYTES]
    reply = await agent.command(ValueCommand.REFERENCE_TYPE, topic_partition)
    field = await _field(agent, reply[1 : 1 + _ID_BYTES])
    query = topic_partition + struct.pack(">i", 1) + field
    reply = await agent.command(ValueCommand.OBJECT_VALUES, query)
    return int.from_bytes(reply[5:9], signed=True)


async def _field(agent: Agent, type_id: bytes) -> bytes:
    reply = await agent.command(ValueCommand.FIELDS, type_id)
    at = 4
    for _ in range(int.from_bytes(reply[:4])):
        field_id = reply[at : at + _ID_BYTES]
        at += _ID_BYTES
        name, at = _text(reply, at)
        _, at = _text(reply, at)
        at += 4
        if name == _FIELD:
            return field_id
    raise TargetError(f"what a thread that is paused has there has no {_FIELD}")


def _text(reply: bytes, at: int) -> tuple[str, int]:
    length = int.from_bytes(reply[at : at + 4])
    return reply[at + 4 : at + 4 + length].decode(), at + 4 + length

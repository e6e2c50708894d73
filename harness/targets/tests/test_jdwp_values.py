"""What a thread that is paused is about: the debugger's questions, against an agent of a few lines."""

import asyncio
import struct

import pytest

from harness.targets.base.interface import Breakpoint, TargetError
from harness.targets.debugger.breakpoints import code_points
from harness.targets.debugger.jdwp_values import ValueCommand, partition_at

THREAD, FRAME, OBJECT, TYPE, HASH, PARTITION = (bytes([each] * 8) for each in range(1, 7))


def text(value: str) -> bytes:
    return len(value).to_bytes(4) + value.encode()


class Agent:
    """A JVM with one thread, whose frame has a `TopicPartition` in variable 1."""

    def __init__(self, *fields: tuple[bytes, str]) -> None:
        self.fields = fields

    async def command(self, command: ValueCommand, data: bytes = b"") -> bytes:
        await asyncio.sleep(0)
        match command:
            case ValueCommand.FRAMES:
                assert data == THREAD + struct.pack(">ii", 0, 1)
                return struct.pack(">i", 1) + FRAME + bytes(25)
            case ValueCommand.FRAME_VALUES:
                assert data == THREAD + FRAME + struct.pack(">iiB", 1, 1, ord("L"))
                return struct.pack(">iB", 1, ord("L")) + OBJECT
            case ValueCommand.REFERENCE_TYPE:
                assert data == OBJECT
                return b"\1" + TYPE
            case ValueCommand.FIELDS:
                assert data == TYPE
                rows = (field + text(name) + text("I") + bytes(4) for field, name in self.fields)
                return struct.pack(">i", len(self.fields)) + b"".join(rows)
            case ValueCommand.OBJECT_VALUES:
                assert data == OBJECT + struct.pack(">i", 1) + PARTITION
                return struct.pack(">iBi", 1, ord("I"), 37)


def test_the_partition_is_read_off_the_threads_variable() -> None:
    agent = Agent((HASH, "hash"), (PARTITION, "partition"))
    assert asyncio.run(partition_at(agent, THREAD, 1)) == 37


def test_what_has_no_partition_is_reported() -> None:
    with pytest.raises(TargetError, match="has there has no partition"):
        asyncio.run(partition_at(Agent((HASH, "hash")), THREAD, 1))


@pytest.mark.parametrize("version", ["2.4.1", "2.8.2", "3.9.2", "4.0.0", "4.3.1"])
def test_every_load_can_be_reported_by_its_partition(version: str) -> None:
    point = code_points(version, java_coordinator=False)[Breakpoint.LOADING]
    assert point.partition_in == 1
    assert not point.partitions

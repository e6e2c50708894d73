"""Damaged directories of a broker: each is refused, or has all that was acknowledged."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from reference_coordinator.core.errors import Errors
from reference_coordinator.log.segments import DamagedLogError
from reference_coordinator.tests.crashing_disk import CrashingDisk
from reference_coordinator.tests.kept_broker import DIRECTORY, KeptBroker
from reference_coordinator.tests.wire_topic_client import TopicClient, batch

FOLDERS = 300
OFFSETS = DIRECTORY / "__consumer_offsets-0" / f"{0:020d}.log"
JOURNAL = DIRECTORY / "reference.jsonl"
LOG = DIRECTORY / "orders-0.log"
VALUES = [b"a", b"b", b"c", b"d"]
COMMITS = 3


def written() -> CrashingDisk:
    """Write records, offsets and topics; everything is acknowledged, and the process is killed."""
    disk = CrashingDisk()
    broker = KeptBroker(disk)
    client = TopicClient(broker)
    for value in VALUES:
        assert client.produce(batch(value)).error is Errors.NONE
    group = broker.connect()
    group.coordinator()
    for offset in range(COMMITS + 1):
        assert group.commit(offset) == Errors.NONE
    topic = {"name": "later", "num_partitions": 1, "replication_factor": 1}
    broker.connect().ask("create_topics", 7, topics=(topic,), timeout=1000)
    return next(again for name, again in disk.disks_after() if name.startswith("everything"))


def copied(disk: CrashingDisk) -> CrashingDisk:
    return next(again for name, again in disk.disks_after() if name.startswith("everything"))


def has_all(broker: KeptBroker) -> bool:
    return (
        TopicClient(broker).values() == VALUES
        and broker.connect().committed() == (COMMITS, Errors.NONE)
        and broker.state.topics.get("later") is not None
    )


def damaged(disk: CrashingDisk, path: Path, kind: str, chance: random.Random) -> CrashingDisk:
    """Return a copy of a disk with one file damaged."""
    found = copied(disk)
    content = bytearray(found.read(path))
    found.remove(path)
    at = chance.randrange(len(content))
    if kind == "missing":
        return found
    if kind == "cut off":
        del content[at:]
    elif kind == "flipped":
        content[at] ^= 1 << chance.randrange(8)
    elif kind == "zeroed":
        content[at:] = bytes(len(content) - at)
    found.create(path)
    found.append(path, bytes(content))
    return found


def folders() -> Iterator[tuple[Path, str, int]]:
    kinds = ("cut off", "flipped", "zeroed")
    yield from ((path, "missing", 0) for path in (LOG, JOURNAL))
    for number in range(FOLDERS // 9):
        yield from ((path, kind, number) for path in (LOG, JOURNAL, OFFSETS) for kind in kinds)


def test_an_undamaged_directory_has_all() -> None:
    assert has_all(KeptBroker(written()))


def test_nothing_acknowledged_is_lost_in_silence() -> None:
    disk = written()
    refused, silent = 0, []
    for path, kind, seed in folders():
        try:
            broker = KeptBroker(damaged(disk, path, kind, random.Random(seed)))
        except DamagedLogError as error:
            refused += str(path) in str(error)
        else:
            if not has_all(broker):
                silent.append((path, kind, seed))

    assert silent == []
    assert refused > FOLDERS * 0.9


@pytest.mark.parametrize("path", [LOG, JOURNAL])
def test_a_missing_file_is_reported(path: Path) -> None:
    with pytest.raises(DamagedLogError, match=f"{path.name} is missing"):
        KeptBroker(damaged(written(), path, "missing", random.Random(0)))

"""The store after a crash at every step and in the middle of every write: nothing lost, nothing invented."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import pytest

from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import Millis
from reference_coordinator.core.records import CoordinatorRecord
from reference_coordinator.log.directory import DirectoryStore
from reference_coordinator.log.inspection import LoadedGroup
from reference_coordinator.log.offsets_log import OffsetsLog
from reference_coordinator.log.segments import DamagedLogError
from reference_coordinator.profile.profiles import profile_for
from reference_coordinator.tests.crashing_disk import Crashed, CrashingDisk
from reference_coordinator.tests.log_kit import (
    EMPTY,
    FORGOTTEN,
    GONE,
    STABLE,
    append,
    committed,
    end,
    groups_in,
    in_transaction,
)

pytestmark = pytest.mark.slow

DIRECTORY = Path("/data")
SEGMENT_BYTES = 600
KILL_POINTS_AT_LEAST = 1_000
Step = Callable[[OffsetsLog], Errors]


def _write(*records: CoordinatorRecord) -> Step:
    return lambda log: append(log, *records)


def _end(*, is_commit: bool) -> Step:
    return lambda log: end(log, is_commit=is_commit)


WORK: tuple[Step, ...] = (
    _write(STABLE),
    _write(committed(1), committed(1, partition=1)),
    _write(committed(2)),
    _write(in_transaction(100)),
    _write(committed(3)),
    _end(is_commit=True),
    _write(EMPTY),
    _write(FORGOTTEN),
    _write(in_transaction(200, partition=1)),
    _end(is_commit=False),
    _write(committed(4, partition=2)),
    _write(GONE),
    _write(committed(5)),
    _write(in_transaction(300, partition=3)),
    _write(STABLE),
    _end(is_commit=True),
    _write(committed(6)),
    _write(committed(7, partition=1)),
)


@dataclass
class History:
    """What a run had been told when it ended."""

    acknowledged: list[Step] = field(default_factory=list)
    under_way: list[Step] = field(default_factory=list)
    """The one that was not answered, if there was one."""


def _store(disk: CrashingDisk, *, compacts: bool) -> DirectoryStore:
    times = count()
    return DirectoryStore(
        DIRECTORY,
        profile_for("4.4"),
        num_partitions=1,
        segment_bytes=SEGMENT_BYTES,
        now_ms=(lambda: Millis(next(times) * 100_000_000)) if compacts else None,
        files=disk,
    )


def _run(disk: CrashingDisk, *, compacts: bool) -> History:
    history = History()
    try:
        log = OffsetsLog(_store(disk, compacts=compacts))
        for step in WORK:
            history.under_way = [step]
            assert step(log) is Errors.NONE
            history.acknowledged.append(step)
            history.under_way = []
    except Crashed:
        pass
    return history


def _log_of(steps: list[Step]) -> OffsetsLog:
    log = OffsetsLog()
    for step in steps:
        step(log)
    return log


def _groups(history: History) -> list[tuple[LoadedGroup, ...]]:
    """What may be there afterwards: without what was under way, or with it."""
    steps = (history.acknowledged, history.acknowledged + history.under_way)
    return [groups_in(_log_of(each)) for each in steps]


def _kill_points(*, compacts: bool) -> list[tuple[int, int]]:
    """Every step, and of every write each byte, or a sample of them."""
    disk = CrashingDisk()
    _run(disk, compacts=compacts)
    points: list[tuple[int, int]] = []
    for step, length in enumerate(disk.unsynced_bytes_of, 1):
        stride = max(1, length // 16)
        points.extend((step, torn) for torn in (0, *range(1, length, stride), *([length] if length else [])))
    return points


def test_a_crash_at_any_point_loses_and_invents_nothing() -> None:
    seen = 0
    torn_tails = 0
    for crash_at, torn_after in _kill_points(compacts=False):
        disk = CrashingDisk(crash_at=crash_at, torn_after=torn_after)
        history = _run(disk, compacts=False)
        steps = (history.acknowledged, history.acknowledged + history.under_way)
        right = [list(_log_of(each).read(0)) for each in steps]
        for name, found in disk.disks_after():
            store = _store(found, compacts=False)
            log = OffsetsLog(store)
            records = list(log.read(0))
            assert records in right, (crash_at, torn_after, name)
            append(log, committed(99))
            assert list(OffsetsLog(_store(found, compacts=False)).read(0)) == [*records, committed(99)]
            is_torn = _is_torn(disk, name, torn_after)
            assert bool(store.notices) == is_torn, (crash_at, torn_after, name, store.notices)
            torn_tails += is_torn
            seen += 1
    assert seen >= KILL_POINTS_AT_LEAST
    assert torn_tails > 100


def _is_torn(disk: CrashingDisk, name: str, torn_after: int) -> bool:
    length = disk.unsynced_bytes_of[-1]
    if name == "everything is there":
        return 0 < torn_after < length and disk.written is not None and disk.written.suffix == ".log"
    return name == "lengths are there, contents are not" and _has_unsynced(disk)


def _has_unsynced(disk: CrashingDisk) -> bool:
    return any(
        len(file.content) > len(file.synced) for path, file in disk._names.items() if path.suffix == ".log"
    )


def test_a_crash_in_compaction_loses_and_revives_nothing() -> None:
    seen = 0
    for crash_at, torn_after in _kill_points(compacts=True):
        disk = CrashingDisk(crash_at=crash_at, torn_after=torn_after)
        history = _run(disk, compacts=True)
        right = _groups(history)
        for name, found in disk.disks_after():
            log = OffsetsLog(_store(found, compacts=True))
            assert groups_in(log) in right, (crash_at, torn_after, name)
            seen += 1
    assert seen >= KILL_POINTS_AT_LEAST


def test_segments_are_rolled_and_compacted_on_the_way() -> None:
    disks = [CrashingDisk(), CrashingDisk()]
    for disk, compacts in zip(disks, (False, True), strict=True):
        _run(disk, compacts=compacts)
    kept, compacted = ([path.name for path in disk._names if path.suffix == ".log"] for disk in disks)

    assert len(kept) > 3
    assert len(compacted) == 2
    assert disks[0].steps < disks[1].steps


def test_a_crash_while_a_crash_is_mended_loses_nothing() -> None:
    points = _kill_points(compacts=True)
    for crash_at, torn_after in points[:: max(1, len(points) // 60)]:
        disk = CrashingDisk(crash_at=crash_at, torn_after=torn_after)
        history = _run(disk, compacts=True)
        right = _groups(history)
        for name, found in disk.disks_after():
            for second in range(1, 12):
                found.crash_at = found.steps + second
                with suppress(Crashed):
                    _store(found, compacts=True)
                found.crash_at = None
                for again, last in found.disks_after():
                    log = OffsetsLog(_store(last, compacts=True))
                    assert groups_in(log) in right, (crash_at, torn_after, name, second, again)


@pytest.mark.parametrize("forgets", ["sync", "sync_directory", "truncate"])
def test_a_store_that_forgot_something_would_be_found_out(
    forgets: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CrashingDisk, forgets, lambda self, *_: self._step())

    with pytest.raises((AssertionError, DamagedLogError)):
        test_a_crash_at_any_point_loses_and_invents_nothing()

"""A log that outlives the process that serves it."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from reference_coordinator.core.ids import Millis
from reference_coordinator.core.values import value
from reference_coordinator.log.batches import RecordStore
from reference_coordinator.log.directory import DEFAULT_SEGMENT_BYTES, DirectoryStore
from reference_coordinator.log.offsets_log import OffsetsLog
from reference_coordinator.profile.profiles import Profile

_MILLIS_PER_SECOND: Final = 1000


@value
class KeptLog:
    """A log, and the numbers that its broker needs."""

    log: OffsetsLog
    num_partitions: int
    num_records: int
    """The number of records ever appended, according to their offsets."""


@contextmanager
def kept_log(
    directory: Path,
    profile: Profile,
    *,
    num_partitions: int | None,
    codec: int,
    tell: Callable[[str], None],
    segment_bytes: int = DEFAULT_SEGMENT_BYTES,
    around: Callable[[RecordStore], RecordStore] = lambda store: store,
) -> Iterator[KeptLog]:
    """Open a directory's log for the duration of the context; report truncated and unreadable records.

    `around` wraps the store; the log writes through the store that it returns.

    Raises:
        LockedDirectoryError, DamagedLogError, MisplacedGroupError, OSError: see `DirectoryStore`.
    """
    store = DirectoryStore(
        directory,
        profile,
        num_partitions=num_partitions,
        codec=codec,
        segment_bytes=segment_bytes,
        now_ms=lambda: Millis(int(time.time() * _MILLIS_PER_SECOND)),
        tell=tell,
    )
    try:
        log = OffsetsLog(around(store))
        for message in (*store.notices, *map(str, log.unreadable())):
            tell(message)
        num_records = sum(map(log.end_offset, log.partitions()))
        yield KeptLog(log=log, num_partitions=store.num_partitions, num_records=num_records)
    finally:
        store.close()

"""A log that takes long to load: many records that compress to almost nothing.

All records are the same offset of a group that no scenario uses.
"""

import asyncio
import functools
from typing import Final

from harness.targets.base.appending import produce
from harness.targets.base.interface import BrokerSession
from harness.wire.log_records import encode_record
from harness.wire.record_batch import encode_batch

_BATCHES: Final = 40
_RECORDS: Final = 5_000
"""Records in one batch: 40 kB on the wire, 20 MB to be read."""
BATCH_BYTES_MAX: Final = 60_000
"""The maximum size of a batch on the wire."""
_METADATA_BYTES: Final = 4_000
_PARTITION: Final = 0
_VALUE_VERSION: Final = 3
"""The oldest version that every release since 2.1 reads. Source: OffsetCommitValue.json."""


async def lengthen_log(session: BrokerSession) -> None:
    """Write the records, so that the coordinator's next load takes a second or more.

    Raises:
        TargetError: the broker does not accept them.
    """
    batch = await asyncio.to_thread(_batch)
    await produce(session, _PARTITION, (batch,) * _BATCHES)


@functools.cache
def _batch() -> bytes:
    """Return a batch of equal records."""
    record = encode_record(
        {
            "key": {"type": 1, "group": "kafka-conformance-long-log", "topic": "orders", "partition": 0},
            "value": {
                "version": _VALUE_VERSION,
                "offset": 0,
                "leader_epoch": -1,
                "metadata": "x" * _METADATA_BYTES,
                "commit_timestamp": 0,
            },
        }
    )
    return encode_batch((record,) * _RECORDS, compress=True)

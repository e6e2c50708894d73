"""A server's memory stays flat over heartbeats, commits of a key, and groups that come and go."""

from pathlib import Path
from typing import Final

import pytest

from reference_coordinator.tests.endurance import KINDS, endure
from reference_coordinator.tests.server_process import server_process

COUNT: Final = 15_000
GROWTH_BYTES: Final = 3 << 20
"""As the log once grew, by 365 bytes a commit and 780 a group, it would be 5 MB and 10 MB."""
SERVER: Final = (
    *("--topic", "orders:3", "--config", "group.initial.rebalance.delay.ms=0"),
    "offsets.topic.num.partitions=1",
)
"""With one partition its log is compacted within the first tenth."""


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_memory_is_flat_from_the_first_tenth_on(kind: str, tmp_path: Path) -> None:
    with server_process(tmp_path, *SERVER) as server:
        taken = [resident_bytes for _, resident_bytes in endure(server, kind, COUNT)]
        assert server.stop() == 0

    assert taken[-1] - taken[0] < GROWTH_BYTES, taken

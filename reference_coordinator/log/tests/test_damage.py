"""Damage of a directory: what was acknowledged is there when it is opened, or it is refused."""

import shutil
from pathlib import Path

import pytest

from reference_coordinator.log.segments import DamagedLogError
from reference_coordinator.tests.log_kit import append, committed, never_noted, opened, segment_of


def written(directory: Path) -> Path:
    """Write a batch of two records, and return its file."""
    store, log = opened(directory)
    append(log, committed(1), committed(2))
    store.close()
    return segment_of(directory)


@pytest.mark.slow
@pytest.mark.parametrize("bit", [*range(8 * 12), *range(8 * 12, 8 * 163, 7)])
def test_no_flipped_bit_of_an_acknowledged_batch_passes_for_a_torn_tail(bit: int, tmp_path: Path) -> None:
    path = written(tmp_path)
    content = bytearray(path.read_bytes())
    content[bit // 8] ^= 1 << bit % 8
    path.write_bytes(content)

    # The epoch of the leader that wrote a batch is all that neither a checksum nor a neighbour vouches for.
    if bit // 8 in range(12, 16):
        _, log = opened(tmp_path)
        assert log.records == [committed(1), committed(2)]
        return
    with pytest.raises(DamagedLogError, match="put back a copy"):
        opened(tmp_path)
    assert path.read_bytes() == content


@pytest.mark.parametrize("at", [8, 11, 16])
def test_a_last_batch_that_is_whole_but_for_its_length_is_damage_even_if_nothing_is_noted(
    at: int, tmp_path: Path
) -> None:
    store, log = opened(tmp_path)
    append(log, committed(1))
    append(log, committed(2))
    store.close()
    path = segment_of(tmp_path)
    content = bytearray(path.read_bytes())
    second = 12 + int.from_bytes(content[8:12], "big")
    content[second + at] ^= 0x40
    path.write_bytes(content)
    never_noted(tmp_path)

    with pytest.raises(DamagedLogError, match="is damaged at"):
        opened(tmp_path)


def test_a_partition_that_was_there_and_is_missing_is_reported(tmp_path: Path) -> None:
    store, log = opened(tmp_path, num_partitions=3)
    append(log, committed(1), partition=1)
    store.close()
    shutil.rmtree(tmp_path / "__consumer_offsets-1")

    with pytest.raises(DamagedLogError, match=r"__consumer_offsets-1 is missing, which had .* offset 1 "):
        opened(tmp_path)

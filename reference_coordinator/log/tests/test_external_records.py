"""Records of others in the log: what a load makes of them, and who notices; one load is paused for itself."""

import struct

import pytest

from reference_coordinator.core.errors import Errors
from reference_coordinator.core.records import OffsetCommitRecord
from reference_coordinator.log.external_records import external_batch
from reference_coordinator.profile.profiles import profile_for
from reference_coordinator.tests.wire_cluster import WireCluster

A, B = 1, 0
"""Partitions of the groups `a` and `b`."""


def text(value: str) -> bytes:
    return struct.pack(">h", len(value)) + value.encode()


def offset_key(group: str, partition: int = 0, *, key_type: int = 1) -> bytes:
    return struct.pack(">h", key_type) + text(group) + text("orders") + struct.pack(">i", partition)


def offset_value(offset: int, *, version: int = 3) -> bytes:
    epoch = struct.pack(">i", -1) if version == 3 else b""
    return struct.pack(">hq", version, offset) + epoch + text("") + struct.pack(">q", 0)


def flexible_value(offset: int, version: int) -> bytes:
    return struct.pack(">hqi", version, offset, -1) + b"\1" + struct.pack(">q", 0) + b"\0"


def put(cluster: WireCluster, partition: int, *records: tuple[bytes, bytes | None]) -> None:
    log = cluster.cluster.state.log
    added = external_batch(
        records,
        partition=partition,
        base_offset=log.end_offset(partition),
        profile=cluster.cluster.profile,
    )
    cluster.cluster.append_external(partition, added)


def fetched(cluster: WireCluster, group: str, partition: int = 0) -> tuple[str, int]:
    offset, error = cluster.client(1).committed(group_id=group, partition=partition)
    return Errors(error).name, offset


def committed(cluster: WireCluster, group: str, offset: int) -> str:
    return Errors(cluster.client(1).commit(offset, group_id=group)).name


def load_outcome(profile: str, *records: tuple[bytes, bytes | None]) -> tuple[str, int]:
    cluster = WireCluster(profile)
    put(cluster, A, (offset_key("a"), offset_value(1)), *records)
    cluster.restart(1)
    return fetched(cluster, "a")


LOADED, EMPTY, FAILED = ("NONE", 1), ("NONE", -1), ("NOT_COORDINATOR", -1)


@pytest.mark.parametrize(
    ("profile", "outcome"),
    [
        ("2.8", EMPTY),
        ("3.4.0", EMPTY),
        ("3.4", LOADED),
        ("3.9", LOADED),
        ("3.9-java", LOADED),
        ("4.3", LOADED),
    ],
)
def test_records_of_an_unknown_type_are_passed_over(profile: str, outcome: tuple[str, int]) -> None:
    assert load_outcome(profile, (b"\x00\x63what", b"ever"), (b"\xff\xff", None)) == outcome


@pytest.mark.parametrize(
    ("profile", "outcome"),
    [("2.8", EMPTY), ("3.9", EMPTY), ("3.9-java", LOADED), ("4.0", FAILED), ("4.3", FAILED)],
)
def test_versions_to_come_are_read_as_the_newest_by_the_first_java_coordinators(
    profile: str, outcome: tuple[str, int]
) -> None:
    assert load_outcome(profile, (offset_key("a", 1), flexible_value(2, 77))) == outcome


@pytest.mark.parametrize(
    ("tags", "outcome"),
    [("00", LOADED), ("0105021122", LOADED), ("020010" + "11" * 16 + "05021122", LOADED), ("", FAILED)],
    ids=["none", "unknown", "a topic id and an unknown one", "not even their number"],
)
def test_tags_to_come_are_passed_over(tags: str, outcome: tuple[str, int]) -> None:
    value = flexible_value(2, 4)[:-1] + bytes.fromhex(tags)
    assert load_outcome("4.3", (offset_key("a", 1), value)) == outcome


@pytest.mark.parametrize("profile", ["3.9", "3.9-java", "4.3"])
def test_a_value_that_ends_too_early_is_unreadable(profile: str) -> None:
    expected = EMPTY if profile == "3.9" else FAILED
    assert load_outcome(profile, (offset_key("a", 1), offset_value(2)[:-9])) == expected


@pytest.mark.parametrize(
    ("profile", "outcome"),
    [("3.9", LOADED), ("3.9-java", LOADED), ("4.0", LOADED), ("4.1", FAILED), ("4.3", FAILED)],
)
def test_a_key_of_type_0_wants_a_value_of_version_0_since_4_1(profile: str, outcome: tuple[str, int]) -> None:
    key = offset_key("a", 1, key_type=0)
    assert load_outcome(profile, (key, offset_value(2, version=0))) == LOADED
    assert load_outcome(profile, (key, offset_value(2, version=3))) == outcome


def test_a_spoilt_partition_is_lost_again_with_what_was_written_since() -> None:
    cluster = WireCluster("3.9")
    put(cluster, A, (offset_key("a"), b""))
    cluster.restart(1)
    assert committed(cluster, "a", 5) == "NONE"
    assert fetched(cluster, "a") == ("NONE", 5)
    cluster.restart(1)
    assert fetched(cluster, "a") == EMPTY
    assert committed(cluster, "b", 6) == "NONE"


@pytest.mark.parametrize(
    ("profile", "reported"),
    [("3.9", "NONE"), ("3.7-java", "NONE"), ("3.9-java", "NOT_COORDINATOR"), ("4.3", "NOT_COORDINATOR")],
)
def test_a_write_notices_what_others_wrote_and_stands(profile: str, reported: str) -> None:
    cluster = WireCluster(profile)
    assert committed(cluster, "a", 1) == "NONE"
    put(cluster, A, (offset_key("a", 1), offset_value(11)))

    assert fetched(cluster, "a", 1) == ("NONE", -1)
    assert committed(cluster, "a", 2) == reported
    assert fetched(cluster, "a") == ("NONE", 2)
    assert fetched(cluster, "a", 1) == ("NONE", -1 if reported == "NONE" else 11)
    assert committed(cluster, "a", 3) == "NONE"


def test_who_writes_elsewhere_notices_nothing() -> None:
    cluster = WireCluster("4.3")
    put(cluster, A, (offset_key("a"), offset_value(11)))
    assert committed(cluster, "b", 1) == "NONE"
    assert fetched(cluster, "a") == ("NONE", -1)


@pytest.mark.parametrize(
    ("profile", "queued"),
    [
        ("2.8.0", "COORDINATOR_LOAD_IN_PROGRESS"),
        ("3.9", "NOT_COORDINATOR"),
        ("4.3", "COORDINATOR_LOAD_IN_PROGRESS"),
    ],
)
@pytest.mark.parametrize("paused", [A, B])
def test_a_paused_load_lets_those_before_it_go_on(profile: str, queued: str, paused: int) -> None:
    """Partition 0, of `b`, is loaded before partition 1."""
    cluster = WireCluster(profile)
    assert [committed(cluster, group, 7) for group in "ab"] == ["NONE", "NONE"]
    cluster.cluster.pause_at_loading(frozenset({paused}))
    cluster.restart(1)

    assert fetched(cluster, "b")[0] == ("COORDINATOR_LOAD_IN_PROGRESS" if paused == B else "NONE")
    assert fetched(cluster, "a")[0] == ("COORDINATOR_LOAD_IN_PROGRESS" if paused == A else queued)
    cluster.resume_from_loading()
    assert [fetched(cluster, group) for group in "ab"] == [("NONE", 7), ("NONE", 7)]


def test_a_record_stands_where_the_log_ended() -> None:
    found = external_batch(
        [(b"\x00\x63", None), (offset_key("a"), offset_value(3))],
        partition=A,
        base_offset=10,
        profile=profile_for("4.3"),
    )
    (batch,) = found.batches
    assert (found.end_offset, batch.offsets) == (12, (11,))
    (record,) = batch.records
    assert isinstance(record, OffsetCommitRecord)
    assert (record.offset, found.unreadable) == (3, None)

"""Logs that a broker wrote, read by the reference, and logs that the reference wrote, read by a broker."""

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from harness.targets.base.dialogue import Dialogue
from harness.tests.carried_log import (
    PARTITION,
    ROOT,
    broker_over,
    conversation,
    put,
    reference_over,
    started_again,
    stopped,
)
from harness.tests.log_conversation import GROUPS, Observed, described, tell, write
from reference_coordinator.core.ids import Millis
from reference_coordinator.log.record_batch import Record, RecordBatch, encode_batch
from reference_coordinator.tests.log_kit import opened

pytestmark = pytest.mark.broker

GZIP, SNAPPY, LZ4, ZSTD = "1", "2", "3", "4"


def _load(directory: Path, profile: str) -> dict[str, Any]:
    command = [
        sys.executable,
        "-m",
        "reference_coordinator",
        "load",
        str(directory),
        "--profile",
        profile,
        "--json",
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def _append(storage: Path, key: bytes, value: bytes) -> None:
    """Write a record behind what is there."""
    _, log = opened(storage)
    stored = RecordBatch(
        base_offset=log.end_offset(0),
        last_offset=log.end_offset(0),
        max_timestamp_ms=Millis(0),
        records=(Record(offset=log.end_offset(0), timestamp_ms=Millis(0), key=key, value=value),),
    )
    *_, last = sorted((storage / PARTITION).glob("*.log"))
    with last.open("ab") as segment:
        segment.write(encode_batch(stored))


def _agrees(loaded: Mapping[str, Any], reported: Observed) -> None:
    """Hold what `load` shows against what the broker told."""
    groups = {group["group_id"]: group for group in loaded["groups"]}
    for group_id, group_reported in reported.groups.items():
        assert isinstance(group_reported, Mapping)
        assert (group_id in groups) == (group_reported["group_state"] != "Dead"), group_id
        if group_id in groups:
            _agree_on(groups[group_id], group_reported)
    for (group_id, partition), (offset, metadata, error) in reported.offsets.items():
        group = groups.get(group_id, {"offsets": [], "pending_offsets": []})
        pending = [each for each in group["pending_offsets"] if each["partition"] == partition]
        assert bool(pending) == (error == "UNSTABLE_OFFSET_COMMIT")
        if not pending:
            found = [each for each in group["offsets"] if each["partition"] == partition]
            expected = [(each["offset"], each["metadata"]) for each in found] or [(-1, "")]
            assert expected == [(offset, metadata)], (group_id, partition)


def _agree_on(group: Mapping[str, Any], described: Mapping[str, Any]) -> None:
    assert group["state"] == described["group_state"]
    assert group["protocol_type"] == described["protocol_type"]
    assert [
        (each["member_id"], each["group_instance_id"], each["client_id"], each["client_host"])
        for each in group["members"]
    ] == [
        (each["member_id"], each["group_instance_id"], each["client_id"], each["client_host"])
        for each in described["members"]
    ]
    assert [each["assignment"] for each in group["members"]] == [
        each["member_assignment"].hex() for each in described["members"]
    ]


async def test_the_conversation_leaves_a_group_in_each_condition(tmp_path: Path) -> None:
    async with reference_over("4.4", tmp_path / "data", tmp_path, "0") as session:
        dialogue = Dialogue(await session.connect())
        await write(dialogue, offset=10)
        reported = await tell(dialogue)
    states = {group: dict(reported.groups[group])["group_state"] for group in GROUPS}  # type: ignore[arg-type]
    assert states == {
        "stable": "Stable",
        "simple": "Empty",
        "left": "Empty",
        "deleted": "Dead",
        "txn": "Empty",
    }
    assert [reported.offsets["txn", partition][2] for partition in range(3)] == [
        *("NONE", "NONE", "UNSTABLE_OFFSET_COMMIT")
    ]
    assert [reported.offsets["txn", partition][0] for partition in range(2)] == [10, -1]


@pytest.mark.parametrize(
    ("version", "codec"),
    [("2.8.2", SNAPPY), ("3.9.2", GZIP), ("3.9.2", LZ4), ("4.3.1", ZSTD), ("4.3.1", "0")],
)
async def test_a_broker_the_reference_and_the_broker_again_carry_on_one_log(
    version: str, codec: str, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    async with broker_over(version, tmp_path / "broker", codec) as broker:
        await conversation(broker.open_session("write"), lambda dialogue: write(dialogue, offset=10))
        given_by_broker = await conversation(broker.open_session("tell"), tell)
        storage = await stopped(broker)
        shutil.copytree(storage, data)
        _agrees(_load(data, version), given_by_broker)

        async with reference_over(version, data, tmp_path, codec) as session:
            dialogue = Dialogue(await session.connect())
            assert await tell(dialogue) == given_by_broker
            await write(dialogue, offset=20)
            given_by_reference = await tell(dialogue)
        assert given_by_reference != given_by_broker

        put(data, storage)
        await started_again(broker)
        assert await conversation(broker.open_session("tell again"), tell) == given_by_reference


@pytest.mark.parametrize(("version", "codec"), [("2.8.2", LZ4), ("3.9.2", ZSTD), ("4.3.1", SNAPPY)])
async def test_a_broker_reads_what_the_reference_wrote(version: str, codec: str, tmp_path: Path) -> None:
    data = tmp_path / "data"
    async with reference_over(version, data, tmp_path, codec) as session:
        dialogue = Dialogue(await session.connect())
        await write(dialogue, offset=10)
        await write(dialogue, offset=20)
        given_by_reference = await tell(dialogue)
    _agrees(_load(data, version), given_by_reference)
    async with broker_over(version, tmp_path / "broker", codec) as broker:
        put(data, await stopped(broker))
        await started_again(broker)
        assert await conversation(broker.open_session("tell"), tell) == given_by_reference


UNKNOWN_TYPE = (b"\0\x63rest", b"\0\0")
UNKNOWN_VERSION = (b"\0\2\0\4left", b"\0\x4d")
CUT_SHORT = (b"\0\2\0\4left", b"\0\3\0")


@pytest.mark.parametrize(
    ("version", "record"),
    [
        ("2.8.2", UNKNOWN_TYPE),
        ("3.9.2", UNKNOWN_TYPE),
        ("3.9.2", UNKNOWN_VERSION),
        ("4.3.1", UNKNOWN_TYPE),
        ("4.3.1", CUT_SHORT),
    ],
    ids=["type-2.8.2", "type-3.9.2", "version-3.9.2", "type-4.3.1", "short-4.3.1"],
)
async def test_a_record_that_is_not_known_has_the_same_effect_on_both(
    version: str, record: tuple[bytes, bytes], tmp_path: Path
) -> None:
    data = tmp_path / "data"
    async with broker_over(version, tmp_path / "broker", "0") as broker:
        await conversation(broker.open_session("write"), lambda dialogue: write(dialogue, offset=10))
        storage = await stopped(broker)
        _append(storage, *record)
        shutil.copytree(storage, data)
        async with reference_over(version, data, tmp_path, "0") as session:
            given_by_reference = await described(Dialogue(await session.connect()))
        await started_again(broker)
        assert await conversation(broker.open_session("tell"), described) == given_by_reference

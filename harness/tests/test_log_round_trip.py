"""Logs that a broker wrote, read by the reference, and logs that the reference wrote, read by a broker."""

import asyncio
import json
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest

from harness.targets.base.dialogue import Dialogue
from harness.targets.base.interface import BrokerSession
from harness.targets.base.program import Program
from harness.targets.base.tcp import TcpSession, new_connect_slots
from harness.targets.kafka.local import LocalBroker
from harness.targets.kafka.properties import NODE_ID
from harness.targets.kafka.released import KafkaTarget
from harness.tests.log_conversation import GROUPS, TOPIC, Observed, described, tell, write
from reference_coordinator.core.ids import Millis
from reference_coordinator.log.record_batch import Record, RecordBatch, encode_batch
from reference_coordinator.tests.log_kit import opened

T = TypeVar("T")
pytestmark = pytest.mark.broker

ROOT = Path(__file__).parents[2]
PARTITION = "__consumer_offsets-0"
GZIP, SNAPPY, LZ4, ZSTD = "1", "2", "3", "4"


@asynccontextmanager
async def _broker(version: str, directory: Path, codec: str) -> AsyncIterator[LocalBroker]:
    directory.mkdir()  # noqa: ASYNC240 - on a local disk, and nothing else goes on
    broker = await KafkaTarget(version).start(
        broker_config={"offsets.topic.compression.codec": codec},
        directory=directory,
        progress=lambda _: None,
    )
    assert isinstance(broker, LocalBroker)
    try:
        yield broker
    finally:
        await broker.stop()


async def _conversation(session: BrokerSession, say: Callable[[Dialogue], Awaitable[T]]) -> T:
    try:
        return await say(Dialogue(await session.connect()))
    finally:
        await session.close()


async def _stopped(broker: LocalBroker) -> Path:
    """Stop the broker's JVM; return its storage, which stays."""
    await broker._nodes.stop(broker._coordinator)
    return broker._nodes.storage_of(NODE_ID)


@asynccontextmanager
async def _reference(profile: str, data_dir: Path, directory: Path, codec: str) -> AsyncIterator[TcpSession]:
    """Serve a directory by the reference."""
    command = [sys.executable, "-m", "reference_coordinator", "--profile", profile]
    config = [
        "--config",
        f"offsets.topic.compression.codec={codec}",
        "offsets.topic.num.partitions=1",
        "group.initial.rebalance.delay.ms=0",
    ]
    given = ["--data-dir", str(data_dir), "--topic", f"{TOPIC}:3"]
    log = directory / "reference.log"
    log.write_text("")
    program = Program([*command, *config, *given], log=log, directory=ROOT)
    try:
        while "listening on" not in log.read_text():
            assert program.exit_status is None, program.log_tail()
            await asyncio.sleep(0.02)
        address = log.read_text().split("listening on ")[1].split()[0]
        host, port = address.rsplit(":", 1)
        session = TcpSession(host, int(port), connect_slots=new_connect_slots())
        yield session
        await session.close()
    finally:
        # Whatever was answered is on the disk; there is nothing to wait for.
        program.kill()


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


def _put(source: Path, storage: Path) -> None:
    """Give a stopped broker another log in place of its own, and have it make what it derives from it."""
    partition = storage / PARTITION
    for path in partition.iterdir():
        if path.suffix in {".log", ".index", ".timeindex", ".snapshot", ".txnindex"}:
            path.unlink()
    for path in (source / PARTITION).glob("*.log"):
        shutil.copy(path, partition)
    for name in (".kafka_cleanshutdown", "recovery-point-offset-checkpoint"):
        (storage / name).unlink(missing_ok=True)


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


def test_the_conversation_leaves_a_group_in_each_condition(tmp_path: Path) -> None:
    async def play() -> None:
        async with _reference("4.4", tmp_path / "data", tmp_path, "0") as session:
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

    asyncio.run(play())


@pytest.mark.parametrize(
    ("version", "codec"),
    [("2.8.2", SNAPPY), ("3.9.2", GZIP), ("3.9.2", LZ4), ("4.3.1", ZSTD), ("4.3.1", "0")],
)
def test_a_broker_the_reference_and_the_broker_again_carry_on_one_log(
    version: str, codec: str, tmp_path: Path
) -> None:
    async def play() -> None:
        data = tmp_path / "data"
        async with _broker(version, tmp_path / "broker", codec) as broker:
            await _conversation(broker.open_session("write"), lambda dialogue: write(dialogue, offset=10))
            given_by_broker = await _conversation(broker.open_session("tell"), tell)
            storage = await _stopped(broker)
            shutil.copytree(storage, data)
            _agrees(_load(data, version), given_by_broker)

            async with _reference(version, data, tmp_path, codec) as session:
                dialogue = Dialogue(await session.connect())
                assert await tell(dialogue) == given_by_broker
                await write(dialogue, offset=20)
                given_by_reference = await tell(dialogue)
            assert given_by_reference != given_by_broker

            _put(data, storage)
            await broker._come_back(broker._coordinator, {})
            assert await _conversation(broker.open_session("tell again"), tell) == given_by_reference

    asyncio.run(play())


@pytest.mark.parametrize(("version", "codec"), [("2.8.2", LZ4), ("3.9.2", ZSTD), ("4.3.1", SNAPPY)])
def test_a_broker_reads_what_the_reference_wrote(version: str, codec: str, tmp_path: Path) -> None:
    async def play() -> None:
        data = tmp_path / "data"
        async with _reference(version, data, tmp_path, codec) as session:
            dialogue = Dialogue(await session.connect())
            await write(dialogue, offset=10)
            await write(dialogue, offset=20)
            given_by_reference = await tell(dialogue)
        _agrees(_load(data, version), given_by_reference)
        async with _broker(version, tmp_path / "broker", codec) as broker:
            _put(data, await _stopped(broker))
            await broker._come_back(broker._coordinator, {})
            assert await _conversation(broker.open_session("tell"), tell) == given_by_reference

    asyncio.run(play())


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
def test_a_record_that_is_not_known_has_the_same_effect_on_both(
    version: str, record: tuple[bytes, bytes], tmp_path: Path
) -> None:
    async def play() -> None:
        data = tmp_path / "data"
        async with _broker(version, tmp_path / "broker", "0") as broker:
            await _conversation(broker.open_session("write"), lambda dialogue: write(dialogue, offset=10))
            storage = await _stopped(broker)
            _append(storage, *record)
            shutil.copytree(storage, data)
            async with _reference(version, data, tmp_path, "0") as session:
                given_by_reference = await described(Dialogue(await session.connect()))
            await broker._come_back(broker._coordinator, {})
            assert await _conversation(broker.open_session("tell"), described) == given_by_reference

    asyncio.run(play())

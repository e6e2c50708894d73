"""Helpers that hand a log from a broker to the reference and back."""

import asyncio
import base64
import shutil
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, TypeVar
from uuid import UUID

from harness.targets.base.dialogue import Dialogue
from harness.targets.base.interface import BrokerSession
from harness.targets.base.program import Program
from harness.targets.base.tcp import TcpSession, new_connect_slots
from harness.targets.kafka.local import LocalBroker
from harness.targets.kafka.properties import NODE_ID
from harness.targets.kafka.released import KafkaTarget

T = TypeVar("T")
ROOT: Final = Path(__file__).parents[2]
PARTITION: Final = "__consumer_offsets-0"
TOPICS: Final = {"orders": 3}
_NO_IDS: Final[Mapping[str, str]] = {}
_CONFIG: Final = ("offsets.topic.num.partitions=1", "group.initial.rebalance.delay.ms=0")


@asynccontextmanager
async def broker_over(version: str, directory: Path, codec: str) -> AsyncIterator[LocalBroker]:
    """Start a broker with a compression codec for its log."""
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


async def conversation(session: BrokerSession, say: Callable[[Dialogue], Awaitable[T]]) -> T:
    """Return the result of a conversation on its own connection."""
    try:
        return await say(Dialogue(await session.connect()))
    finally:
        await session.close()


async def stopped(broker: LocalBroker) -> Path:
    """Stop the broker's JVM; return its storage, which stays."""
    await broker._nodes.stop(broker._coordinator)
    return broker._nodes.storage_of(NODE_ID)


@asynccontextmanager
async def reference_over(
    profile: str,
    data_dir: Path,
    directory: Path,
    codec: str,
    *,
    topic_ids: Mapping[str, str] = _NO_IDS,
    config: Mapping[str, str] = _NO_IDS,
) -> AsyncIterator[TcpSession]:
    """Serve a directory by the reference, with the broker's topics."""
    command = [sys.executable, "-m", "reference_coordinator", "--profile", profile]
    properties = [f"offsets.topic.compression.codec={codec}", *_CONFIG, *map("=".join, config.items())]
    topics = [
        f"{name}:{count}{_suffix(topic_ids[name]) if name in topic_ids else ''}"
        for name, count in TOPICS.items()
    ]
    given = ["--data-dir", str(data_dir), "--topic", *topics]
    log = directory / "reference.log"
    log.write_text("")
    program = Program([*command, "--config", *properties, *given], log=log, directory=ROOT)
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


async def started_again(broker: LocalBroker) -> None:
    """Start a broker that was stopped, over its storage."""
    await broker._come_back(broker._coordinator, {})


def put(source: Path, storage: Path) -> None:
    """Replace the log of a stopped broker, and remove the files that it derives from the log."""
    partition = storage / PARTITION
    for path in partition.iterdir():
        if path.suffix in {".log", ".index", ".timeindex", ".snapshot", ".txnindex"}:
            path.unlink()
    for path in (source / PARTITION).glob("*.log"):
        shutil.copy(path, partition)
    for name in (".kafka_cleanshutdown", "recovery-point-offset-checkpoint"):
        (storage / name).unlink(missing_ok=True)


def _suffix(topic_id: str) -> str:
    """Write an id as Kafka's tools print it, behind a colon."""
    return f":{base64.urlsafe_b64encode(UUID(topic_id).bytes).decode().rstrip('=')}"

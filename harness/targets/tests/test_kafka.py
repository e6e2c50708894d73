"""Real brokers: started, asked, killed, stopped."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from types import MappingProxyType

import pytest

from harness.targets.base.conformance import CONFORMANCE_TOPICS
from harness.targets.base.dialogue import Dialogue
from harness.targets.base.interface import (
    TargetError,
)
from harness.targets.external.target import ExternalTarget
from harness.targets.kafka.local import LocalBroker
from harness.targets.kafka.released import KafkaTarget
from harness.tests.completed_runs import is_running, processes_of
from harness.wire.codec import Fields

pytestmark = pytest.mark.broker
_VERSION = "3.9.2"


@asynccontextmanager
async def _started(
    directory: Path, broker_config: Mapping[str, str] = MappingProxyType({})
) -> AsyncIterator[LocalBroker]:
    broker = await KafkaTarget(_VERSION).start(
        broker_config=broker_config, directory=directory, progress=lambda _: None
    )
    assert isinstance(broker, LocalBroker)
    try:
        yield broker
    finally:
        await broker.stop()


async def test_a_started_broker_serves_groups_and_has_the_topics_at_once(tmp_path: Path) -> None:
    async with _started(tmp_path) as broker:
        session = broker.open_session("any")
        dialogue = Dialogue(await session.connect())
        await dialogue.learn_versions()
        heartbeat: Fields = {"group_id": "g", "generation_id": 0, "member_id": "m"}
        assert (await dialogue.ask("Heartbeat", 3, heartbeat)).text("error_code") == "UNKNOWN_MEMBER_ID"
        metadata = await dialogue.ask("Metadata", 7, {"topics": None})
        assert {
            row.text("name"): len(row.rows("partitions"))
            for row in metadata.rows("topics")
            if row.text("name") in CONFORMANCE_TOPICS
        } == dict(CONFORMANCE_TOPICS)
        await session.close()

    assert broker.description.profile == _VERSION
    assert any(api.api_key == 11 for api in broker.description.api_ranges)


async def test_a_stopped_broker_leaves_its_log_and_no_process(tmp_path: Path) -> None:
    async with _started(tmp_path) as broker:
        assert all(is_running(pid) for pid in broker.pids)

    assert not any(is_running(pid) for pid in broker.pids)
    assert "started" in (tmp_path / "server.log").read_text()
    assert not list(tmp_path.glob("storage-*"))  # noqa: ASYNC240 - on a local disk
    assert broker.failure() is None


async def test_a_killed_broker_tells_the_signal_and_its_last_lines(tmp_path: Path) -> None:
    async with _started(tmp_path) as broker:
        assert broker.failure() is None
        os.kill(broker.pids[-1], signal.SIGKILL)
        while broker.failure() is None:  # noqa: ASYNC110 - a process sets no event
            await asyncio.sleep(0)
        assert "SIGKILL" in (broker.failure() or "")


async def test_a_scenarios_configuration_reaches_the_broker_and_an_external_target_reads_it(
    tmp_path: Path,
) -> None:
    async with _started(tmp_path, {"group.max.size": "3"}) as broker:
        host, _, port = broker.description.bootstrap.partition(":")
        external = await ExternalTarget(host, int(port)).start(
            broker_config={}, directory=tmp_path, progress=lambda _: None
        )
        assert external.description.broker_config["group.max.size"] == "3"
        assert external.description.broker_config["group.min.session.timeout.ms"] == "100"
        assert external.description.profile == "3.9"
        await external.stop()
        assert all(is_running(pid) for pid in broker.pids)


async def test_a_configuration_that_kafka_refuses_is_reported_and_leaves_no_process(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match=r"offsets\.topic\.num\.partitions"):
        async with _started(tmp_path, {"offsets.topic.num.partitions": "0"}):
            pytest.fail("it cannot start")


async def test_a_start_that_is_cancelled_leaves_no_process(tmp_path: Path) -> None:
    begun = asyncio.Event()
    start = asyncio.create_task(
        KafkaTarget(_VERSION).start(
            broker_config={},
            directory=tmp_path,
            progress=lambda text: begun.set() if "starting" in text else None,
        )
    )
    await begun.wait()
    while not (pids := processes_of(tmp_path)):  # noqa: ASYNC110 - a process sets no event
        await asyncio.sleep(0)
    start.cancel()
    with pytest.raises(asyncio.CancelledError):
        await start

    assert not any(is_running(pid) for pid in pids)

"""A broker that runs already, whose end no process tells: what becomes of its connections does."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from harness.targets.base.interface import ConnectionLost, TargetError
from harness.targets.external.target import ExternalBroker, ExternalTarget
from harness.targets.reference.oracle import oracle_for
from harness.targets.tests.test_guard import run_namespace
from harness.tests.made_events import BARE_BROKER
from harness.tests.patience import NOW_OR_NEVER_S


class _Listener:
    """Accepts, and hangs up when it is told to."""

    def __init__(self) -> None:
        self.accepted: asyncio.Queue[asyncio.StreamWriter] = asyncio.Queue()
        self._server: asyncio.Server | None = None

    async def start(self) -> int:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        return int(self._server.sockets[0].getsockname()[1])

    async def _accept(self, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self.accepted.put(writer)

    async def hang_up(self) -> None:
        (await self.accepted.get()).close()

    def stop(self) -> None:
        assert self._server is not None
        self._server.close()


@asynccontextmanager
async def external() -> AsyncIterator[tuple[_Listener, ExternalBroker]]:
    listener = _Listener()
    port = await listener.start()
    broker = ExternalBroker(BARE_BROKER, run_namespace(port=port))
    try:
        yield listener, broker
    finally:
        await broker.stop()
        listener.stop()


async def _until_gone(broker: ExternalBroker) -> None:
    async with asyncio.timeout(NOW_OR_NEVER_S):
        while broker.failure() is None:  # noqa: ASYNC110 - it is asked, and sets no event
            await asyncio.sleep(0)


async def test_a_broker_that_goes_away_is_reported_once_a_connection_was_lost() -> None:
    async with external() as (listener, broker):
        session = broker.open_session("any")
        connection = await session.connect()
        listener.stop()
        assert broker.failure() is None
        await listener.hang_up()
        with pytest.raises(ConnectionLost):
            await connection.receive(timeout_ms=20_000)
        await _until_gone(broker)
        assert "connection refused" in str(broker.failure())
        await session.close()


async def test_a_broker_that_accepts_no_more_is_gone() -> None:
    async with external() as (listener, broker):
        listener.stop()
        with pytest.raises(ConnectionLost):
            await broker.open_session("any").connect()
        await _until_gone(broker)


async def test_a_look_finds_out_whether_a_broker_still_accepts() -> None:
    async with external() as (listener, broker):
        await broker.look()
        assert broker.failure() is None
        await listener.hang_up()
        listener.stop()
        await broker.look()
        assert "connection refused" in str(broker.failure())


async def test_a_connection_that_a_broker_closes_is_not_its_end() -> None:
    async with external() as (listener, broker):
        session = broker.open_session("any")
        connection = await session.connect()
        await listener.hang_up()
        with pytest.raises(ConnectionLost):
            await connection.receive(timeout_ms=20_000)
        async with asyncio.timeout(NOW_OR_NEVER_S):
            looking = await listener.accepted.get()
        looking.close()
        assert broker.failure() is None
        await session.close()


def test_a_configuration_that_the_reference_refuses_is_reported() -> None:
    target = ExternalTarget("127.0.0.1", 9092)
    with pytest.raises(TargetError, match=r"external:127\.0\.0\.1:9092 has a configuration that"):
        oracle_for(target, replace(BARE_BROKER, broker_config={"group.max.size": "plenty"}))

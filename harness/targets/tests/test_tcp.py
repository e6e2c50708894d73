"""Frames over TCP, and what is no frame."""

import asyncio
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from harness.targets.base.interface import BrokerAction, ConnectionLost, NoAnswer, TargetError, closing
from harness.targets.base.ports import free_port
from harness.targets.base.tcp import StreamConnection, TcpSession, new_connect_slots

_Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def _connected(serve: _Serve) -> AsyncIterator[StreamConnection]:
    async def serve_and_close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await serve(reader, writer)
        writer.close()

    server = await asyncio.start_server(serve_and_close, "127.0.0.1", 0)
    async with closing(await StreamConnection.open(*server.sockets[0].getsockname()[:2])) as connection:
        yield connection
        server.close()
        await server.wait_closed()


def _sending(*chunks: bytes) -> _Serve:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for chunk in chunks:
            writer.write(chunk)
            await writer.drain()

    return serve


async def _until_closed(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()


async def test_a_frame_comes_back_without_its_size() -> None:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.readexactly(4 + 5))

    async with _connected(echo) as connection:
        await connection.send(b"hello")
        assert (await connection.receive(timeout_ms=5000)).payload == b"hello"


@pytest.mark.parametrize("size", [-1, -(2**31), 100 * 1024 * 1024 + 1, 2**31 - 1])
async def test_an_absurd_size_loses_the_connection_and_is_reported(size: int) -> None:
    async with _connected(_sending(struct.pack(">i", size))) as connection:
        with pytest.raises(ConnectionLost, match=f"frame of {size} bytes announced"):
            await connection.receive(timeout_ms=5000)
        with pytest.raises(ConnectionLost, match=f"frame of {size} bytes announced"):
            await connection.send(b"")


@pytest.mark.parametrize(
    ("sent", "reported"),
    [
        (b"HTTP/1.1 400 Bad Request", "it speaks HTTP"),
        (b"\x15\x03\x03\x00\x02\x02F", "it speaks TLS"),
        (b"", "closed by the peer$"),
        (b"\x00\x00", "closed by the peer after 2 bytes of a frame's size"),
        (b"\x00\x00\x00\x05abc", "closed by the peer after 3 of a frame's 5 bytes"),
        (b"\x00\x00\x00\x05", "closed by the peer after 0 of a frame's 5 bytes"),
    ],
)
async def test_what_is_no_frame_says_which_protocol_it_is_or_what_is_missing(
    sent: bytes, reported: str
) -> None:
    async with _connected(_sending(sent)) as connection:
        with pytest.raises(ConnectionLost, match=reported):
            await connection.receive(timeout_ms=5000)


async def test_silence_is_no_answer_and_the_connection_goes_on() -> None:
    async with _connected(_until_closed) as connection:
        for _ in range(2):
            with pytest.raises(NoAnswer):
                await connection.receive(timeout_ms=1)


async def test_a_frame_whose_rest_comes_after_the_timeout_is_not_torn() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"\x00\x00\x00\x06abc")
        await reader.readexactly(4)
        writer.write(b"def")

    async with _connected(serve) as connection:
        with pytest.raises(NoAnswer):
            await connection.receive(timeout_ms=50)
        await connection.send(b"")
        assert (await connection.receive(timeout_ms=5000)).payload == b"abcdef"


async def test_a_session_closes_what_was_left_open_and_has_a_clock_of_its_own() -> None:
    gone = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()
        gone.set()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    session = TcpSession(*server.sockets[0].getsockname()[:2], connect_slots=new_connect_slots())
    await session.connect()
    await session.elapse(5)
    assert session.now_ms() >= 5
    await session.close()
    await asyncio.wait_for(gone.wait(), 5)
    server.close()


def test_a_session_without_a_broker_tells_who_does_not_accept() -> None:
    port = free_port()
    session = TcpSession("127.0.0.1", port, connect_slots=new_connect_slots())

    with pytest.raises(ConnectionLost, match=f"127.0.0.1:{port} does not accept: connection refused"):
        asyncio.run(session.connect())


def test_a_session_over_a_network_refuses_what_it_cannot_do() -> None:
    session = TcpSession("127.0.0.1", 1, connect_slots=new_connect_slots())

    with pytest.raises(TargetError):
        asyncio.run(session.carry_out(BrokerAction.RESTART, {}))

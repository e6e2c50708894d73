"""A loopback network that processes of ours can lose."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from harness.targets.base.ports import free_port
from harness.targets.kafka.network import CAN_TELL_PROCESSES, LoopbackNetwork
from harness.targets.kafka.properties import HOST
from harness.tests.patience import NOW_OR_NEVER_S

pytestmark = pytest.mark.skipif(not CAN_TELL_PROCESSES, reason="needs Linux's table of connections")

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
_ECHO = """
import asyncio, sys
async def main(port):
    async def echo(reader, writer):
        while line := await reader.readline():
            writer.write(line)
    await asyncio.start_server(echo, "127.0.0.1", port)
    print("up", flush=True)
    reader = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(reader)
    await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, sys.stdin)
    peer = None
    while order := (await reader.readline()).decode().split():
        try:
            if order[0] == "connect":
                peer = await asyncio.open_connection("127.0.0.1", int(order[1]))
                continue
            peer[1].write((order[1] + "\\n").encode())
            bound_s = 0.5 if order[0] == "say-in-vain" else None
            said = (await asyncio.wait_for(peer[0].readline(), bound_s)).decode().strip() or "closed"
        except TimeoutError:
            said = "silence"
        except OSError:
            said = "refused"
        print(said, flush=True)
asyncio.run(main(int(sys.argv[1])))
"""


class EchoNode:
    """A process that echoes what comes to its port, and says to others what it is told to."""

    def __init__(self, process: asyncio.subprocess.Process, port: int) -> None:
        self.process = process
        self.port = port

    async def connect(self, port: int) -> None:
        await self._order(f"connect {port}")

    async def hears(self, word: str) -> str:
        """Say a word on its connection, and return what comes back, however late."""
        await self._order(f"say {word}")
        return await self._line()

    async def hears_nothing(self, word: str) -> bool:
        """Say a word on its connection, and tell whether nothing comes back for a while."""
        await self._order(f"say-in-vain {word}")
        return await self._line() == "silence"

    async def _order(self, order: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{order}\n".encode())
        await self.process.stdin.drain()

    async def _line(self) -> str:
        assert self.process.stdout is not None
        async with asyncio.timeout(NOW_OR_NEVER_S):
            return (await self.process.stdout.readline()).decode().strip()


@asynccontextmanager
async def echo_node() -> AsyncIterator[EchoNode]:
    port = free_port()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", _ECHO, str(port)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    node = EchoNode(process, port)
    try:
        assert await node._line() == "up"
        yield node
    finally:
        process.kill()
        await process.communicate()


async def echoed(streams: Streams, word: str) -> str:
    reader, writer = streams
    try:
        writer.write(f"{word}\n".encode())
        async with asyncio.timeout(NOW_OR_NEVER_S):
            return (await reader.readline()).decode().strip() or "closed"
    except ConnectionError:
        return "closed"


@asynccontextmanager
async def two_nodes() -> AsyncIterator[tuple[LoopbackNetwork, EchoNode, int, EchoNode, int]]:
    async with echo_node() as first, echo_node() as second:
        network = LoopbackNetwork(lambda: {first.process.pid: 1, second.process.pid: 2})
        reserved_ports = [
            await network.open_port(number, node.port) for number, node in ((1, first), (2, second))
        ]
        try:
            yield network, first, reserved_ports[0], second, reserved_ports[1]
        finally:
            await network.close()


async def is_refused(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection(HOST, port)
    except ConnectionRefusedError:
        return True
    writer.close()
    return False


async def test_a_node_without_a_network_is_not_reached_and_reaches_nobody() -> None:
    async with two_nodes() as (network, first, to_first, _, to_second):
        client = await asyncio.open_connection(HOST, to_first)
        await first.connect(to_second)
        assert [await echoed(client, "a"), await first.hears("b")] == ["a", "b"]

        network.disconnect(1)
        assert await echoed(client, "c") == "closed"
        assert await first.hears_nothing("d")
        assert await is_refused(to_first)
        await first.connect(to_second)
        assert await first.hears("e") in ("refused", "closed")
        # Those that have a network do not notice.
        other = await asyncio.open_connection(HOST, to_second)
        assert await echoed(other, "f") == "f"

        for _, writer in (client, other):
            writer.close()


async def test_what_was_said_without_a_network_is_lost_and_then_all_begins_anew() -> None:
    async with two_nodes() as (network, first, to_first, second, to_second):
        await second.connect(to_first)
        assert await second.hears("a") == "a"
        network.disconnect(1)
        assert await second.hears_nothing("lost")

        await network.reconnect(1)
        assert await second.hears("b") in ("refused", "closed")
        await second.connect(to_first)
        await first.connect(to_second)
        assert [await second.hears("c"), await first.hears("d")] == ["c", "d"]
        client = await asyncio.open_connection(HOST, to_first)
        assert await echoed(client, "e") == "e"
        client[1].close()


async def test_an_io_process_without_anybody_behind_it_lets_go_whoever_comes() -> None:
    network = LoopbackNetwork(dict)
    reserved_port = await network.open_port(1, free_port())
    client = await asyncio.open_connection(HOST, reserved_port)
    assert await echoed(client, "a") == "closed"
    client[1].close()
    await network.close()
    assert await is_refused(reserved_port)


async def test_who_has_just_come_is_let_go_when_the_network_closes() -> None:
    async with echo_node() as node:
        network = LoopbackNetwork(dict)
        reserved_port = await network.open_port(1, node.port)
        clients = await asyncio.gather(*(asyncio.open_connection(HOST, reserved_port) for _ in range(20)))
        await network.close()
        assert {await echoed(client, "a") for client in clients} == {"closed"}
        for _, writer in clients:
            writer.close()

"""The connection from a tap to a secured broker: the tap carries plain text, and this adds TLS and SASL.

So no journal contains a password, and clients of the tap need none.
"""

import asyncio
import contextlib
import socket
import sys
import threading
from typing import Final

from harness.targets.base.interface import ConnectionLost
from harness.targets.base.tcp import StreamConnection
from harness.targets.secured.security import Security

_CHUNK_BYTES: Final = 1 << 16


class SecuredWay:
    """Opens secured connections on a separate thread."""

    def __init__(self, security: Security) -> None:
        self._security = security
        self._loop = asyncio.new_event_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()

    def socket_to(self, host: str, port: int) -> socket.socket:
        """Return a socket with a broker's plain text, which closes if the broker cannot be reached."""
        ours, theirs = socket.socketpair()
        self._loop.call_soon_threadsafe(self._begin, theirs, host, port)
        return ours

    def _begin(self, end: socket.socket, host: str, port: int) -> None:
        task = self._loop.create_task(self._carry(end, host, port))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _carry(self, end: socket.socket, host: str, port: int) -> None:
        reader, writer = await asyncio.open_connection(sock=end)
        try:
            connection = await StreamConnection.open(host, port, security=self._security)
        except ConnectionLost as error:
            sys.stderr.write(f"{error}\n")
            sys.stderr.flush()
            writer.close()
            return
        broker_reader, broker_writer = connection.streams
        ways = [
            asyncio.ensure_future(_one_way(reader, broker_writer)),
            asyncio.ensure_future(_one_way(broker_reader, writer)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            # TLS has no half-closed connections, so ending one direction ends both.
            for way in ways:
                way.cancel()
            for each in (writer, broker_writer):
                each.close()


async def _one_way(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(_CHUNK_BYTES):
            writer.write(data)
            await writer.drain()

"""The process of a tap, which listens, carries bytes between clients and brokers, and stores them undecoded.

Its parent sends it lines of JSON over a link: `{"conversation": NAME}`. The answer repeats the name, with the
`address` of that conversation or an `error`. Later answers about it also contain the first request that a
guard has `refused`. When the parent closes the link, for whatever reason, the tap ends.

Bytes are passed on first and then stored, in one write. So a killed process loses only what it was about to
write.
"""

import asyncio
import contextlib
import gc
import json
import os
import resource
import signal
import socket
import struct
import sys
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias

from harness.tap.framing import Dialogue, RequestStream, ResponseStream, Stream
from harness.tap.journal import Closing, Endpoint, Journal, Kind, Opening, left_out
from harness.tap.listeners import (
    BACKLOG,
    Address,
    Listener,
    ListenerGroup,
    parse_address,
    parse_addresses,
    peer_of,
    written,
)
from harness.targets.base.interface import ConnectionLost
from harness.targets.base.nonsense import why_no_address
from harness.targets.base.tcp import StreamConnection
from harness.targets.external.guard import Guard
from harness.targets.external.namespace import Namespace
from harness.targets.secured.properties import security_of
from harness.targets.secured.security import Security
from harness.trace.schema import json_object

Streams: TypeAlias = tuple[asyncio.StreamReader, asyncio.StreamWriter]
CHUNK_BYTES: Final = 1 << 17
_PATIENCE_S: Final = 30.0
"""How long to wait for a broker to accept, and for one end to close after the other has."""
_RESET_ON_CLOSE: Final = struct.pack("ii", 1, 0)


@dataclass(slots=True)
class _End:
    """One end of a connection, with the stream of bytes from it."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    stream: Stream


class Connection:
    """A client's streams and those of a broker."""

    def __init__(self, client: Streams, dialogue: Dialogue, journal: Journal, number: int) -> None:
        """Begin with the client alone."""
        self._dialogue, self._journal, self._number = dialogue, journal, number
        self._ends = [_End(*client, RequestStream(dialogue))]
        self._has_ended = False
        """Whether one end has ended, which is in the journal."""
        self._is_over = False

    async def carry(self, broker: Streams) -> None:
        """Carry bytes in both directions until both ends have closed, or one is lost."""
        (client,) = self._ends
        other = _End(*broker, ResponseStream(self._dialogue))
        self._ends.append(other)
        if self._is_over:  # It ended while the broker was being reached.
            other.writer.close()
            return
        ways = [asyncio.ensure_future(self._one_way(*each)) for each in ((client, other), (other, client))]
        try:
            _, pending = await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            if pending and not self._is_over:
                await asyncio.wait(pending, timeout=_PATIENCE_S)
        finally:
            for way in ways:
                way.cancel()
            self._close()

    async def _one_way(self, source: _End, target: _End) -> None:
        reading = source
        try:
            while data := await source.reader.read(CHUNK_BYTES):
                reading = target
                target.writer.write(source.stream.take(data))
                # Sent first, so that recording does not delay the receiver.
                self._record(source)
                if self._dialogue.refused is not None:
                    self.end(Endpoint.TAP, self._dialogue.refused, reset=False)
                    return
                await target.writer.drain()
                reading = source
        except OSError as error:
            self.end(reading.stream.side, os.strerror(error.errno or 0), reset=True)
            return
        if self._is_over:
            return
        target.writer.write(source.stream.flush())
        self._record(source)
        self._note_end(source.stream.side, "closed")
        if target.writer.can_write_eof():
            with contextlib.suppress(OSError):
                target.writer.write_eof()
        else:
            # TLS has no half-closed connections, so ending one direction ends both.
            self._close()

    def _record(self, source: _End) -> None:
        is_client = source.stream.side is Endpoint.CLIENT
        kind = Kind.REQUEST_BYTES if is_client else Kind.RESPONSE_BYTES
        kind_left_out = Kind.REQUEST_BYTES_LEFT_OUT if is_client else Kind.RESPONSE_BYTES_LEFT_OUT
        for kept, count in source.stream.kept:
            if kept:
                self._journal.keep(kind, self._number, bytes(kept))
            if count:
                self._journal.keep(kind_left_out, self._number, left_out(count))
        source.stream.kept.clear()

    def _note_end(self, side: Endpoint, how: str) -> None:
        if not self._has_ended:
            self._has_ended = True
            self._journal.keep_record(Kind.CLOSED, self._number, Closing(side=side, how=how))

    def end(self, side: Endpoint, how: str, *, reset: bool) -> None:
        """End the connection at both ends at once, for a reason of one side, with a reset or in order."""
        if self._is_over:
            return
        for each in self._ends:
            each.stream.flush()
            self._record(each)
        self._note_end(side, how)
        for each in self._ends if reset else ():
            with contextlib.suppress(OSError):
                connected: socket.socket = each.writer.get_extra_info("socket")
                connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
            each.writer.transport.abort()
        self._close()

    def _close(self) -> None:
        self._is_over = True
        for each in self._ends:
            each.writer.close()

    async def closed(self) -> None:
        """Wait until both ends are closed."""
        for each in self._ends:
            with contextlib.suppress(OSError):
                await each.writer.wait_closed()


_END_S: Final = 1.0


@dataclass(slots=True)
class Carrier:
    """All connections of a tap, in one event loop."""

    journal: Journal
    bootstrap: tuple[Address, ...]
    listen: Address
    advertised: str
    guard: Guard | None = None
    security: Security | None = None
    _refused: dict[str, str] = field(default_factory=dict)
    """The first request that was refused to the clients of each conversation."""
    _conversations: dict[str, Address] = field(default_factory=dict)
    _servers: list[asyncio.Task[asyncio.Server]] = field(default_factory=list)
    _connections: set[Connection] = field(default_factory=set)
    _connected: int = 0

    async def run(self, link: socket.socket) -> None:
        """Carry bytes until the parent closes the link."""
        questions, answers = await asyncio.open_connection(sock=link)
        with contextlib.suppress(OSError):
            while line := await questions.readline():
                name = str(json_object(line, where="a question")["conversation"])
                answer = {"conversation": name} | self._conversation(name)
                answers.write(json.dumps(answer).encode() + b"\n")
        open_now = tuple(self._connections)
        for connection in open_now:
            connection.end(Endpoint.TAP, "the tap was stopped", reset=False)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_END_S):
                await asyncio.gather(*(each.closed() for each in open_now))

    def _conversation(self, name: str) -> dict[str, str]:
        if name not in self._conversations:
            host, port = self.listen
            conversation = ListenerGroup(
                name=name,
                bootstrap=self.bootstrap,
                host=host,
                advertised=self.advertised,
                opened=self._accept_at,
            )
            try:
                listener = conversation.listen(0 if self._conversations else port)
            except OSError as error:
                return {"error": f"nobody can listen on {written(self.listen)}: {error.strerror or error}"}
            self._conversations[name] = (self.advertised, listener.port)
        refused = {"refused": self._refused[name]} if name in self._refused else {}
        return {"address": written(self._conversations[name]), **refused}

    def _accept_at(self, listener: Listener) -> None:
        serving = asyncio.start_server(
            partial(self._serve, listener), sock=listener.acceptor, limit=CHUNK_BYTES, backlog=BACKLOG
        )
        self._servers.append(asyncio.get_running_loop().create_task(serving))

    async def _serve(
        self, listener: Listener, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        host, port = next(listener.addresses)
        if (why_not := why_no_address(host, port)) is not None:
            # A broker has advertised this address; only connections to it are refused.
            sys.stderr.write(f"{listener.broker}: {why_not}\n")
            writer.close()
            return
        self._connected += 1
        number, name = self._connected, listener.conversation.name
        opening = Opening(
            conversation=name,
            client=peer_of(writer.get_extra_info("socket")),
            broker=listener.broker,
            address=written((host, port)),
        )
        self.journal.keep_record(Kind.OPENED, number, opening)
        dialogue = Dialogue(
            relocate=listener.conversation.relocate,
            remark=partial(self.journal.keep_record, Kind.REMARK, number),
            conversation=name,
            guard=self.guard,
        )
        connection = Connection((reader, writer), dialogue, self.journal, number)
        self._connections.add(connection)
        try:
            if (broker := await self._reach(connection, host, port)) is not None:
                await connection.carry(broker)
        finally:
            self._connections.discard(connection)
            if dialogue.refused is not None:
                self._refused.setdefault(name, dialogue.refused)

    async def _reach(self, connection: Connection, host: str, port: int) -> Streams | None:
        """Connect to a broker; the client is read only after that has succeeded."""
        try:
            if self.security is not None:
                return (await StreamConnection.open(host, port, security=self.security)).streams
            async with asyncio.timeout(_PATIENCE_S):
                return await asyncio.open_connection(host, port, limit=CHUNK_BYTES)
        except ConnectionLost as error:
            sys.stderr.write(f"{error}\n")
            sys.stderr.flush()
            connection.end(Endpoint.BROKER, "cannot be reached", reset=False)
        except TimeoutError:
            connection.end(Endpoint.BROKER, "did not accept in time", reset=True)
        except OSError as error:
            number = error.errno or 0
            how = os.strerror(number) if number > 0 else str(error)
            connection.end(Endpoint.BROKER, how, reset=True)
        return None


def main(
    link: str, journal: str, bootstrap: str, listen: str, advertised: str, prefix: str, is_secured: str
) -> None:
    """Run the process of a tap. With a prefix, clients may change nothing whose name lacks it.

    Standard input has the properties of secured connections to the brokers.
    """
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # These signals are meant for the parent, which closes the link when it has ended.
        signal.signal(each, signal.SIG_IGN)
    _, files_max = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (files_max, files_max))
    security = None
    if is_secured:
        named = json_object(sys.stdin.read(), where="standard input")
        security = security_of({name: str(value) for name, value in named.items()})
    carrier = Carrier(
        Journal(Path(journal), bootstrap),
        parse_addresses(bootstrap),
        parse_address(listen),
        advertised,
        Guard(namespace=Namespace(prefix), serves_clients=True) if prefix else None,
        security,
    )
    # Imported modules stay for good, so the garbage collector need not scan them while bytes wait.
    gc.freeze()
    asyncio.run(carrier.run(socket.socket(fileno=int(link))))


if __name__ == "__main__":
    main(*sys.argv[1:])

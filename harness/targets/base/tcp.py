"""Connections and broker sessions over a network, on the real clock."""

import asyncio
import ssl
import struct
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Final

from typing_extensions import override

from harness.targets.base.interface import (
    SETTLE_MS,
    Breakpoint,
    BrokerAction,
    BrokerSession,
    Connection,
    ConnectionLost,
    Frame,
    NoAnswer,
    Role,
    TargetError,
    closing,
)
from harness.targets.base.limits import ANSWER_BYTES
from harness.targets.base.nonsense import why_no_address
from harness.targets.secured.sasl import authenticate
from harness.targets.secured.security import PLAINTEXT, AccessRefused, Credentials, Security
from harness.targets.secured.tls import explained
from harness.wire.log_records import EncodedRecord

_CONNECT_TIMEOUT_S: Final = 10
_TLS_END_S: Final = 1.0
"""Time for the peer to confirm the end of a connection."""
_CONNECTS_AT_ONCE: Final = 32
"""Below the smallest backlog of a broker, so that no connect waits for a repeated SYN."""
_SIZE: Final = struct.Struct(">i")
_HTTP: Final = b"HTTP"
_TLS_RECORDS: Final = (b"\x15\x03", b"\x16\x03")
"""First bytes of an alert and of a handshake. Source: RFC 8446, section 5.1."""
SPEAKS_TLS: Final = "it speaks TLS: set security.protocol to SSL or SASL_SSL (--command-config)"


def new_connect_slots() -> asyncio.Semaphore:
    """Return a semaphore for all sessions of a broker, whose connects would otherwise exceed its backlog."""
    return asyncio.Semaphore(_CONNECTS_AT_ONCE)


class StreamConnection(Connection):
    """A connection over TCP. Once it is lost, every call raises the same `ConnectionLost`."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        *,
        on_loss: Callable[[], None] | None = None,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._on_loss = on_loss
        self._announced: int | None = None
        self._loss: str | None = None

    @classmethod
    async def open(
        cls,
        host: str,
        port: int,
        *,
        security: Security = PLAINTEXT,
        on_loss: Callable[[], None] | None = None,
    ) -> "StreamConnection":
        """Connect, and authenticate if the security settings contain credentials.

        Args:
            host: the broker's host.
            port: the broker's port.
            security: the security settings of the connection.
            on_loss: called when the connection is lost after it was opened.

        Raises:
            AccessRefused: the broker and the security settings do not match.
            ConnectionLost: nothing accepts the connection.
        """
        if (why_not := why_no_address(host, port)) is not None:
            raise ConnectionLost(why_not)
        try:
            async with asyncio.timeout(_CONNECT_TIMEOUT_S):
                reader, writer = await _connected(host, port, security.tls)
        except TimeoutError:
            raise ConnectionLost(f"{host}:{port} did not accept within {_CONNECT_TIMEOUT_S} s") from None
        except (ssl.SSLError, ConnectionAbortedError, ConnectionResetError) as error:
            if security.tls is None:
                raise ConnectionLost(f"{host}:{port} does not accept: {_reported(error)}") from error
            raise AccessRefused(f"{host}:{port}: {explained(error)}") from error
        except OSError as error:
            raise ConnectionLost(f"{host}:{port} does not accept: {_reported(error)}") from error
        connection = cls(reader, writer)
        if security.credentials is not None:
            await connection._authenticate(security.credentials, f"{host}:{port}")
        connection._on_loss = on_loss
        return connection

    async def _authenticate(self, credentials: Credentials, address: str) -> None:
        try:
            await authenticate(self, credentials)
        except ConnectionLost as error:
            await self.close()
            raise type(error)(f"{address}: {error}") from error
        except BaseException:
            self._writer.close()
            raise

    @property
    def streams(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """The streams, for a caller that reads raw bytes; the connection must not be used afterwards."""
        return self._reader, self._writer

    @override
    async def send(self, payload: bytes) -> None:
        self._raise_if_lost()
        self._writer.write(_SIZE.pack(len(payload)) + payload)
        try:
            await self._writer.drain()
        except OSError as error:
            raise self._lost_by(error) from error

    @override
    async def receive(self, *, timeout_ms: float) -> Frame:
        self._raise_if_lost()
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                return Frame(payload=await self._next_payload())
        except TimeoutError:
            raise NoAnswer(f"no frame within {timeout_ms:g} ms") from None
        except asyncio.IncompleteReadError as error:
            raise self._lost(self._ending(len(error.partial))) from error
        except OSError as error:
            raise self._lost_by(error) from error

    @property
    @override
    def is_within_frame(self) -> bool:
        return self._announced is not None

    async def _next_payload(self) -> bytes:
        """Read a frame; a cancelled call's part of it is kept for the next call."""
        if self._announced is None:
            (announced,) = _SIZE.unpack(await self._reader.readexactly(_SIZE.size))
            most = ANSWER_BYTES.most()
            if not 0 <= announced <= most:
                raise self._lost(
                    f"frame of {announced} bytes announced{_hint(announced) or ANSWER_BYTES.hint(announced)}"
                )
            self._announced = announced
        payload = await self._reader.readexactly(self._announced)
        self._announced = None
        return payload

    def _ending(self, partial_bytes: int) -> str:
        if self._announced is not None:
            return f"closed by the peer after {partial_bytes} of a frame's {self._announced} bytes"
        if partial_bytes:
            return f"closed by the peer after {partial_bytes} bytes of a frame's size"
        return "closed by the peer"

    def _raise_if_lost(self) -> None:
        if self._loss is not None:
            raise ConnectionLost(self._loss)

    def _lost_by(self, error: OSError) -> ConnectionLost:
        """Return the error for a network failure. With TLS 1.3 a refusal comes after the handshake."""
        if isinstance(error, ssl.SSLError):
            return AccessRefused(str(self._lost(explained(error))))
        return self._lost(_reported(error))

    def _lost(self, how: str) -> ConnectionLost:
        self._loss = how
        self._writer.close()
        if self._on_loss is not None:
            self._on_loss()
        return ConnectionLost(how)

    @override
    async def close(self) -> None:
        if self._loss is None:
            self._loss = "closed by us"
        self._writer.close()
        with suppress(OSError):
            await self._writer.wait_closed()


async def _connected(
    host: str, port: int, tls: ssl.SSLContext | None
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    if tls is None:
        return await asyncio.open_connection(host, port)
    return await asyncio.open_connection(host, port, ssl=tls, ssl_shutdown_timeout=_TLS_END_S)


def _hint(announced: int) -> str:
    """Return a hint about the protocol that an invalid frame size may be the beginning of."""
    begins = _SIZE.pack(announced)
    if begins == _HTTP:
        return ": it speaks HTTP, not Kafka's protocol"
    return f": {SPEAKS_TLS}" if begins.startswith(_TLS_RECORDS) else ""


def _reported(error: OSError) -> str:
    if isinstance(error, ConnectionResetError | BrokenPipeError):
        return "reset by the peer"
    if isinstance(error, ConnectionRefusedError):
        return "connection refused"
    return error.strerror or str(error) or type(error).__name__


class TcpSession(BrokerSession):
    """A broker session on the real clock, with connections to one host and port."""

    def __init__(
        self,
        host: str,
        port: int,
        *,
        connect_slots: asyncio.Semaphore,
        security: Security = PLAINTEXT,
        on_loss: Callable[[], None] | None = None,
    ) -> None:
        self._host = host
        self._port = port
        self._connect_slots = connect_slots
        self._security = security
        self._on_loss = on_loss
        self._opened_s = time.monotonic()
        self._connections: list[StreamConnection] = []

    @property
    @override
    def settle_ms(self) -> float:
        return SETTLE_MS

    @override
    def now_ms(self) -> float:
        return (time.monotonic() - self._opened_s) * 1000

    @override
    async def connect(self, role: Role = Role.COORDINATOR, *, principal: str | None = None) -> Connection:
        if role is not Role.COORDINATOR or principal is not None:
            raise TargetError(f"{self._host}:{self._port} is not a cluster, nor asks who connects")
        return await self.connect_to(self._host, self._port)

    async def connect_to(self, host: str, port: int, *, security: Security | None = None) -> Connection:
        """Open a connection that is closed with the session."""
        async with self._connect_slots:
            try:
                connection = await StreamConnection.open(
                    host, port, security=security or self._security, on_loss=self._on_loss
                )
            except ConnectionLost:
                if self._on_loss is not None:
                    self._on_loss()
                raise
        self._connections.append(connection)
        return connection

    @override
    async def elapse(self, duration_ms: float) -> None:
        await asyncio.sleep(duration_ms / 1000)

    @override
    async def carry_out(self, action: BrokerAction, broker_config: Mapping[str, str]) -> None:
        raise TargetError(f"nobody can {action.value} {self._host}:{self._port} from here")

    @override
    async def append(self, partition: int, records: Sequence[EncodedRecord]) -> None:
        raise TargetError(f"the log of {self._host}:{self._port} is none of ours")

    @override
    async def pause_at(self, point: Breakpoint, partitions: frozenset[int] = frozenset()) -> None:
        raise TargetError(f"{self._host}:{self._port} cannot be paused")

    @override
    async def resume_from(self, point: Breakpoint) -> None:
        raise TargetError(f"{self._host}:{self._port} is not paused")

    @override
    async def close(self) -> None:
        while self._connections:
            await self._connections.pop().close()


@asynccontextmanager
async def asking(host: str, port: int) -> AsyncIterator[TcpSession]:
    """Provide a broker session for requests to one broker."""
    async with closing(TcpSession(host, port, connect_slots=new_connect_slots())) as session:
        yield session

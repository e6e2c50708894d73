"""A minimal debugger for a JVM: it only sets breakpoints, which pause the threads that reach them.

It uses the Java Debug Wire Protocol to control the agent of every JDK. When the connection ends in any way,
the agent clears all breakpoints and resumes every thread.
"""

import asyncio
import struct
import time
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final

from harness.targets.base.interface import TargetError
from harness.targets.debugger.jdwp_values import ValueCommand, partition_at

_HANDSHAKE: Final = b"JDWP-Handshake"
_HEADER: Final = struct.Struct(">IIBH")
"""Length, id, flags, then an error code in a reply; in a command, command set and command."""
_REPLY: Final = 0x80
_COMPOSITE_EVENT: Final = 0x4064
_ATTACH_PAUSE_S: Final = 0.02
_REPLY_TIMEOUT_S: Final = 10.0
_SUSPEND_THREAD: Final = 1


class _Command(IntEnum):
    """Command set and command in two bytes. Source: the JDWP specification's detail page."""

    CLASSES_BY_SIGNATURE = 0x0102
    ID_SIZES = 0x0107
    RESUME = 0x0109
    METHODS = 0x0205
    RESUME_THREAD = 0x0B03
    SET_EVENT = 0x0F01
    CLEAR_EVENT = 0x0F02


class _JdwpEvent(IntEnum):
    BREAKPOINT = 2
    CLASS_PREPARE = 8
    VM_START = 90
    VM_DEATH = 99


class _Modifier(IntEnum):
    CLASS_MATCH = 5
    LOCATION_ONLY = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class CodePoint:
    """The beginning of a method."""

    class_name: str
    method: str
    parameters: str = "("
    """Prefix of the method's signature, to choose among methods of the same name."""
    partition_in: int | None = None
    """The local variable with the `TopicPartition` that is processed, if there is one."""
    partitions: frozenset[int] = frozenset()
    """Partitions for which a thread is paused; empty for any."""

    def __str__(self) -> str:
        """Return its name in the form of Kafka's sources."""
        return f"{self.class_name}#{self.method}"


@dataclass(slots=True, kw_only=True)
class JvmBreakpoint:
    """A breakpoint in a JVM, and the threads that are paused at it."""

    point: CodePoint
    _debugger: "Debugger"
    _requests: list[tuple[_JdwpEvent, int]] = field(default_factory=list)
    _threads: list[bytes] = field(default_factory=list)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    fault: str | None = None
    """Why no thread can be paused here."""

    async def reached(self, *, timeout_s: float) -> None:
        """Wait until a thread is paused here.

        Raises:
            TargetError: no thread arrives in time, or none can.
        """
        try:
            async with asyncio.timeout(timeout_s):
                await self._changed.wait()
        except TimeoutError:
            raise TargetError(f"no thread came to {self.point} within {timeout_s:g} s") from None
        if self.fault is not None:
            raise TargetError(self.fault)

    async def clear(self) -> None:
        """Resume all threads that are paused here, and pause no more."""
        requests, self._requests = self._requests, []
        for kind, request_id in requests:
            await self._debugger.command(_Command.CLEAR_EVENT, struct.pack(">BI", kind, request_id))
        threads, self._threads = self._threads, []
        for thread in threads:
            await self._debugger.command(_Command.RESUME_THREAD, thread)

    async def set_in(self, tag: int, type_id: bytes) -> None:
        """Set the breakpoint in a class that is loaded."""
        requests, self._requests = self._requests, []
        for kind, request_id in requests:
            await self._debugger.command(_Command.CLEAR_EVENT, struct.pack(">BI", kind, request_id))
        methods = await self._debugger.methods(type_id, self.point)
        if not methods:
            self.fail(f"{self.point} is not in this Kafka, so it cannot be paused there")
        for method_id in methods:
            location = struct.pack(">B", tag) + type_id + method_id + struct.pack(">Q", 0)
            await self._request(_JdwpEvent.BREAKPOINT, _Modifier.LOCATION_ONLY, location)

    async def set_once_loaded(self) -> None:
        """Set the breakpoint as soon as its class is loaded."""
        pattern = _string(self.point.class_name)
        await self._request(_JdwpEvent.CLASS_PREPARE, _Modifier.CLASS_MATCH, pattern)

    async def _request(self, kind: _JdwpEvent, modifier: _Modifier, value: bytes) -> None:
        header = struct.pack(">BBIB", kind, _SUSPEND_THREAD, 1, modifier)
        reply = await self._debugger.command(_Command.SET_EVENT, header + value)
        self._requests.append((kind, int.from_bytes(reply)))

    @property
    def is_set(self) -> bool:
        """Whether threads can still be paused here."""
        return bool(self._requests)

    def awaits(self, request_id: int) -> bool:
        """Return whether an event is for this breakpoint."""
        return any(request_id == own for _, own in self._requests)

    def stop(self, thread: bytes) -> None:
        """Record that a thread is paused here."""
        self._threads.append(thread)
        self._changed.set()

    def fail(self, fault: str) -> None:
        """Record that no thread can be paused here."""
        self.fault = fault
        self._changed.set()


class Debugger:
    """A connection to the debug agent of a JVM."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._sent_count = 0
        self._replies: dict[int, asyncio.Future[bytes]] = {}
        self._breakpoints: list[JvmBreakpoint] = []
        self._type_id_bytes = self._method_id_bytes = self._thread_id_bytes = 8
        self._tasks: set[asyncio.Task[None]] = set()
        self._vm_started = asyncio.Event()
        self._start(self._read())

    @classmethod
    async def attach(cls, host: str, port: int, *, timeout_s: float) -> "Debugger":
        """Connect to an agent as soon as it listens.

        Raises:
            TargetError: it does not listen, or something else does.
        """
        reader, writer = await _connected(host, port, timeout_s=timeout_s)
        writer.write(_HANDSHAKE)
        try:
            async with asyncio.timeout(timeout_s):
                greeting = await reader.readexactly(len(_HANDSHAKE))
        except (TimeoutError, OSError, asyncio.IncompleteReadError) as error:
            writer.close()
            raise TargetError(f"the debug agent on {host}:{port} does not shake hands: {error!r}") from error
        if greeting != _HANDSHAKE:
            writer.close()
            raise TargetError(f"{host}:{port} does not answer as a debug agent")
        debugger = cls(reader, writer)
        try:
            await debugger._learn_sizes()
        except BaseException:
            await debugger.close()
            raise
        return debugger

    async def break_at(self, point: CodePoint) -> JvmBreakpoint:
        """Pause every thread that reaches a method from now on, even if its class is not loaded yet."""
        breakpoint_ = JvmBreakpoint(point=point, _debugger=self)
        self._breakpoints.append(breakpoint_)
        signature = f"L{point.class_name.replace('.', '/')};"
        reply = await self.command(_Command.CLASSES_BY_SIGNATURE, _string(signature))
        if int.from_bytes(reply[:4]):
            await breakpoint_.set_in(reply[4], reply[5 : 5 + self._type_id_bytes])
        else:
            await breakpoint_.set_once_loaded()
        return breakpoint_

    async def begin(self) -> None:
        """Resume a JVM that was started suspended.

        Raises:
            TargetError: the JVM does not report that it has started.
        """
        try:
            async with asyncio.timeout(_REPLY_TIMEOUT_S):
                # A resume before the JVM has suspended itself would leave it suspended.
                await self._vm_started.wait()
        except TimeoutError:
            raise TargetError("the JVM does not tell its debugger that it starts") from None
        await self.command(_Command.RESUME)

    async def methods(self, type_id: bytes, point: CodePoint) -> Sequence[bytes]:
        """Return the ids of the methods of a loaded class that match a code point."""
        data = _Cursor(await self.command(_Command.METHODS, type_id))
        found: list[bytes] = []
        for _ in range(data.number(4)):
            method_id, name, signature = data.take(self._method_id_bytes), data.string(), data.string()
            data.number(4)
            if name == point.method and signature.startswith(point.parameters):
                found.append(method_id)
        return found

    async def command(self, command: _Command | ValueCommand, data: bytes = b"") -> bytes:
        """Send a command and return its reply.

        Raises:
            TargetError: it is refused, or the connection has ended.
        """
        self._sent_count += 1
        packet_id = self._sent_count
        reply: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._replies[packet_id] = reply
        header = _HEADER.pack(_HEADER.size + len(data), packet_id, 0, command)
        try:
            self._writer.write(header + data)
            async with asyncio.timeout(_REPLY_TIMEOUT_S):
                return await reply
        except (OSError, TimeoutError) as error:
            raise TargetError(f"the debug agent is gone: {command.name} was not answered") from error
        finally:
            self._replies.pop(packet_id, None)

    async def close(self) -> None:
        """Disconnect; the JVM continues as if there had been no debugger. Idempotent."""
        for task in tuple(self._tasks):
            task.cancel()
        self._writer.close()
        with suppress(OSError):
            await self._writer.wait_closed()

    async def _learn_sizes(self) -> None:
        sizes = struct.unpack(">5I", await self.command(_Command.ID_SIZES))
        _, self._method_id_bytes, self._thread_id_bytes, self._type_id_bytes, _ = sizes

    def _start(self, work: Coroutine[object, object, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _read(self) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            while True:
                header = await self._reader.readexactly(_HEADER.size)
                length, packet_id, flags, code = _HEADER.unpack(header)
                data = await self._reader.readexactly(length - _HEADER.size)
                if flags & _REPLY:
                    self._take_reply(packet_id, code, data)
                elif code == _COMPOSITE_EVENT:
                    self._take_events(_Cursor(data))
        for reply in self._replies.values():
            if not reply.done():
                reply.set_exception(TargetError("the debug agent hung up"))
        for breakpoint_ in self._breakpoints:
            breakpoint_.fail(f"the JVM ended before a thread was paused at {breakpoint_.point}")

    def _take_reply(self, packet_id: int, error: int, data: bytes) -> None:
        reply = self._replies.get(packet_id)
        if reply is None or reply.done():
            return
        if error:
            reply.set_exception(TargetError(f"the debug agent refused a command with error {error}"))
        else:
            reply.set_result(data)

    def _take_events(self, data: "_Cursor") -> None:
        data.number(1)
        for _ in range(data.number(4)):
            kind, request_id = data.number(1), data.number(4)
            breakpoint_ = next((one for one in self._breakpoints if one.awaits(request_id)), None)
            match kind:
                case _JdwpEvent.BREAKPOINT:
                    thread = data.take(self._thread_id_bytes)
                    data.take(1 + self._type_id_bytes + self._method_id_bytes + 8)
                    self._start(self._stop(breakpoint_, thread))
                case _JdwpEvent.CLASS_PREPARE:
                    thread, tag = data.take(self._thread_id_bytes), data.number(1)
                    type_id = data.take(self._type_id_bytes)
                    data.string()
                    data.number(4)
                    self._start(self._set(breakpoint_, thread, tag, type_id))
                case _JdwpEvent.VM_START:
                    data.take(self._thread_id_bytes)
                    self._vm_started.set()
                case _:
                    return

    async def _stop(self, breakpoint_: JvmBreakpoint | None, thread: bytes) -> None:
        # If the breakpoint is cleared while the thread is examined, nobody else would resume the thread.
        if breakpoint_ is not None and await self._is_meant(breakpoint_.point, thread) and breakpoint_.is_set:
            breakpoint_.stop(thread)
            return
        with suppress(TargetError):  # it was cleared while the event was in transit
            await self.command(_Command.RESUME_THREAD, thread)

    async def _is_meant(self, point: CodePoint, thread: bytes) -> bool:
        """Return whether a thread at a code point must be paused there, according to its partition."""
        if not point.partitions or point.partition_in is None:
            return True
        try:
            return await partition_at(self, thread, point.partition_in) in point.partitions
        except TargetError:
            return False

    async def _set(self, breakpoint_: JvmBreakpoint | None, thread: bytes, tag: int, type_id: bytes) -> None:
        try:
            if breakpoint_ is not None:
                await breakpoint_.set_in(tag, type_id)
            await self.command(_Command.RESUME_THREAD, thread)
        except TargetError as error:
            if breakpoint_ is not None:
                breakpoint_.fail(str(error))


async def _connected(
    host: str, port: int, *, timeout_s: float
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    deadline_s = time.monotonic() + timeout_s
    while True:
        try:
            return await asyncio.open_connection(host, port)
        except OSError as error:
            if time.monotonic() > deadline_s:
                raise TargetError(f"no debug agent answers on {host}:{port}: {error}") from error
        await asyncio.sleep(_ATTACH_PAUSE_S)


class _Cursor:
    """Reads the fields of a packet in their order."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, size: int) -> bytes:
        taken = self._data[self._at : self._at + size]
        self._at += size
        return taken

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size))

    def string(self) -> str:
        return self.take(self.number(4)).decode()


def _string(text: str) -> bytes:
    encoded = text.encode()
    return len(encoded).to_bytes(4) + encoded

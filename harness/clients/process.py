"""A client in a process of its own: it gets commands, sends answers and events, and crashes by SIGKILL."""

import asyncio
import itertools
import json
import os
import signal
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from harness.clients.clock import clock_ms
from harness.clients.libraries import ClientLibrary
from harness.clients.steps import Fact, Verb
from harness.trace.schema import TraceError, parsed_json

_ROOT: Final = Path(__file__).resolve().parents[2]
_LINE_BYTES_MAX: Final = 32 * 1024 * 1024
_END_TIMEOUT_S: Final = 10.0
_SHOWN_BYTES: Final = 100
Message = Mapping[str, Any]
"""A line of JSON that a client wrote."""


class ClientGone(Exception):  # noqa: N818 - a normal observation, not a fault
    """A client ended without a command to do so, or was killed because it wrote an invalid message."""


class ClientProcess:
    """A client's process."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        *,
        name: str,
        on_event: Callable[[str, Message], None],
        keep: Callable[[str, Message], None],
    ) -> None:
        self.name = name
        self._process = process
        self._on_event = on_event
        self._keep = keep
        self._ids = itertools.count(1)
        self._answers: dict[int, asyncio.Future[Message]] = {}
        self._nonsense = ""
        self._reader = asyncio.create_task(self._read(), name=f"client {name}")

    @classmethod
    async def start(
        cls,
        library: ClientLibrary,
        settings: Mapping[str, str | int | bool],
        *,
        name: str,
        log: Path,
        on_event: Callable[[str, Message], None],
        keep: Callable[[str, Message], None],
    ) -> "ClientProcess":
        """Start a client; it accepts commands when this returns, whether or not its library is loaded.

        Args:
            library: the library that the client uses.
            settings: client properties, with the names on brokers.
            name: the client's name in the script.
            log: the file for its standard error.
            on_event: called with this name and each event as it comes.
            keep: called with this name and each message in either direction.
        """
        with log.open("ab") as errors:
            process = await asyncio.create_subprocess_exec(
                *library.command,
                json.dumps(settings),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=errors,
                cwd=log.parent,
                env={**os.environ, "PYTHONPATH": str(_ROOT)},
                limit=_LINE_BYTES_MAX,
                start_new_session=True,
            )
        return cls(process, name=name, on_event=on_event, keep=keep)

    async def tell(self, verb: Verb, arguments: Mapping[str, Fact], *, timeout_s: float) -> Message:
        """Send the client a command, and return its answer.

        Raises:
            ClientGone: the process ended before it answered, or wrote an invalid message.
            TimeoutError: the client does not answer.
        """
        command: dict[str, Fact] = {"id": next(self._ids), "verb": verb, "arguments": dict(arguments)}
        answer: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._answers[int(str(command["id"]))] = answer
        self._keep(self.name, command)
        assert self._process.stdin is not None
        with suppress(ConnectionError):
            self._process.stdin.write(json.dumps(command).encode() + b"\n")
            await self._process.stdin.drain()
        if self._reader.done():
            raise ClientGone(self._ending())
        return await asyncio.wait_for(answer, timeout_s)

    async def _read(self) -> None:
        async for message in self._messages():
            self._take(message)
        await self._process.wait()
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(ClientGone(self._ending()))

    async def _messages(self) -> AsyncIterator[Message]:
        assert self._process.stdout is not None
        try:
            async for line in self._process.stdout:
                yield _message(line)
        except ValueError as error:
            self._nonsense = f" after it wrote what is no message: {error}"
            self._signal_kill()

    def _take(self, message: Message) -> None:
        self._keep(self.name, message)
        if "event" in message:
            self._on_event(self.name, message)
        elif (answer := self._answers.pop(message["id"], None)) is not None and not answer.done():
            answer.set_result(message)

    def _ending(self) -> str:
        return f"client {self.name} ended with status {self._process.returncode}{self._nonsense}"

    def _signal_kill(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    async def kill(self) -> float:
        """Kill the client; return when, on the clock of the events. Idempotent."""
        if self._process.returncode is None:
            self._signal_kill()
            await self._process.wait()
        killed_ms = clock_ms()
        await self._reader
        return killed_ms

    async def ended(self) -> None:
        """Wait until the client has ended by itself, as it does after a close; kill it if it does not."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._process.wait(), _END_TIMEOUT_S)
        await self.kill()


def _message(line: bytes) -> Message:
    """Parse a line; raise `ValueError` if it is not a message, as when a library prints to stdout."""
    try:
        message = parsed_json(line, where="a message")
    except TraceError as error:
        raise ValueError(str(error)) from error
    if not isinstance(message, dict) or not message.keys() & {"event", "id"}:
        raise ValueError(f"{line[:_SHOWN_BYTES]!r}")
    return message

"""Work in a process of its own, beside brokers that must not wait for it."""

import asyncio
import operator
import os
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Final, Generic, TypeVar, cast

from harness.workers import collect_rarely, leave_signals_to_parent

_NICENESS: Final = 5
"""Gives brokers three times as much of a busy core as this process, which still makes progress."""
A = TypeVar("A")
T = TypeVar("T")


class BackgroundError(Exception):
    """The process ended without a result."""


class Background(Generic[A, T]):
    """A function that is called in a process of its own, which keeps the function's state between calls."""

    def __init__(self, function: Callable[[A], T]) -> None:
        """Prepare the process; the function, its argument and its result can be pickled."""
        context = get_context("spawn")
        self._ours, self._theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(self._theirs,), daemon=True)
        self._function = function
        self._starting: asyncio.Future[None] | None = None

    async def start(self) -> None:
        """Start the process."""
        # It returns when the process has read the function, a second later: brokers are served meanwhile.
        self._starting = asyncio.ensure_future(asyncio.to_thread(self._start))
        await asyncio.shield(self._starting)

    def _start(self) -> None:
        self._process.start()
        self._theirs.close()
        # As an argument of the process it could be too large for the pipe that `Process.start` fills, and
        # never empties if the process ends before it reads: Ctrl-C ends both.
        with suppress(OSError):
            self._ours.send(self._function)

    async def call(self, argument: A) -> T:
        """Call the function; one call has to end before the next one.

        Raises:
            BackgroundError: the process was killed, or ended without a result.
            Exception: whatever the function raised.
        """
        is_done, outcome = await asyncio.to_thread(self._called, argument)
        if not is_done:
            raise cast("Exception", outcome)
        return cast("T", outcome)

    def _called(self, argument: A) -> tuple[bool, object]:
        try:
            self._ours.send(argument)
            return cast("tuple[bool, object]", self._ours.recv())
        except (EOFError, OSError):
            return False, BackgroundError("a process that drove the reference ended without a result")

    async def stop(self) -> None:
        """Kill the process, whatever it does."""
        if self._starting is not None:
            # An interruption waits for the start: a process that does not exist yet cannot be killed.
            await asyncio.wait([self._starting])
        self._theirs.close()
        if self._process.pid is not None:
            self._process.kill()
            self._process.join()


async def in_background(function: Callable[[], T]) -> T:
    """Call a function in a process of its own, and return its result.

    It can be pickled with all its arguments.

    Raises:
        BackgroundError: the process was killed, or ended without a result.
        Exception: whatever the function raised.
    """
    background = Background[Callable[[], T], T](operator.call)
    try:
        await background.start()
        return await background.call(function)
    finally:
        await background.stop()


def _serve(calls: Connection) -> None:
    leave_signals_to_parent()
    collect_rarely()
    os.nice(_NICENESS)
    function: Callable[[object], object] | None = None
    while True:
        try:
            argument = calls.recv()
        except EOFError:
            return
        if function is None:
            function = argument
            continue
        try:
            outcome: tuple[bool, object] = (True, function(argument))
        except Exception as error:  # noqa: BLE001 - the parent raises it
            outcome = (False, error)
        calls.send(outcome)

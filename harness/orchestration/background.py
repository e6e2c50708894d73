"""Work in a process of its own, beside brokers that must not wait for it."""

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from functools import partial
from multiprocessing import active_children, get_context
from typing import Final, Generic, TypeVar, cast

from harness.workers import collect_rarely, leave_signals_to_parent

_NICENESS: Final = 5
"""Gives brokers three times as much of a busy core as this process, which still makes progress."""
A = TypeVar("A")
T = TypeVar("T")
_function: Callable[..., object]
"""In the process: what it calls."""


class BackgroundError(Exception):
    """The process ended without a result."""


class Background(Generic[A, T]):
    """A function that is called in a process of its own, which keeps the function's state between calls."""

    def __init__(self, function: Callable[[A], T]) -> None:
        """Prepare the process.

        Args:
            function: can be pickled, and so can its argument and its result.
        """
        self._pool = ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=_begin)
        self._function = function
        self._pid: Future[int] | None = None

    async def start(self) -> None:
        """Start the process.

        Raises:
            BackgroundError: the process was killed.
        """
        self._pid = self._pool.submit(os.getpid)
        await _result(self._pool.submit(_keep, self._function))

    async def call(self, argument: A) -> T:
        """Call the function.

        Raises:
            BackgroundError: the process was killed, or ended without a result.
            Exception: whatever the function raised.
        """
        return cast("T", await _result(self._pool.submit(_call, argument)))

    async def stop(self) -> None:
        """Kill the process, whatever it does."""
        if self._pid is not None:
            with suppress(BackgroundError):
                # An interruption waits for the start: until then nobody knows the process.
                pid = await _result(self._pid)
                for process in (each for each in active_children() if each.pid == pid):
                    process.kill()
        await asyncio.to_thread(self._pool.shutdown, cancel_futures=True)


async def in_background(function: Callable[[], T]) -> T:
    """Call a function in a process of its own, and return its result.

    Args:
        function: the function with its arguments, all of which can be pickled.

    Raises:
        BackgroundError: the process was killed, or ended without a result.
        Exception: whatever the function raised.
    """
    background = Background[None, T](partial(_without_argument, function))
    try:
        await background.start()
        return await background.call(None)
    finally:
        await background.stop()


def _without_argument(function: Callable[[], T], _argument: None) -> T:
    return function()


async def _result(future: Future[T]) -> T:
    try:
        return await asyncio.wrap_future(future)
    except BrokenProcessPool as error:
        raise BackgroundError("a process that drove the reference ended without a result") from error


def _begin() -> None:
    leave_signals_to_parent()
    collect_rarely()
    os.nice(_NICENESS)


def _keep(function: Callable[..., object]) -> None:
    global _function  # noqa: PLW0603 - a process has one
    _function = function


def _call(argument: object) -> object:
    return _function(argument)

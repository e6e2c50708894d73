"""Work in a process of its own, beside brokers that must not wait for it."""

import asyncio
import os
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Final, TypeVar, cast

from harness.workers import collect_rarely, leave_signals_to_parent

_NICENESS: Final = 5
"""Gives brokers three times as much of a busy core as this process, which still makes progress."""
T = TypeVar("T")


class BackgroundError(Exception):
    """The process ended without a result."""


async def in_background(function: Callable[[], T]) -> T:
    """Call a function in a process of its own, and return its result.

    Args:
        function: the function with its arguments, all of which can be pickled.

    Raises:
        BackgroundError: the process was killed, or ended without a result.
        Exception: whatever the function raised.
    """
    context = get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_call, args=(function, sender), daemon=True)
    # `start` returns when the process has read its arguments, a second later: brokers are served meanwhile.
    starting = asyncio.create_task(asyncio.to_thread(process.start))
    try:
        await asyncio.shield(starting)
        sender.close()
        is_done, outcome = await asyncio.to_thread(_received, receiver)
    finally:
        # An interruption meanwhile waits for the start: a process that does not exist yet cannot be killed.
        await asyncio.wait([starting])
        sender.close()
        if process.pid is not None:
            process.kill()
            process.join()
    if not is_done:
        raise cast("Exception", outcome)
    return cast("T", outcome)


def _received(receiver: Connection) -> tuple[bool, object]:
    try:
        return cast("tuple[bool, object]", receiver.recv())
    except EOFError:
        return False, BackgroundError("a process that drove the reference ended without a result")
    finally:
        receiver.close()


def _call(function: Callable[[], object], sender: Connection) -> None:
    leave_signals_to_parent()
    collect_rarely()
    os.nice(_NICENESS)
    try:
        outcome: tuple[bool, object] = (True, function())
    except Exception as error:  # noqa: BLE001 - the parent raises it
        outcome = (False, error)
    sender.send(outcome)

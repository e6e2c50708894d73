"""Ends that must not be left half done when somebody interrupts."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def to_its_end(ending: Coroutine[Any, Any, T]) -> T:
    """Wait for an ending, also where the waiting task is cancelled; cancelled once more, it is given up.

    Raises:
        CancelledError: the task was cancelled; once, and the ending is there all the same.
    """
    task = asyncio.create_task(ending)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await task
        raise

"""Cleanup that must be completed even when it is interrupted."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def to_its_end(ending: Coroutine[Any, Any, T]) -> T:
    """Wait for a cleanup to complete, even if the task is cancelled once; a second cancellation aborts it.

    Raises:
        CancelledError: the task was cancelled; after a single cancellation the cleanup is complete.
    """
    task = asyncio.create_task(ending)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await task
        raise

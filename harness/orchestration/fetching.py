"""Downloads ahead of a drive: what the brokers of all targets are made of, side by side."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from harness.targets.base.interface import Target


class Fetches:
    """The downloads of a run's targets, begun at once; each target is driven when it has its own."""

    def __init__(self, tasks: dict[str, asyncio.Task[None]]) -> None:
        self._tasks = tasks

    async def of(self, target: Target) -> None:
        """Wait until a target has what its brokers are made of; one that nobody began needs nothing.

        Raises:
            TargetError: it cannot be had.
        """
        if (task := self._tasks.get(target.name)) is not None:
            await asyncio.shield(task)


@asynccontextmanager
async def fetching(targets: Sequence[Target], tell: Callable[[str, str], None]) -> AsyncIterator[Fetches]:
    """Begin the downloads of some targets, and end what is left of them on leaving.

    Args:
        targets: what is going to be driven.
        tell: told, of a target by name, what is going on.
    """

    async def fetch(target: Target) -> None:
        await target.fetch(lambda text: tell(target.name, text))

    tasks = {target.name: asyncio.create_task(fetch(target)) for target in targets}
    try:
        yield Fetches(tasks)
    finally:
        for task in tasks.values():
            task.cancel()
        # A failure that nobody waited for, because the run was interrupted, is no news.
        await asyncio.gather(*tasks.values(), return_exceptions=True)

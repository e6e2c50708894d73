"""Downloads before a drive: the files that brokers are started from, for all targets at once."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from harness.targets.base.interface import Target


class Fetches:
    """The downloads of a run's targets, started together; a target is driven once its own has finished."""

    def __init__(self, tasks: dict[str, asyncio.Task[None]]) -> None:
        self._tasks = tasks

    async def of(self, target: Target) -> None:
        """Wait until a target's download has finished; return at once for a target that has none.

        Raises:
            TargetError: the download failed.
        """
        if (task := self._tasks.get(target.name)) is not None:
            await asyncio.shield(task)


@asynccontextmanager
async def fetching(targets: Sequence[Target], tell: Callable[[str, str], None]) -> AsyncIterator[Fetches]:
    """Start the downloads of some targets, and cancel the unfinished ones on leaving.

    Args:
        targets: the targets that will be driven.
        tell: called with a target's name and a text about the progress of its download.
    """

    async def fetch(target: Target) -> None:
        await target.fetch(lambda text: tell(target.name, text))

    tasks = {target.name: asyncio.create_task(fetch(target)) for target in targets}
    try:
        yield Fetches(tasks)
    finally:
        for task in tasks.values():
            task.cancel()
        # If the run was interrupted, nobody awaited some downloads: their failures do not matter.
        await asyncio.gather(*tasks.values(), return_exceptions=True)

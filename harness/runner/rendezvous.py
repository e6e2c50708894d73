"""Where conversations that share a broker meet before something is done to it.

Each conversation arrives with its next control step. When all running conversations have arrived, the step is
carried out once, and all go on. Only conversations with the same control steps may share a broker.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

Action = Callable[[], Awaitable[None]]


@dataclass(slots=True)
class Rendezvous:
    """A meeting place for a number of conversations."""

    _awaited: int
    """How many conversations are running."""
    _arrived: list[asyncio.Future[None]] = field(default_factory=list, init=False)
    _action: Action | None = field(default=None, init=False)
    _doing: asyncio.Task[None] | None = field(default=None, init=False)

    async def meet(self, action: Action) -> None:
        """Wait for the other conversations; then the action is done once, and all get its result.

        Args:
            action: carries out the step; every conversation passes the same, and only one is called.

        Raises:
            TargetError: the action raised it; every conversation that has arrived gets it.
        """
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._arrived.append(future)
        self._action = action
        self._do_if_all_are_here()
        try:
            await future
        except asyncio.CancelledError:
            if future in self._arrived:
                self._arrived.remove(future)
            raise

    def leave(self) -> None:
        """Report that a conversation has ended, and is no longer awaited."""
        self._awaited -= 1
        self._do_if_all_are_here()

    async def close(self) -> None:
        """Cancel an action that is in progress: nobody waits for it."""
        if self._doing is not None:
            self._doing.cancel()
            await asyncio.wait([self._doing])

    def _do_if_all_are_here(self) -> None:
        if self._arrived and len(self._arrived) >= self._awaited:
            assert self._action is not None
            arrived, self._arrived = self._arrived, []
            self._doing = asyncio.get_running_loop().create_task(_do(self._action, arrived))


async def _do(action: Action, arrived: list[asyncio.Future[None]]) -> None:
    fault: Exception | None = None
    try:
        await action()
    except Exception as error:  # noqa: BLE001 - whatever it is, those who wait for the action get it
        fault = error
    for future in arrived:
        if future.done():
            continue
        if fault is None:
            future.set_result(None)
        else:
            future.set_exception(fault)

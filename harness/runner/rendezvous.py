"""Where conversations that share a broker meet before something is done to it.

Each conversation arrives with its next action on the broker, and its place in the cohort's order. When all
running conversations have arrived, the first place's action is carried out once, and those there go on.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from harness.runner.broker_actions import RELEASES, MeetingPlace

Action = Callable[[], Awaitable[None]]


class _Arrival(NamedTuple):
    """A conversation that waits."""

    at: MeetingPlace
    action: Action | None
    future: asyncio.Future[None]


@dataclass(slots=True)
class Rendezvous:
    """A meeting place for a number of conversations."""

    _awaited: int
    """How many conversations are running."""
    _paused: frozenset[int] = frozenset()
    """The rounds in which one of them pauses the coordinator."""
    _arrived: list[_Arrival] = field(default_factory=list, init=False)
    _doing: asyncio.Task[None] | None = field(default=None, init=False)

    async def meet(self, action: Action | None, at: MeetingPlace = (0, 0)) -> None:
        """Wait for the other conversations; then the first place's action is done, and those there go on.

        Args:
            action: carries out the step; all of a place pass the same, or None, and only one is called.
            at: the place of the step.

        Raises:
            TargetError: the action raised it; every conversation that has arrived at the place gets it.
        """
        arrival = _Arrival(at, action, asyncio.get_running_loop().create_future())
        self._arrived.append(arrival)
        self._do_if_all_are_here()
        try:
            await arrival.future
        except asyncio.CancelledError:
            if arrival in self._arrived:
                self._arrived.remove(arrival)
            raise

    async def end(self, at: MeetingPlace) -> None:
        """Wait for the end of an action's round, if others pause the coordinator in it."""
        number, _ = at
        if number in self._paused:
            await self.meet(None, (number, RELEASES))

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
            first = min(each.at for each in self._arrived)
            here = [each for each in self._arrived if each.at == first]
            self._arrived = [each for each in self._arrived if each.at != first]
            self._doing = asyncio.get_running_loop().create_task(_do(here))


async def _do(arrived: Sequence[_Arrival]) -> None:
    fault: Exception | None = None
    action = next((each.action for each in arrived if each.action is not None), None)
    try:
        if action is not None:
            await action()
    except Exception as error:  # noqa: BLE001 - whatever it is, those who wait for the action get it
        fault = error
    for each in arrived:
        if each.future.done():
            continue
        if fault is None:
            each.future.set_result(None)
        else:
            each.future.set_exception(fault)

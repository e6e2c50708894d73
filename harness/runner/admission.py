"""When scenarios, and brokers that start later, may begin, for all targets that are driven at once."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from harness.capacity import machine
from harness.runner.rounds import LongestFirst, Rounds

_CARRIED: Final = machine().jobs(per_core=8)
"""How many scenarios at once leave time for others on any machine."""
_LOOK_S: Final = 0.001
_FREE_S: Final = 0.01
"""An event loop that runs a timer later than this is overloaded."""
_PATIENCE_S: Final = 0.5
"""The longest wait for a free loop: the running scenarios may be waiting for the next one."""


class Admission:
    """What targets that are driven together share.

    Hundreds of scenarios that begin at once would occupy the event loop for a second, and delay the timers
    of the first ones. So none is admitted while the loop is late: the machine's speed limits how many run.

    Attributes:
        slots: each running scenario takes one, unless it acts on its broker, and so waits for others. Slots
            limit the number of scenarios even on a fast machine.
        late_slots: each broker that starts after the rounds takes one.
        rounds: which brokers are up together.
        running: how many scenarios are running.
    """

    def __init__(self, targets: frozenset[str], *, jobs: int) -> None:
        self.slots = LongestFirst(jobs)
        self.late_slots = LongestFirst(machine().brokers_at_once)
        self.rounds = Rounds(targets)
        self._left: dict[str, int | None] = dict.fromkeys(targets)
        """By target, how many scenarios of its rounds have not ended; None until that is known."""
        self._is_calm = asyncio.Event()
        self._beginning = asyncio.Lock()
        self.running = 0
        self._look()

    def expect(self, target: str, count: int) -> None:
        """Set how many scenarios of a target's rounds have not ended."""
        self._left[target] = count
        self._look()

    def settle(self, target: str) -> None:
        """Report that all scenarios of a target's rounds have ended. Idempotent."""
        self.rounds.leave(target)
        self.expect(target, 0)

    async def calm(self) -> None:
        """Wait until few scenarios of the rounds are left: brokers that start and stop delay their timers."""
        await self._is_calm.wait()

    @asynccontextmanager
    async def begun(self, target: str) -> AsyncIterator[None]:
        """Run a scenario in the block, which begins when the event loop is free or few scenarios run."""
        async with self._beginning:
            until_s = time.monotonic() + _PATIENCE_S
            while self.running >= _CARRIED and await _lateness_s() > _FREE_S and time.monotonic() < until_s:
                pass
        self.running += 1
        try:
            yield
        finally:
            self.running -= 1
            left = self._left.get(target)
            if left:
                self.expect(target, left - 1)

    def _look(self) -> None:
        known = [each for each in self._left.values() if each is not None]
        if len(known) == len(self._left) and sum(known) <= _CARRIED:
            self._is_calm.set()


async def _lateness_s() -> float:
    """Return how late the event loop currently runs a timer."""
    due_s = time.monotonic() + _LOOK_S
    await asyncio.sleep(_LOOK_S)
    return time.monotonic() - due_s

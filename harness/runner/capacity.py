"""How many processes of brokers a machine may have up at once, and slots for as many."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

BROKER_BYTES: Final = 512 * 1024 * 1024
"""What a broker's process takes, with room to spare."""
_PROCESSES_PER_CORE: Final = 2


def processes_at_once(*, cores: int | None = None, memory: int | None = None) -> int:
    """Return how many processes of brokers may be up together.

    Args:
        cores: of the machine, if it is not this one.
        memory: in bytes, that brokers may take; by default what this machine has to spare.
    """
    available = memory_to_spare() if memory is None else memory
    return max(1, min((cores or os.cpu_count() or 1) * _PROCESSES_PER_CORE, available // BROKER_BYTES))


def memory_to_spare() -> int:
    """Return the bytes that the machine could give without swapping, as Linux estimates them."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:  # noqa: PTH123 - a file of the kernel, not of ours
            return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2


class ProcessSlots:
    """Slots for processes, of which a broker or cluster takes several at once."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._free = count
        self._released = asyncio.Event()

    @asynccontextmanager
    async def taken(self, wanted: int) -> AsyncIterator[None]:
        """Wait until so many are free, and have them; who wants more than there are has all of them."""
        wanted = min(wanted, self._count)
        while self._free < wanted:
            await self._released.wait()
        self._free -= wanted
        try:
            yield
        finally:
            self._free += wanted
            self._released.set()
            self._released = asyncio.Event()

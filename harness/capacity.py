"""The capacity of this machine: the one module that determines how many processes may start and run at once.

Cores and memory are those that this process is granted (affinity, cgroup), which in a container are fewer
than the kernel has. Code that starts processes takes slots here, so that brokers, containers, servers and
workers of one run share the machine instead of each assuming that it is alone.
"""

import asyncio
import fcntl
import os
from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final
from weakref import WeakKeyDictionary

from typing_extensions import override

BROKER_BYTES: Final = 512 * 1024 * 1024
"""The memory that a broker's process needs, with a margin."""
_BROKERS_PER_CORE: Final = 3
"""Brokers mostly wait; only their start keeps a core busy."""
_CGROUPS: Final = Path("/sys/fs/cgroup")
_LOCK_POLL_S: Final = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """The share of the machine that this process is granted."""

    cores: int
    """At least 1; a quota of two and a half cores counts as two."""
    memory_bytes: int
    """The memory that is available without swapping."""

    @property
    def starts_at_once(self) -> int:
        """How many processes may start at the same time: a start keeps a core busy."""
        return self.cores

    @property
    def brokers_at_once(self) -> int:
        """How many processes of brokers may be up together."""
        return self.jobs(each_bytes=BROKER_BYTES, per_core=_BROKERS_PER_CORE)

    def jobs(self, *, each_bytes: int = 0, per_core: int = 1, wanted: int | None = None) -> int:
        """Return how many jobs may run at once.

        Args:
            each_bytes: the memory that one job needs; 0 if memory does not matter.
            per_core: how many jobs a core can run.
            wanted: the number of jobs, if it is known.
        """
        fitting = self.cores * per_core
        if each_bytes:
            fitting = min(fitting, self.memory_bytes // each_bytes)
        if wanted is not None:
            fitting = min(fitting, wanted)
        return max(1, fitting)

    def __str__(self) -> str:
        cores = "1 core" if self.cores == 1 else f"{self.cores} cores"
        return f"{cores}, {self.memory_bytes / 2**30:.1f} GiB free"


def machine() -> Machine:
    """Return the share of the machine that this process is granted now."""
    return Machine(cores=_cores(), memory_bytes=_memory_bytes())


def _cores() -> int:
    affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min([affinity, *(int(quota) for quota in _cpu_quotas())]))


def _cpu_quotas() -> Iterator[float]:
    """Yield the cores that each cgroup around this process is limited to.

    Source: Linux, cgroup-v2.rst `cpu.max`; cgroup v1 `cpu.cfs_quota_us`.
    """
    for folder in _own_cgroups("cpu"):
        words = _words(folder / "cpu.max") or [
            *_words(folder / "cpu.cfs_quota_us"),
            *_words(folder / "cpu.cfs_period_us"),
        ]
        if len(words) == 2 and words[0].isdecimal() and int(words[1]):
            yield int(words[0]) / int(words[1])


def _memory_bytes() -> int:
    return max(0, min([_system_memory_bytes(), *_memory_left()]))


def _system_memory_bytes() -> int:
    """Return the kernel's estimate of the memory that is available without swapping."""
    for line in _lines(Path("/proc/meminfo")):
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2


def _memory_left() -> Iterator[int]:
    """Yield the memory left to each cgroup around this process; cached file pages count as free.

    Source: Linux, cgroup-v2.rst `memory.max`; cgroup v1 `memory.limit_in_bytes`.
    """
    for folder in _own_cgroups("memory"):
        for limit_name, usage_name, cache_name in (
            ("memory.max", "memory.current", "inactive_file"),
            ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
        ):
            limit, usage = _words(folder / limit_name), _words(folder / usage_name)
            if limit and usage and limit[0].isdecimal():
                rows = (line.split() for line in _lines(folder / "memory.stat"))
                cached = sum(int(row[1]) for row in rows if row[0] == cache_name)
                yield int(limit[0]) - int(usage[0]) + cached


def _own_cgroups(controller: str) -> Iterator[Path]:
    """Yield the folders of the cgroups around this process, the innermost first.

    In a container that sees its own cgroup as the root, the path that the kernel reports does not exist.
    """
    for line in _lines(Path("/proc/self/cgroup")):
        hierarchy, controllers, path = line.split(":", 2)
        if hierarchy == "0":
            root = _CGROUPS
        elif controller in controllers.split(","):
            root = _CGROUPS / controllers
        else:
            continue
        inner = PurePosixPath(path)
        for each in (inner, *inner.parents):
            folder = root / str(each).lstrip("/")
            if folder.is_dir():
                yield folder


def _words(path: Path) -> list[str]:
    return next(iter(_lines(path)), "").split()


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError):
        return []


class Slots:
    """Slots for processes, which may take several each; they are granted in the order of requests."""

    def __init__(self, count: int) -> None:
        self.count: Final = count
        self._free = count
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()
        self._holders = 0
        self._none_taken = asyncio.Event()
        self._none_taken.set()

    @asynccontextmanager
    async def taken(self, wanted: int = 1) -> AsyncIterator[None]:
        """Wait for free slots and take them; a request for more than exist takes all of them."""
        self._holders += 1
        self._none_taken.clear()
        try:
            async with self._granted(min(wanted, self.count)):
                yield
        finally:
            self._holders -= 1
            if not self._holders:
                self._none_taken.set()

    async def none_taken(self) -> None:
        """Wait until this process has no slot and wants none."""
        await self._none_taken.wait()

    @asynccontextmanager
    async def _granted(self, wanted: int) -> AsyncIterator[None]:
        await self._take(wanted)
        try:
            yield
        finally:
            self._give(wanted)

    async def _take(self, wanted: int) -> None:
        if not self._waiting and self._free >= wanted:
            self._free -= wanted
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append((wanted, turn))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._give(wanted)
            else:
                self._waiting.remove((wanted, turn))
                self._give(0)
            raise

    def _give(self, count: int) -> None:
        self._free += count
        while self._waiting and self._free >= self._waiting[0][0]:
            wanted, turn = self._waiting.popleft()
            if not turn.done():
                self._free -= wanted
                turn.set_result(None)


class MachineSlots(Slots):
    """Slots that several processes of this machine share.

    Each slot is a file lock, which the kernel releases when its process is killed.
    """

    def __init__(self, count: int, folder: Path) -> None:
        super().__init__(count)
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    @override
    @asynccontextmanager
    async def _granted(self, wanted: int) -> AsyncIterator[None]:
        with ExitStack() as locks:
            # One process at a time collects slots: two with half of them each would wait for ever.
            with ExitStack() as collecting:
                await self._lock(["collecting"], 1, collecting)
                names = [f"slot-{number}" for number in range(self.count)]
                await self._lock(names, wanted, locks)
            yield

    async def _lock(self, names: list[str], wanted: int, locks: ExitStack) -> None:
        free = list(names)
        while wanted:
            for name in tuple(free):
                file = (self._folder / name).open("w")
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    file.close()
                    continue
                locks.enter_context(file)
                free.remove(name)
                wanted -= 1
                if not wanted:
                    return
            await asyncio.sleep(_LOCK_POLL_S)


_START_SLOTS: "WeakKeyDictionary[asyncio.AbstractEventLoop, Slots]" = WeakKeyDictionary()
_BROKER_SLOTS: "WeakKeyDictionary[asyncio.AbstractEventLoop, Slots]" = WeakKeyDictionary()


def start_slots() -> Slots:
    """Return the slots that a starting broker takes until it is ready, beside its broker slot in a run."""
    return _START_SLOTS.setdefault(asyncio.get_running_loop(), Slots(machine().starts_at_once))


def share_start_slots(folder: Path) -> None:
    """Share the running loop's slots of starting brokers with processes that name the same folder."""
    slots = MachineSlots(machine().starts_at_once, folder)
    _START_SLOTS[asyncio.get_running_loop()] = slots


def broker_slots() -> Slots:
    """Return the slots that a broker's processes take from their start to their end."""
    return _BROKER_SLOTS.setdefault(asyncio.get_running_loop(), Slots(machine().brokers_at_once))

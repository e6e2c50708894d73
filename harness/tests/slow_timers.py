"""References with wrong timers, which a run must detect even on a busy machine.

Each has one kind of deadline that expires too early or too late by a factor. It is served over TCP, in real
time, so that only bounds of time distinguish it from the correct one.
"""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

PACKAGE: Final = "reference_coordinator"
_TIMERS: Final = Path(PACKAGE, "core", "timers.py")
_ANCHOR: Final = "        self._sequence += 1\n"
DEADLINES: Final = (
    "ExpireMemberHeartbeat",
    "CompleteJoin",
    "ExpirePendingSync",
    "TryCompleteInitialRebalance",
)
"""The deadlines of sessions, rebalances, pending syncs and the initial delay."""
FACTORS: Final = (0.7, 1.3)


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowTimer:
    """A fault that multiplies the time to one kind of deadline by a factor."""

    deadline: str
    factor: float

    def __str__(self) -> str:
        return f"{self.deadline} x {self.factor:g}"

    def write(self, root: Path, directory: Path) -> Path:
        """Copy the reference below a root into a directory, with the fault applied; return the directory."""
        faulty = self._fault() + _ANCHOR
        return faulty_copy(root, directory, module=_TIMERS, healthy=_ANCHOR, faulty=faulty)

    def _fault(self) -> str:
        # The server counts milliseconds since the epoch.
        return (
            f"        if type(deadline).__name__ == {self.deadline!r}:\n"
            "            import time\n"
            "            now_ms = time.time() * 1000\n"
            f"            at_ms = int(now_ms + (at_ms - now_ms) * {self.factor})\n"
        )


def faulty_copy(root: Path, directory: Path, *, module: Path, healthy: str, faulty: str) -> Path:
    """Copy the reference below a root into a directory, with a fault in one place; return the directory."""
    shutil.copytree(
        root / PACKAGE, directory / PACKAGE, ignore=shutil.ignore_patterns("tests", "__pycache__", "*.so")
    )
    path = directory / module
    source = path.read_text(encoding="utf-8")
    assert source.count(healthy) == 1, f"{module} has no place for a fault"
    path.write_text(source.replace(healthy, faulty), encoding="utf-8")
    return directory


def slow_timers() -> Iterator[SlowTimer]:
    """Yield every fault."""
    return (SlowTimer(deadline=deadline, factor=factor) for deadline in DEADLINES for factor in FACTORS)

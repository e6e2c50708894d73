"""Measures how long the machine kept each of a broker's processes from running, and is patient with starts.

This only reads files of the kernel, which takes a few microseconds a thread, and starts no process. A figure
is unavailable if a process ends meanwhile, or if the system lacks the file.
"""

import os
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from harness.trace.starvation import Waits

_PROC: Final = Path("/proc")
_CGROUPS: Final = Path("/sys/fs/cgroup")
_MS_PER_NS: Final = 1e-6
_MS_PER_US: Final = 1e-3
_BYTES: Final = 4096
_STOPPED: Final = b"T"
_UNINTERRUPTIBLE: Final = b"D"
_COMPILERS: Final = (b"C1 Compiler", b"C2 Compiler")
"""Prefixes of the names of threads that compile in the background: nothing waits for them."""
_PAUSE: Final = re.compile(rb"Total: *(\d+) ns")
"""Matches the pause in a line of the JVM's safepoint log (JEP 158, tag `safepoint`)."""
SAFEPOINT_LOGGING: Final = "-Xlog:safepoint=info:file={}:none:filecount=0"
"""The JVM option that writes such a log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredProcess:
    """A process of a broker on this machine."""

    pid: int
    is_paused: bool = False
    """Whether the script itself stopped it, which is not starvation."""
    pause_log: Path | None = None
    """The file to which its JVM logs safepoints."""
    in_container: bool = False
    """Whether its cgroup is that of its container."""


class Gauge:
    """Reads the figures of one process; each reading covers the time since the previous one."""

    def __init__(self, process: MeasuredProcess, *, proc: Path = _PROC, cgroups: Path = _CGROUPS) -> None:
        """Take the first reading.

        Args:
            process: the process to read.
            proc: the kernel's folder of processes.
            cgroups: the kernel's folder of control groups.
        """
        self._process = proc / str(process.pid)
        self._pause_log = process.pause_log
        self._cgroup = _cgroup_of(self._process, cgroups) if process.in_container else None
        self._delays_ns: dict[str, int] = {}
        self._log_bytes = _size_of(process.pause_log)
        self._counters_ms: dict[str, float] = {}
        self._disk_ms: float | None = None
        self.read()

    def is_stopped(self) -> bool:
        """Return whether the process is stopped by a signal at this moment."""
        return _state(self._process / "stat") == _STOPPED

    def count_disk(self, pressed_ms: float) -> None:
        """Count a time in which tasks of the machine waited for disks, if a thread does so at this moment.

        Args:
            pressed_ms: how long some task waited; 0 costs nothing.
        """
        self._disk_ms = (self._disk_ms or 0.0) + (
            pressed_ms if pressed_ms and self._waits_for_disk() else 0.0
        )

    def read(self) -> Waits:
        """Return how long the process waited since the last reading."""
        disk_ms, self._disk_ms = self._disk_ms, None
        return Waits(
            run_queue_ms=self._run_queue_ms(),
            pause_ms=self._pause_ms(),
            throttled_ms=self._counted_ms("throttled", _throttled_ms(self._cgroup)),
            pressure_ms=self._counted_ms("pressure", _pressure_ms(self._cgroup)),
            disk_ms=disk_ms,
        )

    def _waits_for_disk(self) -> bool:
        """Return whether one of the threads is in uninterruptible sleep, as in a write to a disk."""
        tasks = f"{self._process}/task"
        with suppress(OSError):
            return any(_state(f"{tasks}/{task}/stat") == _UNINTERRUPTIBLE for task in os.listdir(tasks))  # noqa: PTH208 - see above
        return False

    def _run_queue_ms(self) -> float | None:
        """Return how long the worst thread waited for a core.

        Source: Documentation/scheduler/sched-stats.rst of Linux, `/proc/<pid>/schedstat`, second field.
        """
        tasks = f"{self._process}/task"
        before, delays = self._delays_ns, {}
        with suppress(OSError):
            for task in os.listdir(tasks):  # noqa: PTH208 - a hundred of them, several times a second
                content = _content(f"{tasks}/{task}/schedstat")
                if content:
                    delays[task] = int(content.split()[1])
        self._delays_ns = delays
        waited = sorted(((ns - before.get(task, 0), task) for task, ns in delays.items()), reverse=True)
        serving = (ns for ns, task in waited if not self._compiles(task))
        return next((ns * _MS_PER_NS for ns in serving), None)

    def _compiles(self, task: str) -> bool:
        return (_content(self._process / "task" / task / "comm") or b"").startswith(_COMPILERS)

    def _pause_ms(self) -> float | None:
        """Return the total length of the pauses that the JVM logged since the last reading."""
        size = _size_of(self._pause_log)
        if self._pause_log is None or size is None:
            return None
        # A restarted JVM starts its log again.
        start = self._log_bytes if self._log_bytes is not None and self._log_bytes <= size else 0
        self._log_bytes = size
        if size == start:
            return 0.0
        with suppress(OSError), self._pause_log.open("rb") as log:
            log.seek(start)
            logged = log.read(size - start)
            # An incomplete line is read next time.
            self._log_bytes = start + logged.rfind(b"\n") + 1
            return sum(int(found) for found in _PAUSE.findall(logged[: self._log_bytes - start])) * _MS_PER_NS
        return None

    def _counted_ms(self, name: str, total_ms: float | None) -> float | None:
        """Return by how much a counter has grown."""
        if total_ms is None:
            return None
        before_ms, self._counters_ms[name] = self._counters_ms.get(name, total_ms), total_ms
        return total_ms - before_ms


class DiskPressure:
    """Reads how long some task of the machine waited for a disk; each reading covers the time since the last.

    Source: Documentation/accounting/psi.rst of Linux, `io`.
    """

    def __init__(self, proc: Path = _PROC) -> None:
        """Take the first reading from the kernel's folder of processes."""
        self._file = proc / "pressure" / "io"
        self._total_ms = _some_ms(self._file)

    def read_ms(self) -> float | None:
        """Return how long some task waited since the last reading; None if the kernel does not count it."""
        before_ms, self._total_ms = self._total_ms, _some_ms(self._file)
        return None if before_ms is None or self._total_ms is None else self._total_ms - before_ms


def is_of_cgroup(pid: int, name: str) -> bool:
    """Return whether a process of this machine is in a control group of that name."""
    return name in (_content(_PROC / str(pid) / "cgroup") or b"").decode(errors="replace")


def with_children(pid: int) -> tuple[int, ...]:
    """Return a process id and those of its children, if the system reports them.

    Source: proc_pid_task.5 of Linux, `children`.
    """
    reported = _content(_PROC / str(pid) / "task" / str(pid) / "children") or b""
    return (pid, *map(int, reported.split()))


def _content(path: Path | str) -> bytes | None:
    """Read a small kernel file; return None if it does not exist or is not readable."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return None
    try:
        return os.read(descriptor, _BYTES)
    except OSError:
        return None
    finally:
        os.close(descriptor)


def _size_of(path: Path | None) -> int | None:
    try:
        return None if path is None else path.stat().st_size
    except OSError:
        return None


def _cgroup_of(process: Path, cgroups: Path) -> Path | None:
    """Find the control group that limits a process's CPU time, in a hierarchy of either version."""
    lines = (_content(process / "cgroup") or b"").decode(errors="replace").splitlines()
    for line in lines:
        _, controllers, path = (*line.split(":", 2), "", "")[:3]
        if controllers == "" or "cpu" in controllers.split(","):
            for mount in (controllers, "cpu", "unified"):
                found = cgroups / mount / path.lstrip("/")
                if (found / "cpu.stat").is_file():
                    return found
    return None


def _throttled_ms(cgroup: Path | None) -> float | None:
    """Return how long a quota stopped a control group. Source: cgroup-v2.rst of Linux, `cpu.stat`."""
    content = None if cgroup is None else _content(cgroup / "cpu.stat")
    values = dict(line.split() for line in (content or b"").splitlines())
    if b"throttled_usec" in values:
        return int(values[b"throttled_usec"]) * _MS_PER_US
    return int(values[b"throttled_time"]) * _MS_PER_NS if b"throttled_time" in values else None


def _pressure_ms(cgroup: Path | None) -> float | None:
    """Return how long some task of a control group waited. Source: psi.rst of Linux, `cpu.pressure`."""
    return None if cgroup is None else _some_ms(cgroup / "cpu.pressure")


def _some_ms(pressure: Path) -> float | None:
    """Return for how long some task waited, by a file of pressure stall information."""
    found = re.search(rb"^some .*total=(\d+)", _content(pressure) or b"", re.MULTILINE)
    return None if found is None else int(found[1]) * _MS_PER_US


def _state(status: Path | str) -> bytes:
    """Return the state of a process or thread, one letter; empty if it has ended."""
    return (_content(status) or b"").rpartition(b")")[2].strip()[:1]


SignsOfWork = Callable[[], tuple[int, ...]]
"""Returns figures that change while a process works, such as its CPU time and the length of its log."""

_LIMITS_IN_ALL: Final = 5
"""A process that keeps working without getting ready is given up after this many limits."""


class Patience:
    """A limit that counts from the last sign of work, and a bound on the whole wait.

    So a slow machine gets more time, while a process that hangs is detected within the limit.
    """

    def __init__(self, limit_ms: float, *, began_ms: float, signs: SignsOfWork | None = None) -> None:
        self._limit_ms = limit_ms
        self._began_ms = began_ms
        self._signs = signs
        self._last_signs = signs() if signs else ()
        self._worked_ms = began_ms

    @property
    def ends_ms(self) -> float:
        """The latest time at which the whole wait is over."""
        return self._began_ms + self._limit_ms * (1 if self._signs is None else _LIMITS_IN_ALL)

    def is_over(self, now_ms: float) -> bool:
        """Return whether the wait is over."""
        if self._signs is not None and (signs := self._signs()) != self._last_signs:
            self._last_signs, self._worked_ms = signs, now_ms
        return now_ms - self._worked_ms >= self._limit_ms or now_ms >= self.ends_ms

    def __str__(self) -> str:
        limit = f"{self._limit_ms / 1000:g} s"
        return f"{limit} without a sign of work" if self._signs is not None else limit

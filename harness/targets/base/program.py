"""A child process of the harness: its output is logged, its end is detected, and it is never left running.

It gets its own session, so that Ctrl-C only reaches the harness, and a kill reaches everything that the
program started. Where the kernel supports it, the program dies with the thread that started it. So it must be
started on a thread that lives long enough, such as an event loop's.
"""

import asyncio
import atexit
import functools
import os
import shutil
import signal
import subprocess
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Final

_LOG_TAIL_LINES: Final = 15
_DEATH_POLL_S: Final = 0.01
_HAS_STOPPED: Final = os.WSTOPPED | os.WNOHANG
_TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")
_LIVE: Final[set["Program"]] = set()


def _kill_all() -> None:
    for program in tuple(_LIVE):
        program.kill()


atexit.register(_kill_all)


@functools.cache
def _dies_with_us() -> tuple[str, ...]:
    """Return a command prefix that makes the kernel kill the command when its parent dies, if available."""
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        return ()
    prefix = (setpriv, "--pdeathsig", "KILL")
    probe = subprocess.run([*prefix, "true"], capture_output=True, check=False)  # noqa: S603 - fixed command
    return prefix if probe.returncode == 0 else ()


class Program:
    """One running program.

    Attributes:
        log: the file with all its output.
    """

    def __init__(self, command: Sequence[str | Path], *, log: Path, directory: Path) -> None:
        self.log = log
        self._name = Path(command[0]).name
        self._stopped = False
        with log.open("ab") as output:
            self._process = subprocess.Popen(  # noqa: S603 - our own command, no shell
                [*_dies_with_us(), *command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=directory,
                start_new_session=True,
            )
        _LIVE.add(self)

    @property
    def pid(self) -> int:
        """The process id, which is also the id of its process group."""
        return self._process.pid

    @property
    def exit_status(self) -> int | None:
        """The exit status, negative for a signal; None while the program runs."""
        return self._process.poll()

    def failure(self) -> str | None:
        """Return how it ended and the end of its log; None while it runs, or if the harness stopped it."""
        status = self.exit_status
        if status is None or self._stopped:
            return None
        how = f"signal {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"
        return f"{self._name} (pid {self.pid}) ended with {how} (see {self.log.name})\n{self.log_tail()}"

    def log_tail(self) -> str:
        """Return the last lines of its output."""
        with self.log.open(encoding="utf-8", errors="replace") as lines:
            return "".join(deque(lines, maxlen=_LOG_TAIL_LINES)).rstrip()

    def signs_of_work(self) -> tuple[int, int]:
        """Return figures that change while it works: half seconds of CPU time, and the length of its log."""
        return int(cpu_seconds(self.pid) * 2), self.log.stat().st_size

    async def pause(self) -> None:
        """Pause the process, and wait until all its threads are stopped."""
        self._signal(signal.SIGSTOP)
        while not self._is_still():  # noqa: ASYNC110 - a process sets no event of asyncio's
            await asyncio.sleep(_DEATH_POLL_S)

    def _is_still(self) -> bool:
        return self.exit_status is not None or os.waitid(os.P_PID, self.pid, _HAS_STOPPED) is not None

    def resume(self) -> None:
        """Resume the process."""
        self._signal(signal.SIGCONT)

    async def ended(self) -> int:
        """Wait until it ends and return its exit status."""
        while (status := self.exit_status) is None:  # noqa: ASYNC110 - a process sets no event of asyncio's
            await asyncio.sleep(_DEATH_POLL_S)
        _LIVE.discard(self)
        return status

    async def stop(self, *, grace_s: float = 0) -> None:
        """Stop it and wait until it has ended: SIGTERM first if there is a grace period, then SIGKILL."""
        self._stopped = self._stopped or self.exit_status is None
        if grace_s and self.exit_status is None:
            self._signal(signal.SIGTERM)
            try:
                async with asyncio.timeout(grace_s):
                    await self.ended()
            except TimeoutError:
                pass
        self.kill()

    def kill(self) -> None:
        """Kill it, with everything that it started, and reap it."""
        self._stopped = self._stopped or self.exit_status is None
        self._signal(signal.SIGKILL)
        self._process.wait()
        _LIVE.discard(self)

    def _signal(self, number: signal.Signals) -> None:
        if self._process.returncode is None:
            try:
                os.killpg(self._process.pid, number)
            except ProcessLookupError:
                self._process.poll()


def cpu_seconds(pid: int) -> float:
    """Return the CPU time that all threads of a process have used; 0 if it is unknown.

    Source: Linux, proc_pid_stat(5), `utime` and `stime`.
    """
    try:
        after_name = (
            Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2]
        )
    except OSError:
        return 0.0
    fields = after_name.split()
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_S

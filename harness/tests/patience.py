"""Waiting for what should come at once: given up where it never will, but not because the machine is busy."""

import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

NOW_OR_NEVER_S: Final = 60.0
"""Far beyond what anything here takes: whoever waits so long waits for ever."""
FINDS_STARVED: Final = "harness.diff.judge.starved_before"
"""What excuses a difference on a busy machine; a test that waits for a verdict replaces it by None."""
_POLL_S: Final = 0.01
_PRESSURE: Final = Path("/proc/pressure/cpu")


def unhindered_s() -> float:
    """Return seconds of a clock that stands still while somebody on this machine waits for a core.

    Source: Linux, accounting/psi.rst. Where the kernel does not tell, the clock always goes.
    """
    return time.monotonic() - _stalled_s()


def _stalled_s() -> float:
    try:
        some = _PRESSURE.read_text("ascii").partition("\n")[0]
    except OSError:
        return 0.0
    return int(some.rpartition("total=")[2]) / 1e6


class Patience:
    """Ends after so many seconds in which nobody on this machine had to wait for a core."""

    def __init__(self, seconds: float = NOW_OR_NEVER_S, *, clock: Callable[[], float] = unhindered_s) -> None:
        self._clock = clock
        self._until_s = clock() + seconds
        self._seconds = seconds

    def check(self, what: str) -> None:
        """Fail, saying what did not come, if it is over."""
        assert self._clock() < self._until_s, f"{what}: not within {self._seconds:g} s"


def wait_until(condition: Callable[[], object], *, what: str) -> None:
    """Poll for a condition of another process, which sets no event of ours."""
    patience = Patience()
    while not condition():
        patience.check(what)
        time.sleep(_POLL_S)


def awaited(process: "subprocess.Popen[Any]") -> tuple[Any, Any]:
    """Wait for the end of a process and return what it wrote to its pipes."""
    patience = Patience()
    while True:
        try:
            return process.communicate(timeout=1.0)
        except subprocess.TimeoutExpired:
            patience.check(f"the end of {process.args!r:.100}")


def completed(
    command: Sequence[str | Path], *, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run a command to its end, with its output as text."""
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=cwd, env=env, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            out, err = awaited(process)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(command, process.returncode, out, err)

"""Copies a container's output to a file, and detects its end."""

import signal
import threading
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

from harness.targets.containers.engine import ENGINE_ERRORS
from harness.targets.containers.sdk import Container

_LOG_TAIL_LINES: Final = 15
_SIGNAL_BASE: Final = 128
"""A shell's encoding of a signal as an exit status, which Docker uses too."""
_END_S: Final = 10.0


class LogFollower:
    """A thread that copies a container's growing log, across restarts, until it is dismissed."""

    def __init__(self, container: Container, *, name: str, log: Path, is_expected: bool = False) -> None:
        self._container = container
        self._name = name
        self._log = log
        self._failure: str | None = None
        self._is_expected = is_expected
        self._is_dismissed = False
        self._end_seen = threading.Event()
        self._goes_on = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def failure(self) -> str | None:
        """Return how the container ended and the end of its log; None unless its end was unexpected."""
        return self._failure

    def expect_end(self) -> None:
        """Record that the harness is about to end the container."""
        self._is_expected = True
        self._end_seen.clear()

    def await_end(self) -> None:
        """Wait until the end is detected, and all earlier output is in the file."""
        self._end_seen.wait(_END_S)

    def expect_life(self) -> None:
        """Record that the container was started again."""
        self._is_expected = False
        self._goes_on.set()

    def dismiss(self) -> None:
        """Record that the container has been removed."""
        self._is_expected = self._is_dismissed = True
        self._goes_on.set()
        self._thread.join(_END_S)

    def _follow(self) -> None:
        # If the engine goes away, so does the broker, which the harness detects elsewhere.
        with self._log.open("ab") as output, suppress(*ENGINE_ERRORS):
            copied_bytes = 0
            while not self._is_dismissed:
                copied_bytes += self._copy(output, skipped_bytes=copied_bytes)
                status = self._container.wait(timeout=None)["StatusCode"]
                self._end_seen.set()
                if not self._is_expected:
                    self._failure = self._reported(status)
                    return
                self._goes_on.wait()
                self._goes_on.clear()

    def _copy(self, output: IO[bytes], *, skipped_bytes: int) -> int:
        """Copy output until the container stops; the engine's log begins at the container's first start."""
        copied_bytes = 0
        for chunk in self._container.logs(stream=True, follow=True):
            fresh = chunk[skipped_bytes:]
            skipped_bytes = max(0, skipped_bytes - len(chunk))
            output.write(fresh)
            output.flush()
            copied_bytes += len(fresh)
        return copied_bytes

    def _reported(self, status: int) -> str:
        try:
            how = f"signal {signal.Signals(status - _SIGNAL_BASE).name}"
        except ValueError:
            how = f"exit status {status}"
        return f"{self._name} ended with {how} (see {self._log.name})\n{self.tail()}"

    def tail(self) -> str:
        """Return the last lines of the container's output."""
        with self._log.open(encoding="utf-8", errors="replace") as lines:
            return "".join(deque(lines, maxlen=_LOG_TAIL_LINES)).rstrip()

"""A request whose answer is large, handled in slices of time, so that other clients are served between."""

import threading
import time
from collections.abc import Callable
from typing import Final

from reference_coordinator.broker.listener import Outgoing
from reference_coordinator.core.ids import Millis
from reference_coordinator.core.parts import make_in_parts

LONG_ANSWER_BYTES: Final = 1 << 18
"""The estimated size from which on an answer is made in slices."""
_SLICE_S: Final = 0.02


class LongRequest:
    """A request in a thread of its own, which runs only while `proceed` waits for it.

    So no two threads ever run at once, and the broker's state changes only between two parts of the answer.
    """

    def __init__(self, handle: Callable[[Millis], tuple[Outgoing, ...]]) -> None:
        """Begin with nothing; the first `proceed` calls the handler with its time."""
        self._handle = handle
        self._outgoing: tuple[Outgoing, ...] = ()
        self._error: Exception | None = None
        self._is_over = False
        self._until_s = 0.0
        self._thread: threading.Thread | None = None
        self._resumed, self._paused = threading.Semaphore(0), threading.Semaphore(0)

    @property
    def has_begun(self) -> bool:
        """Whether the handler was called, so that it must be brought to its end."""
        return self._thread is not None

    def proceed(self, *, now_ms: Millis) -> bool:
        """Handle the request for a slice of time; return whether it is over."""
        self._until_s = time.monotonic() + _SLICE_S
        if self._thread is None:
            # A server that stops does not wait for it.
            self._thread = threading.Thread(target=self._run, args=(now_ms,), daemon=True)
            self._thread.start()
        else:
            self._resumed.release()
        self._paused.acquire()
        return self._is_over

    def outcome(self) -> tuple[Outgoing, ...]:
        """Return what the handler returned, or raise what it raised; it must be over."""
        if self._error is not None:
            raise self._error
        return self._outgoing

    def _run(self, now_ms: Millis) -> None:
        make_in_parts(self._pause)
        try:
            self._outgoing = self._handle(now_ms)
        except Exception as error:  # noqa: BLE001 - it is raised where the outcome is asked for
            self._error = error
        self._is_over = True
        self._paused.release()

    def _pause(self) -> None:
        if time.monotonic() >= self._until_s:
            self._paused.release()
            self._resumed.acquire()

"""A limit for a reference that may never end, as one with a fault may not."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

FIRST_S: Final = 3.0
"""Processor time for one conversation, which usually takes some milliseconds."""
THEN_S: Final = 0.3
"""The same after one has not ended: a shorter one is looked for, which has to be tried many times."""


class NeverEndsError(Exception):
    """A conversation has had its processor time."""


class Limit:
    """Ends whatever takes too much processor time, in the main thread; does nothing in another."""

    def __init__(self) -> None:
        """Begin with the first limit."""
        self._limit_s = FIRST_S

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Raise `NeverEndsError` within the block once it has had its time."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def end(_signal: int, _frame: FrameType | None) -> None:
            self._limit_s = THEN_S
            raise NeverEndsError("a conversation does not end")

        before = signal.signal(signal.SIGVTALRM, end)
        signal.setitimer(signal.ITIMER_VIRTUAL, self._limit_s)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            signal.signal(signal.SIGVTALRM, before)

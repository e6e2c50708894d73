"""Time limits for a start on a machine that may be slow."""

from collections.abc import Callable
from typing import Final

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

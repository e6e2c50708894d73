"""Whose request is handled next: the first that came, but what may take long waits for what does not.

A request is never interrupted. So where many clients ask for a lot, one that asks for little would wait for
all of them in turn. How long a request takes nobody knows before, but the last ones of its connection tell.
"""

from collections import deque
from typing import Final

from reference_coordinator.server.streams import Stream

_LONG_S: Final = 0.02
_REMEMBERED: Final = 0.9
"""What is left of a long request after one more, where that one is shorter."""


class Turns:
    """Connections whose next request can be handled."""

    def __init__(self) -> None:
        self._by_arrival: deque[Stream] = deque()
        self._long: deque[Stream] = deque()
        self._long_is_ahead_s = 0.0
        """How much more time the long ones have had, since one had its turn before others who waited."""
        self._newcomer_s = 0.0
        """How long it may take of a connection that nothing is known of."""

    def __bool__(self) -> bool:
        """Whether there is one."""
        return bool(self._by_arrival or self._long)

    def add(self, stream: Stream) -> None:
        """Let a connection have its turn, once."""
        if not stream.is_queued:
            stream.is_queued = True
            self._by_arrival.append(stream)

    def take(self) -> Stream:
        """Take out the next, be it long gone; there is one."""
        stream = self._next()
        stream.is_queued = False
        return stream

    def handled(self, stream: Stream, *, took_s: float) -> None:
        """Learn how long a request took."""
        self._long_is_ahead_s += took_s if self._may_take_long(stream) else -took_s
        self._long_is_ahead_s = max(self._long_is_ahead_s, 0.0)
        stream.took_s = max(took_s, _REMEMBERED * (stream.took_s or 0.0))
        self._newcomer_s = max(took_s, _REMEMBERED * self._newcomer_s)

    def _next(self) -> Stream:
        while self._by_arrival:
            if self._long and not self._long_is_ahead_s:
                break
            stream = self._by_arrival.popleft()
            if not self._may_take_long(stream):
                return stream
            self._long.append(stream)
        return self._long.popleft()

    def _may_take_long(self, stream: Stream) -> bool:
        return (self._newcomer_s if stream.took_s is None else stream.took_s) > _LONG_S

"""The order in which requests are handled: by arrival, but long ones wait for short ones.

A request is never interrupted. So if many clients send long requests, one with a short request would wait for
all of them. How long a request takes is estimated from the last ones of its connection.
"""

from collections import deque
from typing import Final

from reference_coordinator.server.streams import Stream

_LONG_S: Final = 0.02
_REMEMBERED: Final = 0.9
"""The factor by which the estimate shrinks with each shorter request."""


class Turns:
    """Connections whose next request can be handled."""

    def __init__(self) -> None:
        self._by_arrival: deque[Stream] = deque()
        self._long: deque[Stream] = deque()
        self._long_is_ahead_s = 0.0
        """How much more time long ones than others have had since one was preferred to waiting others."""
        self._newcomer_s = 0.0
        """The estimate for a connection without a handled request."""

    def __bool__(self) -> bool:
        """Return whether a connection waits."""
        return bool(self._by_arrival or self._long)

    def add(self, stream: Stream) -> None:
        """Queue a connection, unless it is queued already."""
        if not stream.is_queued:
            stream.is_queued = True
            self._by_arrival.append(stream)

    def take(self) -> Stream:
        """Remove and return the next connection, which may be closed by now; there must be one."""
        stream = self._next()
        stream.is_queued = False
        return stream

    def handled(self, stream: Stream, *, took_s: float) -> None:
        """Record how long a request took."""
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
        if stream.long_request is not None:
            return True
        return (self._newcomer_s if stream.took_s is None else stream.took_s) > _LONG_S

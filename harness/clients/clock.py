"""The clock of the clients' events: one for all processes of a machine, whatever the time of day does."""

import time

_NANOSECONDS_IN_MS = 1e6


def clock_ms() -> float:
    """Return the time now, since the machine was started."""
    return time.monotonic_ns() / _NANOSECONDS_IN_MS

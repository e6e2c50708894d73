"""The clock of the clients' events: shared by all processes of a machine, and independent of wall time."""

import time

_NANOSECONDS_IN_MS = 1e6


def clock_ms() -> float:
    """Return the time since the machine was started."""
    return time.monotonic_ns() / _NANOSECONDS_IN_MS

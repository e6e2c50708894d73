"""How much of what a target sends is taken in and shown, so that none of them fills memory or disk.

A limit is set by an option of the command line, or by a variable of the environment, which processes that are
started inherit.
"""

import os
from dataclasses import dataclass
from typing import Final

MIB: Final = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class ByteLimit:
    """The most bytes of something."""

    what: str
    option: str
    """Of the command line; it takes MiB."""
    variable: str
    """Of the environment, in bytes."""
    default: int

    def most(self) -> int:
        """Return how many bytes are taken in at most."""
        reported = os.environ.get(self.variable, "")
        return int(reported) if reported.isdecimal() and len(reported) < 20 else self.default

    def set(self, mebibytes: float) -> None:
        """Set it for this process and for those that it starts."""
        os.environ[self.variable] = str(int(mebibytes * MIB))

    def hint(self, size: int) -> str:
        """Say what to do about something of some size, if it is too large."""
        return f": {self.limit()}" if size > self.most() else ""

    def limit(self) -> str:
        """Say what the limit is, and what sets it."""
        return f"{self.most()} are the most of {self.what} ({self.option})"


ANSWER_BYTES: Final = ByteLimit(
    what="an answer",
    option="--answer-mib",
    variable="KAFKA_CONFORMANCE_ANSWER_BYTES",
    default=16 * MIB,
)
"""Of one response. Decoded and written into a trace it takes tens of times as much memory."""
TRACE_BYTES: Final = ByteLimit(
    what="a trace",
    option="--trace-mib",
    variable="KAFKA_CONFORMANCE_TRACE_BYTES",
    default=256 * MIB,
)
"""Of what one target's scenarios leave; the whole suite leaves about 20 MiB of an honest one."""
PAGE_BYTES: Final = ByteLimit(
    what="a page",
    option="--page-mib",
    variable="KAFKA_CONFORMANCE_PAGE_BYTES",
    default=8 * MIB,
)
"""Of the bytes and fields that a scenario's page shows, of all targets; an honest one has some KiB."""

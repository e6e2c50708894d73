"""How much of a target's data is accepted and shown, so that no target fills memory or disk.

A limit is set by a command-line option, or by an environment variable, which child processes inherit.
"""

import os
from dataclasses import dataclass
from typing import Final

MIB: Final = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class ByteLimit:
    """The maximum number of bytes of something."""

    what: str
    option: str
    """The command-line option; its unit is MiB."""
    variable: str
    """The environment variable; its unit is bytes."""
    default: int

    def most(self) -> int:
        """Return the maximum number of bytes."""
        reported = os.environ.get(self.variable, "")
        return int(reported) if reported.isdecimal() and len(reported) < 20 else self.default

    def set(self, mebibytes: float) -> None:
        """Set the limit for this process and its children."""
        os.environ[self.variable] = str(int(mebibytes * MIB))

    def hint(self, size: int) -> str:
        """Return a hint for data of some size, if it exceeds the limit."""
        return f": {self.limit()}" if size > self.most() else ""

    def limit(self) -> str:
        """Return a phrase with the limit and the option that sets it."""
        return f"{self.most()} are the most of {self.what} ({self.option})"


ANSWER_BYTES: Final = ByteLimit(
    what="an answer",
    option="--answer-mib",
    variable="KAFKA_CONFORMANCE_ANSWER_BYTES",
    default=16 * MIB,
)
"""For one response. Decoded and written to a trace, it takes tens of times as much memory."""
TRACE_BYTES: Final = ByteLimit(
    what="a trace",
    option="--trace-mib",
    variable="KAFKA_CONFORMANCE_TRACE_BYTES",
    default=256 * MIB,
)
"""For what one target's scenarios record; the whole suite records about 20 MiB for a correct target."""
PAGE_BYTES: Final = ByteLimit(
    what="a page",
    option="--page-mib",
    variable="KAFKA_CONFORMANCE_PAGE_BYTES",
    default=8 * MIB,
)
"""For the bytes and fields of all targets on a scenario's page; correct targets need some KiB."""

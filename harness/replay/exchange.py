"""A request of a recording with its answer, and what is known of the connection that it came on."""

from math import inf
from typing import NamedTuple

from harness.invariants.exchange import Fields


class Exchange(NamedTuple):
    """A request, and its answer if one came."""

    api: str
    api_version: int
    actor: str | None
    connection: str
    asked_at: int
    """The request's number in its recording, or on its connection."""
    answered_at: int | None
    """The answer's number; None where none came."""
    behind: int | None
    """The number of the request before it on its connection, if one was answered."""
    asked_ms: float
    free_ms: float
    """When that request was answered, or when this one was sent if that was later or alone."""
    frame: bytes | None
    """The request without its length prefix; None where it was not kept."""
    request: Fields | None
    """None where it cannot be read."""
    answer: Fields | None
    """None if there is none, or it cannot be read."""
    answered_ms: float = inf
    answer_frame: bytes = b""
    """Empty where only the fields are known."""

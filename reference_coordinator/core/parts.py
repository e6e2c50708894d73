"""Long answers, which are made part by part.

A server may serve other clients between two parts of an answer, and limits the size of the whole. It sets the
function that is called between parts. Otherwise, as in virtual time, an answer is made at once.
"""

from collections.abc import Callable
from contextvars import ContextVar
from typing import Final

ANSWER_MAX_BYTES: Final = 64 * 1024 * 1024
"""The size beyond which an answer is not sent, and the connection is closed instead."""
_BETWEEN_PARTS: Final[ContextVar[Callable[[], None] | None]] = ContextVar("between_parts", default=None)


class AnswerTooLargeError(Exception):
    """An answer would have more than `ANSWER_MAX_BYTES`."""

    def __init__(self, size_bytes: int) -> None:
        super().__init__(f"its answer would have {size_bytes} bytes or more; {ANSWER_MAX_BYTES} are allowed")


def make_in_parts(pause: Callable[[], None]) -> None:
    """Set the function that is called between the parts of an answer, for the thread that calls this."""
    _BETWEEN_PARTS.set(pause)


def is_in_parts() -> bool:
    """Return whether the answer is made part by part."""
    return _BETWEEN_PARTS.get() is not None


def between_parts() -> None:
    """Let a server serve other clients. What the caller iterates over may change meanwhile."""
    pause = _BETWEEN_PARTS.get()
    if pause is not None:
        pause()


def part_written(size_bytes: int) -> None:
    """Do the same after a part of the bytes.

    Raises:
        AnswerTooLargeError: an answer that is made part by part must not have that many bytes.
    """
    if size_bytes > ANSWER_MAX_BYTES and is_in_parts():
        raise AnswerTooLargeError(size_bytes)
    between_parts()

"""What was expected and what came, in words: times with their bounds, and the lengths of lists."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from harness.report.model.field_rows import readable
from harness.trace.canonical import canonical_json
from harness.trace.schema import TraceError, parsed_json

_OTHERS: Final = "…"
"""The last item of a collection that may have more items."""
_QUOTED: Final = re.compile(r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*\"""")
_CLOSING: Final = {"{": "}", "[": "]"}


class Contrast(Protocol):
    """The expected and the actual value of a difference."""

    @property
    def field(self) -> str | None:
        """Path into the response; None if the whole answer differs."""

    @property
    def expected(self) -> str:
        """JSON if it is a value, else a phrase."""

    @property
    def actual(self) -> str:
        """JSON if it is a value, else a phrase."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """How long an answer took."""

    target_ms: float
    oracle_ms: float | None
    """None if the oracle has no such answer."""
    waits: str = ""
    """How long clients wait, in words, if it came after its time."""


def contrasted(difference: Contrast, times: Times | None = None) -> tuple[str, str]:
    """Return what was expected and what came.

    Args:
        difference: a difference in a field or in a whole answer.
        times: the answer's times, if it came too early or too late.
    """
    if difference.field is not None and (counts := _counts(difference.field, difference)) is not None:
        return counts
    expected, actual = readable(difference.expected), readable(difference.actual)
    if times is None:
        return expected, actual
    oracle = "" if times.oracle_ms is None else f" (the reference answers after {_ms(times.oracle_ms)})"
    waits = f" ({times.waits})" if times.waits else ""
    return f"{expected}{oracle}", f"after {_ms(times.target_ms)}{waits}"


def _ms(duration_ms: float) -> str:
    return f"{duration_ms:.1f}".removesuffix(".0") + " ms"


def _counts(field: str, difference: Contrast) -> tuple[str, str] | None:
    """Return the lengths of two lists of objects; None if they are not such lists, or are equally long.

    Where both are one object, it is about the first list of objects within it that is longer or shorter.
    """
    due, came = _objects(difference.expected), _objects(difference.actual)
    if due is None or came is None:
        return None
    if len(due) == len(came) == 1:
        return next(_counts_within(due[0], came[0]), None)
    return _lengths(field, due, came)


def _counts_within(due: object, came: object) -> Iterator[tuple[str, str]]:
    """Yield the lengths of lists of objects within two objects, if they differ."""
    assert isinstance(came, dict)
    pairs = due.items() if isinstance(due, dict) else (_named(part) for part in _parts(str(due)))
    for name, value in pairs:
        expected = _objects(value if isinstance(value, str) else canonical_json(value))
        actual = _objects(canonical_json(came.get(name)))
        if expected is not None and actual is not None and (lengths := _lengths(name, expected, actual)):
            yield lengths


def _named(part: str) -> tuple[str, str]:
    name, _, value = part.partition(": ")
    return name, value


def _lengths(field: str, due: Sequence[object], came: Sequence[object]) -> tuple[str, str] | None:
    """Return the lengths of two lists, the first with a noun; None if they are equally long."""
    may_have_more = due[-1:] == [_OTHERS]
    count = len(due) - may_have_more
    if len(came) == count or (may_have_more and len(came) > count):
        return None
    noun = field.rpartition(".")[2].partition("[")[0]
    noun = noun.removesuffix("s") if count == 1 else noun
    return f"{'at least ' if may_have_more else ''}{count} {noun}", str(len(came))


def _objects(text: str) -> list[object] | None:
    """Return the items of a list or set of objects, as JSON or in a phrase; None for anything else."""
    try:
        value = parsed_json(text, where="a value")
    except TraceError:
        parts = list(_parts(text))
        return [*parts] if parts and all(part[:1] == "{" or part == _OTHERS for part in parts) else None
    return value if isinstance(value, list) and all(isinstance(item, dict) for item in value) else None


def _parts(text: str) -> Iterator[str]:
    """Yield the items of a collection in a phrase, e.g. `{{member_id: 'ana'}, {}}`, without quoted text."""
    if len(text) < len("{}") or _CLOSING.get(text[0]) != text[-1]:
        return
    depth, part = 0, ""
    for sign in _QUOTED.sub("''", text[1:-1]):
        depth += (sign in "{[") - (sign in "}]")
        if sign == "," and not depth:
            yield part.strip()
            part = ""
        else:
            part += sign
    if part.strip():
        yield part.strip()

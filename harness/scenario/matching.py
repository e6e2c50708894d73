"""Whether an answer is as expected, and where it is not."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.scenario.values import (
    Containing,
    InAnyOrder,
    NonEmpty,
    OneOf,
    Pattern,
    StartingWith,
    phrase,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mismatch:
    """One place where an answer is not as expected."""

    path: str
    """E.g. `members[0].metadata`."""
    expected: Pattern
    actual: object
    """The actual value; `MISSING` if there is none."""

    def __str__(self) -> str:
        return f"{self.path} is {self.actual!r}, expected {phrase(self.expected)}"


class _Missing:
    def __repr__(self) -> str:
        return "absent"


MISSING = _Missing()


def mismatches(pattern: Pattern, actual: object, path: str = "") -> tuple[Mismatch, ...]:
    """Compare an answer with what is expected of it; the pattern's references are resolved already.

    A mapping pins the fields that it names; a sequence pins its length, its items and their order.
    """
    match pattern:
        case OneOf(values):
            fits = any(not mismatches(value, actual, path) for value in values)
            return () if fits else _mismatch(path, pattern, actual)
        case InAnyOrder(items):
            return _unpaired(pattern, items, actual, path, exactly=True)
        case Containing(items):
            return _unpaired(pattern, items, actual, path, exactly=False)
        case StartingWith(prefix):
            fits = isinstance(actual, str) and actual.startswith(prefix)
            return () if fits else _mismatch(path, pattern, actual)
        case NonEmpty():
            return () if actual else _mismatch(path, pattern, actual)
        case _:
            return _plain_mismatches(pattern, actual, path)


def _plain_mismatches(pattern: Pattern, actual: object, path: str) -> tuple[Mismatch, ...]:
    if isinstance(pattern, Mapping):
        if not isinstance(actual, Mapping):
            return _mismatch(path, pattern, actual)
        return tuple(
            mismatch
            for name, item in pattern.items()
            for mismatch in mismatches(item, actual.get(name, MISSING), f"{path}.{name}".lstrip("."))
        )
    if isinstance(pattern, Sequence) and not isinstance(pattern, str | bytes):
        if not isinstance(actual, Sequence) or len(actual) != len(pattern):
            return _mismatch(path, pattern, actual)
        return tuple(
            mismatch
            for index, (item, value) in enumerate(zip(pattern, actual, strict=True))
            for mismatch in mismatches(item, value, f"{path}[{index}]")
        )
    same = type(pattern) is type(actual) and pattern == actual
    return () if same else _mismatch(path, pattern, actual)


def _mismatch(path: str, expected: Pattern, actual: object) -> tuple[Mismatch, ...]:
    return (Mismatch(path=path, expected=expected, actual=actual),)


def _unpaired(
    pattern: Pattern, items: Sequence[Pattern], actual: object, path: str, *, exactly: bool
) -> tuple[Mismatch, ...]:
    """Return where the items differ from the values that they resemble, or that there are none.

    An item matches the first value that fits, since items are distinct.
    """
    if not isinstance(actual, Sequence) or isinstance(actual, str | bytes):
        return _mismatch(path, pattern, actual)
    left = dict(enumerate(actual))
    unfit = []
    for item in items:
        index = next((index for index, value in left.items() if not mismatches(item, value)), None)
        if index is None:
            unfit.append(item)
        else:
            del left[index]
    if exactly and len(unfit) != len(left):
        return _mismatch(path, pattern, actual)
    found: list[Mismatch] = []
    for item in unfit:
        like = {index: mismatches(item, value, f"{path}[{index}]") for index, value in left.items()}
        index = min(like, key=lambda each: len(like[each]), default=None)
        if index is None or not isinstance(item, Mapping):
            return _mismatch(path, pattern, actual)
        if len(like[index]) >= len(item) and len(actual) > 1:
            return _mismatch(path, pattern, actual)
        found += like[index]
        del left[index]
    return tuple(found)

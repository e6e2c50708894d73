"""Limit how much of a conversation a page shows; the page says what is left out."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final, TypeVar

from harness.diff.model import Difference
from harness.spark.rows import AlignedStep
from harness.targets.base.limits import PAGE_BYTES

_SIDES: Final = ("oracle", "target")
_PAYLOADS: Final = ("raw", "fields", "canonical")
_TEXT_MAX: Final = 1 << 14
"""The number of characters that a finding shows of an expected or actual value."""


DifferenceT = TypeVar("DifferenceT", bound=Difference)


class PageLimit:
    """The space that is left on one page."""

    def __init__(self) -> None:
        self._left = PAGE_BYTES.most()

    def within(self, rows: Iterable[AlignedStep]) -> Iterator[AlignedStep]:
        """Yield rows with their bytes and fields if there is room for them, otherwise without."""
        for row in rows:
            size = sum(len(getattr(row, name) or "") for name in _columns())
            if size <= self._left:
                self._left -= size
                yield row
            else:
                yield _without_payloads(row, size)


def _columns() -> Iterator[str]:
    return (f"{side}_{payload}" for side in _SIDES for payload in _PAYLOADS)


def _without_payloads(row: AlignedStep, size: int) -> AlignedStep:
    reported = f"{size} characters are left out: {PAGE_BYTES.limit()}; the trace has them"
    notes = {
        f"{side}_note": "; ".join(filter(None, (getattr(row, f"{side}_note"), reported)))
        for side in _SIDES
        if getattr(row, f"{side}_kind") is not None
    }
    return replace(row, **dict.fromkeys(_columns()), **notes)  # type: ignore[arg-type] # by columns' names


def shortened(difference: DifferenceT) -> DifferenceT:
    """Return a difference with both values short enough for a page."""
    return replace(difference, expected=_short(difference.expected), actual=_short(difference.actual))


def _short(text: str) -> str:
    return text if len(text) <= _TEXT_MAX else f"{text[:_TEXT_MAX]}… ({len(text)} characters)"

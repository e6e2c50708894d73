"""Results a character each: what a matrix of thousands of cells and a strip of many runs are written in.

A script lays them out when they come into view; until then, and without scripts, the glyphs of the outcomes
stand in their place.
"""

from collections.abc import Iterable
from typing import Final

from harness.report.model.names import css_name
from harness.report.model.phrases import GLYPHS
from harness.results.status import MARKS
from harness.verdict import Outcome

ABSENT: Final = "."
"""Stands where there is no result."""
_ABSENT_GLYPH: Final = " "
_OUTCOMES: Final = tuple(Outcome)
_LETTERS: Final = "abcdefghijklmnopqrstuvwx"
"""For each outcome four, one for each mark; a capital where it is not as in the baseline."""


def code(outcome: str, marked: str, *, has_news: bool = False) -> str:
    """Return the character of a result; `harness.results.status.mark` says how it is marked."""
    place = _OUTCOMES.index(Outcome(outcome)) * len(MARKS)
    letter = _LETTERS[place + MARKS.index(marked)]
    return letter.upper() if has_news else letter


def glyphs(codes: Iterable[str]) -> str:
    """Return the outcomes' glyphs, for readers whose browser runs no scripts."""
    return "".join(_glyph(each) for each in codes)


def _glyph(of: str) -> str:
    if of == ABSENT:
        return _ABSENT_GLYPH
    return GLYPHS[_OUTCOMES[_LETTERS.index(of.lower()) // len(MARKS)]]


def legend() -> dict[str, object]:
    """Return what a script needs to read the characters."""
    return {
        "letters": _LETTERS,
        "outcomes": [css_name(outcome) for outcome in _OUTCOMES],
        "expectations": [css_name(marked) for marked in MARKS],
        "glyphs": [GLYPHS[outcome] for outcome in _OUTCOMES],
    }

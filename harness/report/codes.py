"""Results a character each: what a matrix of thousands of cells and a strip of many runs are written in.

A script lays them out when they come into view; until then, and without scripts, the glyphs of the outcomes
stand in their place.
"""

from collections.abc import Iterable
from typing import Final

from harness.report.names import css_name
from harness.report.phrases import GLYPHS
from harness.verdict import Expectation, Outcome

ABSENT: Final = "."
"""Stands where there is no result."""
_ABSENT_GLYPH: Final = " "
_OUTCOMES: Final = tuple(Outcome)
_EXPECTATIONS: Final = tuple(Expectation)
_LETTERS: Final = "abcdefghijklmnopqr"
"""For each outcome three, one for each expectation; a capital where it is not as in the baseline."""


def code(outcome: str, expectation: str, *, has_news: bool = False) -> str:
    """Return the character of a result."""
    place = _OUTCOMES.index(Outcome(outcome)) * len(_EXPECTATIONS)
    letter = _LETTERS[place + _EXPECTATIONS.index(Expectation(expectation))]
    return letter.upper() if has_news else letter


def glyphs(codes: Iterable[str]) -> str:
    """Return the outcomes' glyphs, for readers whose browser runs no scripts."""
    return "".join(_glyph(each) for each in codes)


def _glyph(of: str) -> str:
    if of == ABSENT:
        return _ABSENT_GLYPH
    return GLYPHS[_OUTCOMES[_LETTERS.index(of.lower()) // len(_EXPECTATIONS)]]


def legend() -> dict[str, object]:
    """Return what a script needs to read the characters."""
    return {
        "letters": _LETTERS,
        "outcomes": [css_name(outcome) for outcome in _OUTCOMES],
        "expectations": [css_name(expectation) for expectation in _EXPECTATIONS],
        "glyphs": [GLYPHS[outcome] for outcome in _OUTCOMES],
    }

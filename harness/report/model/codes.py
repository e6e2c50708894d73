"""Results as one character each, for a matrix of thousands of cells and for a strip of many runs.

A script renders them when they come into view. Until then, or without scripts, the page shows the glyphs of
the outcomes instead.
"""

from collections.abc import Iterable
from typing import Final

from harness.report.model.names import css_name
from harness.report.model.phrases import GLYPHS
from harness.results.status import MARKS
from harness.verdict import Outcome

ABSENT: Final = "."
"""The character for a missing result."""
_ABSENT_GLYPH: Final = " "
_OUTCOMES: Final = tuple(Outcome)
_LETTERS: Final = "abcdefghijklmnopqrstuvwx"
"""Four letters for each outcome, one for each mark; a capital one if the result differs from the baseline."""


def code(outcome: str, marked: str, *, has_news: bool = False) -> str:
    """Return the character of a result with a mark from `harness.results.status.mark`."""
    place = _OUTCOMES.index(Outcome(outcome)) * len(MARKS)
    letter = _LETTERS[place + MARKS.index(marked)]
    return letter.upper() if has_news else letter


def glyphs(codes: Iterable[str]) -> str:
    """Return the outcomes' glyphs, for browsers that run no scripts."""
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

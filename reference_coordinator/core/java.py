"""Java's arithmetic and text functions, where Python's differ."""

import codecs
from typing import Final

MENDED: Final = "reference_coordinator.mended"
"""The error handler of `bytes.decode` that replaces each malformed sequence by U+FFFD, as Java does."""
_INT_BITS: Final = 32
_LONG_BITS: Final = 64
_BLANKS: Final = "".join(map(chr, range(ord(" ") + 1)))
_REPLACEMENT: Final = "\N{REPLACEMENT CHARACTER}"
_LEADS_SURROGATE: Final = 0xED
_SURROGATES: Final = range(0xA0, 0xC0)
_CONTINUATIONS: Final = range(0x80, 0xC0)


def as_int(number: int) -> int:
    """Return a number as a Java `int`, which wraps around on overflow."""
    return _wrapped(number, _INT_BITS)


def as_long(number: int) -> int:
    """Return a number as a Java `long`, which wraps around on overflow."""
    return _wrapped(number, _LONG_BITS)


def trim(text: str) -> str:
    """Return a text without blanks and control characters at either end. Source: String#trim."""
    return text.strip(_BLANKS)


def _wrapped(number: int, bits: int) -> int:
    half = 1 << (bits - 1)
    return ((number + half) & ((1 << bits) - 1)) - half


def _mend(error: UnicodeError) -> tuple[str, int]:
    """Replace malformed UTF-8. An encoded surrogate is one malformed sequence for Java, and three for Python.

    Source: String#decodeUTF8_UTF16.
    """
    assert isinstance(error, UnicodeDecodeError), "nothing is encoded so"
    lead, *behind = error.object[error.start : error.start + 3]
    if lead != _LEADS_SURROGATE or not behind or behind[0] not in _SURROGATES:
        return _REPLACEMENT, error.end
    is_whole = behind[-1] in _CONTINUATIONS and len(behind) > 1
    return _REPLACEMENT, error.start + (3 if is_whole else 2)


codecs.register_error(MENDED, _mend)

"""Regular expressions as far as Python's are the same as RE2's; a stand-in."""

import re


class InvalidRegularExpressionError(Exception):
    """Not a regular expression."""


def compile_regex(text: str) -> None:
    """Refuse what is not a regular expression.

    Raises:
        InvalidRegularExpressionError: it is not.
    """
    try:
        re.compile(text)
    except re.error as failure:
        raise InvalidRegularExpressionError(str(failure)) from failure


def matches(text: str, topic: str) -> bool:
    """Whether all of a topic's name matches."""
    return re.fullmatch(text, topic) is not None

"""Regular expressions by which members subscribe, as the coordinator takes them."""

import re
from typing import Final

import re2  # type: ignore[import-untyped]  # it ships no types

from reference_coordinator.groups.consumer.regex_syntax import RegexSyntaxError, check_syntax
from reference_coordinator.profile.behaviour import Behaviour
from reference_coordinator.profile.profiles import Profile

_MEMORY_MAX: Final = 1 << 20
"""Of a program. A class of letters that is repeated a thousand times would take seconds and half a GB."""
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)


class InvalidRegularExpressionError(Exception):
    """An expression that cannot be parsed; the message is what the client gets."""


class RegularExpression:
    """An expression that the coordinator takes."""

    def __init__(self, text: str) -> None:
        self.text: Final = text
        try:
            self._compiled = re2.compile(_as_re2_writes(text), _options())
        except re2.error:
            # Too large for RE2, or the like: `docs/not-modelled.md`.
            self._compiled = None
        # Or else the last 128 programs stay.
        re2.purge()

    def matches(self, topic: str) -> bool:
        """Whether all of a topic's name matches.

        Decided in: TopicRegexResolver#resolveRegularExpressions (4.3.1).
        """
        return self._compiled is not None and self._compiled.fullmatch(topic) is not None


def compile_regex(text: str, profile: Profile) -> RegularExpression:
    """Compile what a member sends as its regular expression.

    Decided in: Utils#throwIfRegularExpressionIsInvalid (4.3.1).

    Raises:
        InvalidRegularExpressionError: RE2/J does not take it.
    """
    try:
        check_syntax(text, names_groups_without_p=profile.has(Behaviour.REGEX_GROUPS_NAMED_WITHOUT_P))
    except RegexSyntaxError as error:
        raise InvalidRegularExpressionError(
            f"SubscribedTopicRegex `{text}` is not a valid regular expression: {error}."
        ) from error
    return RegularExpression(text)


def _as_re2_writes(text: str) -> str:
    """An expression without backslashes before characters beyond ASCII, which RE2 does not take."""
    return _ESCAPED.sub(lambda escaped: escaped[0] if escaped[1].isascii() else escaped[1], text)


def _options() -> re2.Options:
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MEMORY_MAX
    return options

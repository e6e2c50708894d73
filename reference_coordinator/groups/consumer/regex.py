"""The regular expressions that members subscribe with, as the coordinator accepts them."""

import re
from typing import Final

import re2  # type: ignore[import-untyped]  # it ships no types

from reference_coordinator.groups.consumer.regex_syntax import RegexSyntaxError, check_syntax
from reference_coordinator.profile.behaviour import Behaviour
from reference_coordinator.profile.profiles import Profile

_MEMORY_MAX: Final = 1 << 20
"""The limit of a compiled program. A character class repeated 1000 times would take seconds and half a GB."""
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)


class InvalidRegularExpressionError(Exception):
    """The expression cannot be parsed. The message is sent to the client."""


class RegularExpression:
    """A valid expression."""

    def __init__(self, text: str) -> None:
        self.text: Final = text
        try:
            self._compiled = re2.compile(_as_re2_writes(text), _options())
        except re2.error:
            # For example, the expression is too large for RE2: `docs/not-modelled.md`.
            self._compiled = None
        # Otherwise re2 caches the last 128 programs.
        re2.purge()

    def matches(self, topic: str) -> bool:
        """Return whether the whole name of a topic matches.

        Decided in: TopicRegexResolver#resolveRegularExpressions (4.3.1).
        """
        return self._compiled is not None and self._compiled.fullmatch(topic) is not None


def compile_regex(text: str, profile: Profile) -> RegularExpression:
    """Compile a member's regular expression.

    Decided in: Utils#throwIfRegularExpressionIsInvalid (4.3.1).

    Raises:
        InvalidRegularExpressionError: RE2/J does not accept the expression.
    """
    try:
        check_syntax(text, names_groups_without_p=profile.has(Behaviour.REGEX_GROUPS_NAMED_WITHOUT_P))
    except RegexSyntaxError as error:
        raise InvalidRegularExpressionError(
            f"SubscribedTopicRegex `{text}` is not a valid regular expression: {error}."
        ) from error
    return RegularExpression(text)


def _as_re2_writes(text: str) -> str:
    """Remove backslashes before non-ASCII characters, which RE2 does not accept."""
    return _ESCAPED.sub(lambda escaped: escaped[0] if escaped[1].isascii() else escaped[1], text)


def _options() -> re2.Options:
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MEMORY_MAX
    return options

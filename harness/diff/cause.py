"""What differs, wherever it shows: the unit of everything that people read about differences.

One fault of a coordinator shows in many scenarios, at many steps and in several versions of an API. So a
cause has none of these. It has no id and no name that a conversation made up either, and what counts
(generations, epochs, offsets, times) enters it as its relation to what was expected.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from harness.diff.paths import unindexed
from harness.trace.schema import TraceError, parsed_json

_COUNTS: Final = re.compile(
    r"(?:generation|generation_id\w*|\w*epoch|\w*offset|\w+_ms|\w*timestamp\w*|\w*count|\w*size|partitions)$"
)
"""Names of fields whose numbers count something."""
_WORDS: Final = re.compile(r"(?:\w*state|\w*type|assignor_name)$")
"""Names of fields whose texts are words of the protocol; so is every constant."""
_CONSTANT: Final = re.compile(r"[A-Z][A-Z0-9_]+")
_QUOTED: Final = re.compile(r"'([^']*)'")
_BATCHES: Final = ("groups[]", "coordinators[]", "results[]", "responses[]")
"""Lists whose items have the same fields as the whole answer of a version that asks for one at a time."""
_ASSIGNMENT: Final = re.compile(r"(?:.*\.)?((?:target_)?assignment)(?:\..*)?")
_DEEP: Final = 2
"""So many parts of a path say which field it is; versions of an API nest it differently."""
_NAMED: Final = re.compile(r"\b(member|producer|group|topic):[^\s\"',;)\]]*")
"""An id or a name in canonical form."""
_NUMBER: Final = re.compile(r"\d+(?:\.\d+)?")
_NONE: Final = -1
_ABSENT: Final = "absent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """A difference without its place."""

    api: str | None
    difference_class: str
    """A `harness.verdict.DifferenceClass`."""
    field: str | None
    """The end of the path, without indexes; None where the whole answer differs."""
    expected: str
    actual: str

    def __str__(self) -> str:
        """Return the cause in words."""
        where = " ".join(part for part in (self.api, self.field) if part)
        return f"{where or self.difference_class}: expected {self.expected}, got {self.actual}"


@lru_cache(maxsize=1 << 14)
def cause_of(api: str | None, difference_class: str, field: str | None, expected: str, actual: str) -> Cause:
    """Return the cause of a difference, whose values are JSON, phrases or `absent`."""
    place = None if field is None else _place(unindexed(field))
    name = "" if place is None else place.rpartition(".")[2]
    due, came = _in_general(name, _value(expected), _value(actual))
    return Cause(api=api, difference_class=difference_class, field=place, expected=due, actual=came)


def _place(path: str) -> str:
    """Return the end of a path, which is the same in all versions of an API; an item stands for its list."""
    if (within := _ASSIGNMENT.fullmatch(path)) and not path.endswith("name"):
        return within[1]
    parts = path.removesuffix("[]").split(".")[-_DEEP:]
    return ".".join(parts[1:] if parts[0] in _BATCHES else parts)


class _Phrase(str):
    """A text that is no JSON."""

    __slots__ = ()


def _value(text: str) -> object:
    try:
        return parsed_json(text, where="a value")
    except TraceError:
        return _Phrase(text)


def _in_general(name: str, due: object, came: object) -> tuple[str, str]:
    """Return what was expected and what came, without what only this conversation has."""
    if _ASSIGNMENT.fullmatch(name):
        one, other = _partitions(due), _partitions(came)
        return (one, other) if one != other else (one, f"other {one}")
    if _is_number(due) and _is_number(came):
        return _numbers(name, due, came)  # type: ignore[arg-type] # they are numbers
    one, other = _general(name, due), _general(name, came)
    return (one, other) if one != other else (one, f"another {one.removeprefix('a ')}")


def _numbers(name: str, due: float, came: float) -> tuple[str, str]:
    if _NONE in (due, came) or not _COUNTS.fullmatch(name):
        return _general(name, due), _general(name, came)
    return "a number", "one less" if came - due == -1 else "another number"


def _partitions(value: object) -> str:
    """Return what a part of an assignment assigns, in words."""
    match value:
        case None:
            return "null"
        case _Phrase() if value == _ABSENT:
            return _ABSENT
        case list() if not value:
            return "no partitions"
        case _:
            return "partitions"


def _general(name: str, value: object) -> str:
    """Return a value in words if only its kind is the same in other conversations, else as JSON."""
    match value:
        case _Phrase():
            return _in_words(value)
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case int() | float():
            return "a number" if value != _NONE and _COUNTS.fullmatch(name) else f"{value}"
        case str():
            return _text(name, value)
        case list():
            return "a list" if value else "an empty list"
        case _:
            return "a structure"


def _text(name: str, value: str) -> str:
    if not value:
        return "an empty text"
    if (named := _NAMED.match(value)) and not name.endswith("name"):
        return f"a {named[1]} id"
    return value if _WORDS.fullmatch(name) or _CONSTANT.fullmatch(value) else "a text"


def _in_words(value: _Phrase) -> str:
    """Return a phrase without the values in it; of a pattern of a script only its kind is left."""
    if value == _ABSENT:
        return _ABSENT
    if value.startswith("{"):
        return "a structure" if re.match(r"\{\w+: ", value) else "a list"
    if value.startswith("["):
        return "a list"
    named = _NAMED.sub(r"\1", value)
    return _NUMBER.sub("N", _QUOTED.sub(lambda found: _text("", found[1]), named))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)

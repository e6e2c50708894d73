"""Values by their paths, a difference, and its cause.

The cause is what differs, wherever it shows: the unit of everything that people read about differences. One
fault of a coordinator shows in many scenarios, at many steps and in several versions of an API. So a cause
has none of these. It has no id and no name that a conversation made up either, and what counts (generations,
epochs, offsets, times) enters it as its relation to what was expected.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import Final, TypeAlias, TypeGuard

from harness.diff.model import Difference
from harness.trace.canonical import FieldValue, Json, canonical_json, field_name, is_prose
from harness.trace.events import Event
from harness.trace.schema import TraceError, parsed_json
from harness.verdict import DifferenceClass

_BYTES: Final = "$bytes"
_PART: Final = re.compile(r"\[(?P<index>\d+)\]|(?P<name>[^.\[\]]+)")
_INDEX: Final = re.compile(r"\[\d+\]")
_RECENT_COUNT: Final = 256
"""How many parsed texts are kept: whoever judges a conversation reads its events more than once."""


class _Absent:
    def __repr__(self) -> str:
        return "absent"


ABSENT: Final = _Absent()
"""The value of a field that a response does not contain."""
Leaf: TypeAlias = "Json | _Absent"


@lru_cache(maxsize=_RECENT_COUNT)
def read_fields(text: str | None) -> Mapping[str, FieldValue]:
    """Parse an event's decoded fields, with bytes converted back from their JSON form."""
    fields = _with_bytes(parsed_json(text, where="decoded fields")) if text else {}
    if not isinstance(fields, dict):
        raise TypeError(f"decoded fields are an object, not {text!r}")
    return fields


def unindexed(path: str) -> str:
    """Return a path without indexes: `members[0].metadata` becomes `members[].metadata`."""
    return _INDEX.sub("[]", path)


def value_at(value: Json, path: str) -> Leaf:
    """Return the value at a path, or ABSENT."""
    found: Leaf = value
    for part in _PART.finditer(path):
        if part["index"] is not None:
            found = _item(found, int(part["index"]))
        else:
            found = found.get(part["name"], ABSENT) if isinstance(found, Mapping) else ABSENT
    return found


def is_within(path: str, outer: str) -> bool:
    """Return whether a path equals another path or continues it."""
    return path == outer or (path.startswith(outer) and path[len(outer)] in ".[")


def unequal_leaves(left: Leaf, right: Leaf, path: str = "") -> tuple[tuple[str, Leaf, Leaf], ...]:
    """Return every path at which two canonical responses differ, with the values on either side.

    Lists of different lengths differ as a whole: it is unknown which of their items is the extra one.
    """
    if _is_structure(left) and _is_structure(right):
        names = dict.fromkeys((*left, *right))
        return tuple(
            leaf
            for name in names
            for leaf in unequal_leaves(
                left.get(name, ABSENT), right.get(name, ABSENT), f"{path}.{name}" if path else name
            )
        )
    if _is_list(left) and _is_list(right) and len(left) == len(right):
        return tuple(
            leaf
            for index, (one, other) in enumerate(zip(left, right, strict=True))
            for leaf in unequal_leaves(one, other, f"{path}[{index}]")
        )
    return () if type(left) is type(right) and left == right else ((path, left, right),)


def _is_structure(value: Leaf) -> TypeGuard[Mapping[str, Json]]:
    return isinstance(value, Mapping) and _BYTES not in value


def _is_list(value: Leaf) -> TypeGuard[Sequence[Json]]:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _item(value: Leaf, index: int) -> Leaf:
    return value[index] if _is_list(value) and index < len(value) else ABSENT


def _with_bytes(value: Json) -> FieldValue:
    # Only what `json` makes is here: to ask for a `Mapping` would take several times as long.
    if isinstance(value, dict):
        if _BYTES in value:
            return bytes.fromhex(str(value[_BYTES]))
        return {name: _with_bytes(item) for name, item in value.items()}
    return [_with_bytes(item) for item in value] if isinstance(value, list) else value


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


@lru_cache(maxsize=1 << 14)
def cause_of(api: str | None, difference_class: str, field: str | None, expected: str, actual: str) -> str:
    """Return the cause of a difference, whose values are JSON, phrases or `absent`, in words."""
    place = None if field is None else _place(unindexed(field))
    name = "" if place is None else place.rpartition(".")[2]
    due, came = _in_general(name, _value(expected), _value(actual))
    where = " ".join(part for part in (api, place) if part)
    return f"{where or difference_class}: expected {due}, got {came}"


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


_SIGNATURE_CHARACTERS: Final = 12


class Against(StrEnum):
    """What an answer was compared with."""

    EXPECTATION = "expectation"
    REFERENCE = "reference"


def difference_at(
    event: Event,
    difference_class: DifferenceClass,
    *,
    expected: str,
    actual: str,
    field: str | None = None,
    against: Against = Against.REFERENCE,
    is_lenient: bool = False,
) -> Difference:
    """Return a difference in an event of the target, as if it were the only one of its conversation."""
    return Difference(
        run_id=event.run_id,
        target=event.target,
        scenario_id=event.scenario_id,
        ordinal=0,
        is_consequence=False,
        against=against.value,
        step=event.step,
        api=event.api,
        api_version=event.api_version,
        difference_class=difference_class.value,
        field=field,
        expected=expected,
        actual=actual,
        signature=_signature(event, difference_class, field, expected, actual),
        cause=cause_of(event.api, difference_class, field, expected, actual),
        is_lenient=is_lenient,
        event_sequence=event.sequence,
    )


def _signature(
    event: Event, difference_class: DifferenceClass, field: str | None, expected: str, actual: str
) -> str:
    """Return a hash that is equal in every run, on every machine and for every target.

    It leaves out texts for people, which may contain anything: a time, an address, an id.
    """
    place = (event.scenario_id, event.step, event.api, event.api_version, difference_class.value, field)
    is_of_prose = field is not None and is_prose(field_name(field))
    values = () if is_of_prose else (_without_prose(expected), _without_prose(actual))
    return hashlib.sha256(canonical_json((*place, *values)).encode()).hexdigest()[:_SIGNATURE_CHARACTERS]


def field_class(field: str, *, presence_differs: bool, on_a_ladder: bool = False) -> DifferenceClass:
    """Return the class of a difference in a field's value, or in whether the field has one."""
    if field_name(field) == "error_code":
        return DifferenceClass.ERROR_PRECEDENCE if on_a_ladder else DifferenceClass.ERROR_CODE
    return DifferenceClass.FIELD_PRESENCE if presence_differs else DifferenceClass.FIELD_VALUE


def leaf_text(value: Leaf) -> str:
    """Return the value of a field as canonical JSON."""
    return "absent" if value is ABSENT else canonical_json(value)  # type: ignore[arg-type] # the only other kind of leaf


def _without_prose(text: str) -> str:
    """Return the text of a value without its texts for people; other texts are returned unchanged."""
    try:
        value: Json = parsed_json(text, where="a value")
    except TraceError:
        return text
    kept = _kept(value)
    return text if kept == value else canonical_json(kept)


def _kept(value: Json) -> Json:
    if isinstance(value, Mapping):
        return {name: _kept(item) for name, item in value.items() if not is_prose(name)}
    if isinstance(value, list):
        return [_kept(item) for item in value]
    return value

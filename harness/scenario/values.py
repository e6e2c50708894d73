"""Values of a script before there are any answers: symbolic references and patterns.

A script is built without a target, so a member id that a coordinator will choose is only a name here. A
request contains a `Value` in each field, an expected response a `Pattern`. Both are plain data, and are
converted to JSON and back without change.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Final, TypeAlias

from harness.scenario.errors import ScenarioError


@dataclass(frozen=True, slots=True)
class Plus:
    """A referenced number with something added, e.g. the generation before the current one."""

    base: "Ref | AnswerRef"
    addend: int


class _Arithmetic:
    """Allows arithmetic with a reference, as in `generation_id - 1`."""

    __slots__ = ()

    def __add__(self, addend: int) -> Plus:
        assert isinstance(self, Ref | AnswerRef)
        return Plus(self, addend)

    def __sub__(self, subtrahend: int) -> Plus:
        return self + -subtrahend


@dataclass(frozen=True, slots=True)
class Ref(_Arithmetic):
    """A value that an actor last learnt: its `member_id`, `generation_id`, `leader`, `protocol_name`."""

    actor: str
    name: str


@dataclass(frozen=True, slots=True)
class AnswerRef(_Arithmetic):
    """A field of the response received at one step, regardless of what was learnt later."""

    step: int
    path: tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class GroupRef:
    """A group of this scenario; the runner gives it an id that no other scenario has."""

    name: str


@dataclass(frozen=True, slots=True)
class TopicId:
    """The id of a topic, as an actor learnt it from Metadata; brokers choose it."""

    name: "str | GroupRef"
    """The topic's name; a group reference if the topic is the scenario's own."""


@dataclass(frozen=True, slots=True)
class ProducedBatch:
    """A batch of records that a transactional producer writes, with the id that an answer gave it."""

    count: int
    producer_id: int | Ref | AnswerRef
    producer_epoch: int | Ref | AnswerRef
    base_sequence: int
    """The number of records that the producer has already written to the partition."""


@dataclass(frozen=True, slots=True)
class OneOf:
    """Any of these values is accepted."""

    values: "tuple[Pattern, ...]"


@dataclass(frozen=True, slots=True)
class Tied(OneOf):
    """Any of these values is accepted, and nothing but the order of a map in Kafka decides between them."""


@dataclass(frozen=True, slots=True)
class InAnyOrder:
    """These items and no others, in any order."""

    items: "tuple[Pattern, ...]"


@dataclass(frozen=True, slots=True)
class Containing:
    """At least these items, in any order."""

    items: "tuple[Pattern, ...]"


@dataclass(frozen=True, slots=True)
class StartingWith:
    """A text with this prefix, e.g. an address. Ids have no form that a client may rely on."""

    prefix: str


@dataclass(frozen=True, slots=True)
class NonEmpty:
    """Any text, bytes or list that is not empty."""


NON_EMPTY: Final = NonEmpty()

Value: TypeAlias = (
    "bool | int | str | bytes | Ref | AnswerRef | Plus | GroupRef | TopicId | ProducedBatch"
    " | Sequence[Value] | Mapping[str, Value] | None"
)
"""A value in a request."""
Pattern: TypeAlias = (
    "bool | int | str | bytes | Ref | AnswerRef | Plus | GroupRef | TopicId | ProducedBatch | OneOf"
    " | InAnyOrder | Containing | StartingWith | NonEmpty | Sequence[Pattern] | Mapping[str, Pattern] | None"
)
"""A value in an expected response. A mapping pins the fields that it names and no others."""
Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"

TAGGED: Final[Mapping[str, type]] = {
    "$ref": Ref,
    "$answer": AnswerRef,
    "$plus": Plus,
    "$group": GroupRef,
    "$topic_id": TopicId,
    "$batch": ProducedBatch,
    "$one_of": OneOf,
    "$tied": Tied,
    "$in_any_order": InAnyOrder,
    "$containing": Containing,
    "$starting_with": StartingWith,
    "$non_empty": NonEmpty,
}
"""The types that JSON cannot express, by the key that marks them."""
_TAGS: Final[Mapping[type, str]] = {cls: tag for tag, cls in TAGGED.items()}


def one_of(*values: Pattern) -> OneOf:
    """Expect any of these values."""
    return OneOf(values)


def tied(*values: Pattern) -> Tied:
    """Expect any of these values; a broker that is not Kafka may choose otherwise than Kafka's map does."""
    return Tied(values)


def in_any_order(*items: Pattern) -> InAnyOrder:
    """Expect these items and no others, in any order."""
    return InAnyOrder(items)


def containing(*items: Pattern) -> Containing:
    """Expect at least these items, in any order."""
    return Containing(items)


def starting_with(prefix: str) -> StartingWith:
    """Expect a text with this prefix."""
    return StartingWith(prefix)


def to_json(value: Pattern) -> Json:
    """Write a value or pattern as JSON data: `{"$tag": [its fields]}` for what JSON cannot express."""
    if value is None or isinstance(value, int | str):  # most values, and much faster than the rest
        return value
    if isinstance(value, bytes):
        return {"$bytes": value.hex()}
    tag = _TAGS.get(type(value))
    if tag is not None:
        return {tag: [to_json(getattr(value, field.name)) for field in fields(value)]}  # type: ignore[arg-type] # a tagged class is a dataclass
    if isinstance(value, Mapping):
        return {name: to_json(item) for name, item in value.items()}
    if isinstance(value, Sequence):
        return [to_json(item) for item in value]
    raise ScenarioError(f"{value!r} cannot stand within a field; a field that is left out is unpinned")


def from_json(data: Json) -> Pattern:
    """Read what `to_json` wrote; sequences come back as tuples.

    Raises:
        ScenarioError: a tag is unknown, or a number is not an integer.
    """
    if data is None or isinstance(data, int | str):
        return data
    if isinstance(data, Mapping):
        return _from_object(data)
    if isinstance(data, Sequence):
        return tuple(from_json(item) for item in data)
    raise ScenarioError(f"a script names {data!r}, and no field of Kafka's coordinators is a fraction")


def _from_object(data: Mapping[str, Json]) -> Pattern:
    tag = next((name for name in data if name.startswith("$")), None)
    if tag is None:
        return {name: from_json(item) for name, item in data.items()}
    content = data[tag]
    if tag == "$bytes" and isinstance(content, str):
        return bytes.fromhex(content)
    if tag not in TAGGED or not isinstance(content, Sequence):
        raise ScenarioError(f"a script names {tag!r}, which this version of the harness does not know")
    made: Pattern = TAGGED[tag](*(from_json(item) for item in content))
    return made


def references(value: Pattern) -> tuple[Ref | AnswerRef | TopicId, ...]:
    """Return every reference within a value or pattern, in reading order."""
    if value is None or isinstance(value, int | str | bytes):
        return ()
    if isinstance(value, Ref | AnswerRef | TopicId):
        return (value,)
    if isinstance(value, Plus):
        return (value.base,)
    return tuple(ref for item in parts(value) for ref in references(item))


def parts(value: Pattern) -> Iterable[Pattern]:
    """Return the patterns that a pattern consists of; none for a plain value."""
    if value is None or isinstance(value, int | str | bytes):
        return ()
    match value:
        case Mapping():
            return value.values()
        case ProducedBatch():
            return (value.producer_id, value.producer_epoch)
        case OneOf(items) | InAnyOrder(items) | Containing(items):
            return items
        case Sequence():
            return value
        case _:
            return ()


def refers(value: Pattern) -> bool:
    """Return whether a value depends on what an answer brought."""
    return isinstance(value, Ref | AnswerRef | Plus | TopicId) or any(map(refers, parts(value)))


def phrase(value: Pattern) -> str:  # noqa: C901, PLR0911, PLR0912 - one flat case a kind of value
    """Return a value as text for people."""
    match value:
        case Ref(actor, name):
            return f"{actor}.{name}"
        case AnswerRef(step, path):
            return f"step {step}'s {'.'.join(map(str, path))}"
        case Plus(base, addend):
            return f"{phrase(base)} {'+' if addend >= 0 else '-'} {abs(addend)}"
        case GroupRef(name):
            return f"group:{name}"
        case TopicId(name):
            return f"topic:{name if isinstance(name, str) else phrase(name)}"
        case ProducedBatch(count, producer_id, producer_epoch):
            return f"{count} records of producer {phrase(producer_id)} in epoch {phrase(producer_epoch)}"
        case OneOf(values):
            return " or ".join(phrase(item) for item in values)
        case InAnyOrder(items):
            return f"{{{', '.join(phrase(item) for item in items)}}}"
        case Containing(items):
            return f"{{{', '.join(phrase(item) for item in items)}, …}}"
        case StartingWith(prefix):
            return f"'{prefix}…'"
        case NonEmpty():
            return "something"
        case _:
            return _phrase_plain(value)


def _phrase_plain(value: Pattern) -> str:
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{name}: {phrase(item)}' for name, item in value.items())}}}"
    if isinstance(value, bytes):
        return (
            repr(value)[1:]
            if value.isascii() and value.decode("ascii").isprintable()
            else f"{len(value)} bytes"
        )
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"[{', '.join(phrase(item) for item in value)}]"
    return repr(value)

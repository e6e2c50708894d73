"""Requests and answers as invariants look at them: read, paired, and placed in the order of happening."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from harness.apis.descriptor import Subject
from harness.apis.table import apis_where
from harness.trace.embedded import stored_fields
from harness.trace.events import Event, EventKind

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
Fields: TypeAlias = Mapping[str, Json]

LOOKED_AT: Final = apis_where(
    lambda api: api.subject is Subject.MEMBERSHIP or api.offsets is not None
) | frozenset(("ConsumerGroupHeartbeat", "ConsumerGroupDescribe", "Metadata", "DeleteTopics"))
"""What invariants are about: members, offsets, and which topics there are. Nothing else is read."""
_ANSWERS: Final = frozenset((EventKind.RESPONSE, EventKind.POLL))


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request."""

    event: Event
    api: str
    fields: Fields

    @property
    def at(self) -> int:
        """Its place in the order of happening."""
        return self.event.sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """A response, with its request."""

    asked: Asked
    event: Event
    fields: Fields

    @property
    def at(self) -> int:
        """Its place in the order of happening."""
        return self.event.sequence

    @property
    def is_right(self) -> bool:
        """Whether it tells of no error at its top level."""
        return self.fields.get("error_code", NO_ERROR) == NO_ERROR


NO_ERROR: Final = "NONE"
COORDINATOR_CHANGED: Final = frozenset(
    ("NOT_COORDINATOR", "COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE")
)
"""After one of these, another coordinator may have taken over, which knows only what is in the log."""
TrafficKind: TypeAlias = tuple[str, str, str | None, str | None, int | None]


@dataclass(slots=True)
class Pairing:
    """Finds the request that an answer belongs to."""

    _open: dict[TrafficKind, Asked] = field(default_factory=dict)

    def take(self, event: Event) -> Asked | Answered | None:
        """Take in the next event; None where invariants have no interest in it."""
        if event.api not in LOOKED_AT or event.fields is None:
            return None
        conversation = (event.target, event.scenario_id, event.actor, event.connection, event.correlation_id)
        if event.kind == EventKind.REQUEST:
            asked = self._open[conversation] = Asked(event=event, api=event.api, fields=stored_fields(event))
            return asked
        if event.kind not in _ANSWERS:
            return None
        asked_before = self._open.pop(conversation, None)
        if asked_before is None or asked_before.api != event.api:
            return None
        return Answered(asked=asked_before, event=event, fields=stored_fields(event))


def text(fields: Fields, name: str) -> str:
    """Return a field that contains a text, or an empty one where it is null or missing."""
    value = fields.get(name)
    return value if isinstance(value, str) else ""


def number(fields: Fields, name: str) -> int:
    """Return a field that contains a number, -1 where it is missing."""
    value = fields.get(name)
    return value if isinstance(value, int) else -1


def items(fields: Fields, name: str) -> Iterator[Fields]:
    """Yield the structures of a collection; none where it is null or missing."""
    value = fields.get(name)
    if isinstance(value, Sequence) and not isinstance(value, str):
        yield from (item for item in value if isinstance(item, Mapping))


def structure(fields: Fields, name: str) -> Fields | None:
    """Return a field that contains a structure, or nothing where it is null or missing."""
    value = fields.get(name)
    return value if isinstance(value, Mapping) else None


def texts(fields: Fields, name: str) -> frozenset[str] | None:
    """Return the texts of a collection, or nothing where it is null or missing."""
    value = fields.get(name)
    if not isinstance(value, Sequence) or isinstance(value, str):
        return None
    return frozenset(item for item in value if isinstance(item, str))


def binary(fields: Fields, name: str) -> bytes:
    """Return a field that contains bytes."""
    value = fields.get(name)
    digits = value.get("$bytes") if isinstance(value, Mapping) else None
    return bytes.fromhex(digits) if isinstance(digits, str) else b""

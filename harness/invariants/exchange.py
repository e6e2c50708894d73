"""Requests and answers in the form that invariants check: parsed, paired, and in the order of events."""

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
"""The APIs that affect invariants: members, offsets, and the existing topics. Other events are ignored."""
_ANSWERS: Final = frozenset((EventKind.RESPONSE, EventKind.POLL))


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request."""

    event: Event
    api: str
    fields: Fields

    @property
    def at(self) -> int:
        """The request's sequence number."""
        return self.event.sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """A response, with its request."""

    asked: Asked
    event: Event
    fields: Fields

    @property
    def at(self) -> int:
        """The response's sequence number."""
        return self.event.sequence

    @property
    def is_right(self) -> bool:
        """Whether the response has no error at its top level."""
        return self.fields.get("error_code", NO_ERROR) == NO_ERROR


NO_ERROR: Final = "NONE"
COORDINATOR_CHANGED: Final = frozenset(
    ("NOT_COORDINATOR", "COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE")
)
"""After one of these errors, another coordinator may have taken over, with only the state in the log."""
TrafficKind: TypeAlias = tuple[str, str, str | None, str | None, int | None]


@dataclass(slots=True)
class Pairing:
    """Matches answers with their requests."""

    _open: dict[TrafficKind, Asked] = field(default_factory=dict)

    def take(self, event: Event) -> Asked | Answered | None:
        """Process the next event; return None where invariants do not depend on it."""
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
    """Return a text field, or an empty string where it is null or missing."""
    value = fields.get(name)
    return value if isinstance(value, str) else ""


def number(fields: Fields, name: str) -> int:
    """Return a number field, or -1 where it is missing."""
    value = fields.get(name)
    return value if isinstance(value, int) else -1


def items(fields: Fields, name: str) -> Iterator[Fields]:
    """Yield the structures of a collection; yield nothing where it is null or missing."""
    value = fields.get(name)
    if isinstance(value, Sequence) and not isinstance(value, str):
        yield from (item for item in value if isinstance(item, Mapping))


def structure(fields: Fields, name: str) -> Fields | None:
    """Return a structure field, or None where it is null or missing."""
    value = fields.get(name)
    return value if isinstance(value, Mapping) else None


def texts(fields: Fields, name: str) -> frozenset[str] | None:
    """Return the texts of a collection, or None where it is null or missing."""
    value = fields.get(name)
    if not isinstance(value, Sequence) or isinstance(value, str):
        return None
    return frozenset(item for item in value if isinstance(item, str))


def binary(fields: Fields, name: str) -> bytes:
    """Return a bytes field, or empty bytes where it is missing."""
    value = fields.get(name)
    digits = value.get("$bytes") if isinstance(value, Mapping) else None
    return bytes.fromhex(digits) if isinstance(digits, str) else b""

"""The values that the actors of one conversation have learnt, and the resolution of references to them.

The runner learns during the conversation; the checker learns the same again from the trace. Neither keeps any
other state, so both use the same values.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from harness.apis.table import APIS, descriptor
from harness.scenario.errors import UnboundReferenceError
from harness.scenario.values import (
    AnswerRef,
    Containing,
    GroupRef,
    InAnyOrder,
    OneOf,
    Pattern,
    Plus,
    ProducedBatch,
    Ref,
    TopicId,
    phrase,
)
from harness.wire.record_batch import BatchProducer, encode_batch, numbered_records

LEARNT_NAMES: Final = tuple(dict.fromkeys(name for api in APIS.values() for name in api.learnt_names))
"""The names of the values that an actor learns from responses."""


@dataclass(slots=True)
class Bindings:
    """The values learnt so far in one conversation."""

    groups: Mapping[str, str]
    """Symbolic group names to the ids that this conversation uses."""
    _learnt: dict[tuple[str, str], object] = field(default_factory=dict)
    _topic_ids: dict[str, str] = field(default_factory=dict)
    """The newest id of each topic, by its name on the broker."""
    _answers: dict[int, Mapping[str, object]] = field(default_factory=dict)

    def learn(self, *, step: int, actor: str, api: str, fields: Mapping[str, object]) -> None:
        """Learn the values in a response. An actor learns its id even from a JoinGroup error."""
        self._answers[step] = fields
        row = descriptor(api)
        if api == "Metadata":
            self._learn_topics(fields.get("topics"))
        if not row.learns_from_errors and fields.get("error_code") != "NONE":
            return
        for name, path in zip(row.learnt_names, row.learns, strict=True):
            value = _at(fields, path.split("."))
            if value not in (None, "", -1):
                self._learnt[actor, name] = value

    def _learn_topics(self, topics: object) -> None:
        for topic in topics if isinstance(topics, list | tuple) else ():
            match topic:
                case {"name": str(name), "topic_id": str(topic_id), "error_code": "NONE"}:
                    self._topic_ids[name] = topic_id
                case _:
                    pass

    def resolve(self, value: Pattern) -> Pattern:
        """Replace references by the values that were learnt.

        Raises:
            UnboundReferenceError: no answer contained the value.
        """
        match value:
            case Ref() | AnswerRef():
                return self._value_of(value)
            case Plus(base, addend):
                return self._sum(base, addend)
            case GroupRef(name):
                return self.groups[name]
            case TopicId(name):
                return self._topic_id(value, self.groups[name.name] if isinstance(name, GroupRef) else name)
            case OneOf(values):
                return OneOf(tuple(self.resolve(item) for item in values))
            case InAnyOrder(items):
                return InAnyOrder(tuple(self.resolve(item) for item in items))
            case Containing(items):
                return Containing(tuple(self.resolve(item) for item in items))
            case _:
                return self._resolve_nested(value)

    def resolve_fields(self, fields: Mapping[str, Pattern]) -> dict[str, Pattern]:
        """Resolve every field of a request or of an expected response."""
        return {name: self.resolve(value) for name, value in fields.items()}

    def _resolve_nested(self, value: Pattern) -> Pattern:
        if isinstance(value, ProducedBatch):
            return self._encoded(value)
        if isinstance(value, Mapping):
            return self.resolve_fields(value)
        if isinstance(value, Sequence) and not isinstance(value, str | bytes):
            return tuple(self.resolve(item) for item in value)
        return value

    def _sum(self, base: Ref | AnswerRef, addend: int) -> int:
        number = self._value_of(base)
        if not isinstance(number, int):
            raise UnboundReferenceError(f"{phrase(base)} is {number!r}, which is not a number")
        return number + addend

    def _encoded(self, batch: ProducedBatch) -> bytes:
        producer_id, epoch = self.resolve(batch.producer_id), self.resolve(batch.producer_epoch)
        if not isinstance(producer_id, int) or not isinstance(epoch, int):
            raise UnboundReferenceError(f"{phrase(batch)}: no number")
        producer = BatchProducer(producer_id, epoch, batch.base_sequence)
        return encode_batch(numbered_records(batch.count), producer=producer)

    def _topic_id(self, ref: TopicId, name: str) -> str:
        try:
            return self._topic_ids[name]
        except KeyError:
            raise UnboundReferenceError(f"no answer brought the id of {phrase(ref)}") from None

    def _value_of(self, ref: Ref | AnswerRef) -> Pattern:
        value = self._learnt.get((ref.actor, ref.name)) if isinstance(ref, Ref) else self._answered(ref)
        if not isinstance(value, str | int | bytes | list | tuple):
            raise UnboundReferenceError(f"no answer brought {phrase(ref)}")
        return value

    def _answered(self, ref: AnswerRef) -> object:
        return _at(self._answers.get(ref.step), ref.path)


def _at(value: object, path: Sequence[str | int]) -> object:
    """Return the value at a path; None if there is none."""
    for key in path:
        if isinstance(value, Mapping):
            value = value.get(str(key))
        elif isinstance(value, list | tuple) and isinstance(key, int) and key < len(value):
            value = value[key]
        else:
            return None
    return value

"""What the actors of one conversation have learnt, and references resolved by it.

The runner learns while it talks; the checker learns the same again from the trace. Neither keeps any other
state, so both see the same values.
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
    Ref,
    phrase,
)

LEARNT_NAMES: Final = tuple(dict.fromkeys(name for api in APIS.values() for name in api.learns))
"""What responses teach an actor."""


@dataclass(slots=True)
class Bindings:
    """The values learnt so far in one conversation."""

    groups: Mapping[str, str]
    """Symbolic group names to the ids that this conversation uses."""
    _learnt: dict[tuple[str, str], object] = field(default_factory=dict)
    _answers: dict[int, Mapping[str, object]] = field(default_factory=dict)

    def learn(self, *, step: int, actor: str, api: str, fields: Mapping[str, object]) -> None:
        """Take note of a response. A JoinGroup teaches an actor its id even when it is an error."""
        self._answers[step] = fields
        for name in descriptor(api).learns:
            value = fields.get(name)
            if value not in (None, "", -1):
                self._learnt[actor, name] = value

    def resolve(self, value: Pattern) -> Pattern:
        """Put learnt values where references stand.

        Raises:
            UnboundReferenceError: no answer brought the value.
        """
        match value:
            case Ref() | AnswerRef():
                return self._value_of(value)
            case Plus(base, addend):
                return self._sum(base, addend)
            case GroupRef(name):
                return self.groups[name]
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

    def _value_of(self, ref: Ref | AnswerRef) -> str | int | bytes | bool:
        value = self._learnt.get((ref.actor, ref.name)) if isinstance(ref, Ref) else self._answered(ref)
        if not isinstance(value, str | int | bytes):
            raise UnboundReferenceError(f"no answer brought {phrase(ref)}")
        return value

    def _answered(self, ref: AnswerRef) -> object:
        value: object = self._answers.get(ref.step)
        for key in ref.path:
            if isinstance(value, Mapping):
                value = value.get(str(key))
            elif isinstance(value, list | tuple) and isinstance(key, int) and key < len(value):
                value = value[key]
            else:
                return None
        return value

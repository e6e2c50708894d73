"""A difference before it is known whether it is the first one of its scenario."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Self

from harness.diff.cause import Cause, cause_of
from harness.diff.model import Difference
from harness.diff.paths import ABSENT, Leaf
from harness.trace.canonical import Json, canonical_json, field_name, is_prose
from harness.trace.events import Event
from harness.trace.schema import TraceError, parsed_json
from harness.verdict import DifferenceClass

_SIGNATURE_CHARACTERS: Final = 12


class Against(StrEnum):
    """What an answer was compared with."""

    EXPECTATION = "expectation"
    REFERENCE = "reference"


@dataclass(frozen=True, slots=True, kw_only=True)
class RawDifference:
    """One difference at one step. Its texts are canonical, so they are equal in every run."""

    step: int
    event_sequence: int
    """Sequence number of the target's event; -1 where nothing was recorded. Not part of the signature."""
    api: str | None
    api_version: int | None
    against: Against
    difference_class: DifferenceClass
    field: str | None
    expected: str
    actual: str
    is_lenient: bool = False
    """Whether no client reads what differs."""

    @classmethod
    def at(
        cls,
        event: Event,
        difference_class: DifferenceClass,
        *,
        expected: str,
        actual: str,
        field: str | None = None,
        against: Against = Against.REFERENCE,
        is_lenient: bool = False,
    ) -> Self:
        """Return a difference in an event of the target."""
        return cls(
            step=event.step,
            event_sequence=event.sequence,
            api=event.api,
            api_version=event.api_version,
            against=against,
            difference_class=difference_class,
            field=field,
            expected=expected,
            actual=actual,
            is_lenient=is_lenient,
        )

    @property
    def cause(self) -> Cause:
        """What differs, without its place."""
        return cause_of(self.api, self.difference_class, self.field, self.expected, self.actual)

    @property
    def _is_prose(self) -> bool:
        return self.field is not None and is_prose(field_name(self.field))

    def signature(self, scenario_id: str) -> str:
        """Return a hash that is equal in every run, on every machine and for every target.

        It leaves out texts for people, which may contain anything: a time, an address, an id.
        """
        parts = (
            scenario_id,
            self.step,
            self.api,
            self.api_version,
            self.difference_class.value,
            self.field,
            *(() if self._is_prose else (_without_prose(self.expected), _without_prose(self.actual))),
        )
        return hashlib.sha256(canonical_json(parts).encode()).hexdigest()[:_SIGNATURE_CHARACTERS]

    def difference(self, event: Event, *, ordinal: int, is_consequence: bool) -> Difference:
        """Return the difference as a record for the run, target and scenario of an event."""
        return Difference(
            run_id=event.run_id,
            target=event.target,
            scenario_id=event.scenario_id,
            ordinal=ordinal,
            is_consequence=is_consequence,
            against=self.against.value,
            step=self.step,
            api=self.api,
            api_version=self.api_version,
            difference_class=self.difference_class.value,
            field=self.field,
            expected=self.expected,
            actual=self.actual,
            signature=self.signature(event.scenario_id),
            cause=str(self.cause),
            is_lenient=self.is_lenient,
            event_sequence=self.event_sequence,
        )


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

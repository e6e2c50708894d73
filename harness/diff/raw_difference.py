"""A difference before it is known whether it is the first one of its scenario."""

import hashlib
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from harness.diff.model import Difference
from harness.diff.paths import ABSENT, Leaf, unindexed
from harness.trace.canonical import canonical_json
from harness.trace.events import Event
from harness.verdict import DifferenceClass

LENIENT_FIELDS: Final = {
    "error_message": "prose for people; clients decide by the error code",
}
"""Names of fields that clients should ignore, with the reason."""

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

    @property
    def is_lenient(self) -> bool:
        """Whether the difference is in a field that clients should ignore."""
        return self.field is not None and unindexed(self.field).rpartition(".")[2] in LENIENT_FIELDS

    def signature(self, scenario_id: str) -> str:
        """Return a hash that is equal in every run, on every machine and for every target."""
        parts = (
            scenario_id,
            self.step,
            self.api,
            self.api_version,
            self.difference_class.value,
            self.field,
            self.expected,
            self.actual,
        )
        return hashlib.sha256(canonical_json(parts).encode()).hexdigest()[:_SIGNATURE_CHARACTERS]

    def difference(self, event: Event, *, ordinal: int) -> Difference:
        """Return the difference as a record for the run, target and scenario of an event."""
        return Difference(
            run_id=event.run_id,
            target=event.target,
            scenario_id=event.scenario_id,
            ordinal=ordinal,
            is_consequence=ordinal > 0,
            against=self.against.value,
            step=self.step,
            api=self.api,
            api_version=self.api_version,
            difference_class=self.difference_class.value,
            field=self.field,
            expected=self.expected,
            actual=self.actual,
            signature=self.signature(event.scenario_id),
            is_lenient=self.is_lenient,
            event_sequence=self.event_sequence,
        )


def field_class(field: str, *, presence_differs: bool, on_a_ladder: bool = False) -> DifferenceClass:
    """Return the class of a difference in a field's value, or in whether the field has one."""
    if unindexed(field).rpartition(".")[2] == "error_code":
        return DifferenceClass.ERROR_PRECEDENCE if on_a_ladder else DifferenceClass.ERROR_CODE
    return DifferenceClass.FIELD_PRESENCE if presence_differs else DifferenceClass.FIELD_VALUE


def leaf_text(value: Leaf) -> str:
    """Return the value of a field as canonical JSON."""
    return "absent" if value is ABSENT else canonical_json(value)  # type: ignore[arg-type] # the only other kind of leaf

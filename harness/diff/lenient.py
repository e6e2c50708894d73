"""Fields that no client reads, by API, answer and value: a difference in them is lenient.

A row needs evidence from the clients that people use: kafka-clients with its Admin, librdkafka, franz-go. The
id of a MEMBER_ID_REQUIRED and the rows of LeaveGroup are never among them: clients take the former, Java's
Admin looks up the latter.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum, auto
from typing import Final

from harness.diff.raw_difference import unindexed, value_at
from harness.tables import Table, read_table

_ERROR_CODE: Final = "error_code"
_FINE: Final = frozenset(("NONE", None))


class When(StrEnum):
    """In which answers nobody reads a field."""

    ALWAYS = auto()
    REFUSED = auto()
    """In answers, and rows of answers, with an error, except MEMBER_ID_REQUIRED."""
    LEFT = auto()
    """In answers to a member that leaves, whose epoch is negative."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadField:
    """A field that no client reads."""

    api: str
    """Kafka's name of the API; empty for all."""
    field: str
    """The path without indexes; for all APIs, its last part."""
    when: When
    evidence: str
    values: frozenset[str] | None = None
    """The values, as JSON, that clients take for the same; None for all."""

    def covers(
        self, api: str | None, field: str, texts: frozenset[str], answer: Mapping[str, object]
    ) -> bool:
        """Return whether nobody reads a field in an answer, or distinguishes its two values."""
        if not self.api:
            return field.rpartition(".")[2] == self.field
        is_alike = self.values is None or texts <= self.values
        return api == self.api and field == self.field and is_alike and self.applies(answer)

    def applies(self, answer: Mapping[str, object]) -> bool:
        """Return whether an answer, or a row of one, is of those in which nobody reads the field."""
        error, epoch = answer.get(_ERROR_CODE), answer.get("member_epoch")
        match self.when:
            case When.ALWAYS:
                return True
            case When.REFUSED:
                return error not in _FINE and error != "MEMBER_ID_REQUIRED"
            case When.LEFT:
                return error in _FINE and isinstance(epoch, int) and epoch < 0


class _Fields(Table):
    apis: tuple[str, ...]
    fields: tuple[str, ...]
    when: tuple[When, ...]
    evidence: str
    values: frozenset[str] | None = None


UNREAD: Final = tuple(
    UnreadField(api=api, field=field, when=when, evidence=row.evidence, values=row.values)
    for row in read_table("harness.diff", "unread_fields.toml", dict[str, tuple[_Fields, ...]])["unread"]
    for api in row.apis
    for field in row.fields
    for when in row.when
)
"""All such fields, with the reason why nobody looks."""


def is_unread(api: str | None, field: str | None, expected: str, actual: str, answer: object) -> bool:
    """Return whether no client reads what differs.

    Values are JSON; without a field, the whole answer differs.
    """
    if field is None or not isinstance(answer, Mapping):
        return False
    place, texts = unindexed(field), frozenset((expected, actual))
    row = value_at(answer, field.rpartition(".")[0])
    whole = row if isinstance(row, Mapping) and _ERROR_CODE in row else answer
    return any(each.covers(api, place, texts, whole) for each in UNREAD)

"""One request of a recording with its answer, and what is read of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from typing_extensions import override

from harness.apis.descriptor import OF_GROUP_COORDINATOR, Subject
from harness.apis.table import apis_where, descriptor
from harness.invariants.exchange import COORDINATOR_CHANGED, NO_ERROR, Fields, items, text
from harness.orders.history import Operation
from harness.replay.topics import Change

COMPARED: Final = apis_where(lambda api: api.subject in OF_GROUP_COORDINATOR)
"""The group coordinator's APIs, whose answers are compared with the reference's."""
OF_TRANSACTIONS: Final = apis_where(lambda api: api.subject is Subject.TRANSACTIONS)
"""Fed, since committed offsets hang on them; not compared."""
MEMBERSHIP: Final = apis_where(
    lambda api: api.subject in (Subject.MEMBERSHIP, Subject.CONSUMER_GROUPS) and bool(api.members)
)
"""APIs in which members speak, of whichever protocol."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedOperation(Operation):
    """A request of a recording, with its answer if one came."""

    request: Fields
    answer: Fields | None
    connection: str
    asked_at: int
    """The request's sequence."""
    answered_at: int | None
    """The answer's sequence."""
    behind: int | None
    """The index of the request before it on its connection, if one was answered."""
    free_ms: float
    """When the recorder saw that answered; when it was sent itself, if that was later, or there is none."""
    is_in_doubt: bool = False
    """Whether its answer hangs on offsets that nobody knows."""

    @property
    @override
    def is_compared(self) -> bool:
        """Whether its answer is the group coordinator's, and can be foretold."""
        return self.api in COMPARED and self.answer is not None and not self.is_in_doubt

    @property
    def position(self) -> int:
        """Where in its conversation it was answered; where it was asked if it was not."""
        return self.asked_at if self.answered_at is None else self.answered_at

    @property
    def error(self) -> str:
        """The error at the answer's top level."""
        return NO_ERROR if self.answer is None else text(self.answer, "error_code") or NO_ERROR

    @property
    def tells_of_no_coordinator(self) -> bool:
        """Whether the answer says that the coordinator is elsewhere, or not ready."""
        return self.answer is not None and self.api in COMPARED and _says(self.answer, COORDINATOR_CHANGED)

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups that it is about; none where it is about all."""
        return groups_of(self.api, self.request)

    @property
    def transactional_id(self) -> str:
        """The transactional id; empty where there is none."""
        return text(self.request, "transactional_id") or text(self.request, "v3_and_below_transactional_id")


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicChange(RecordedOperation):
    """That a topic came to be, or grew; nobody knows when, but before it was seen."""

    change: Change

    @property
    @override
    def is_compared(self) -> bool:
        """Never: nobody is answered."""
        return False


def topic_change(change: Change) -> TopicChange:
    """Return a change as an operation of nobody."""
    return TopicChange(
        change=change,
        api="",
        api_version=0,
        actor=None,
        connection="",
        asked_at=-1,
        answered_at=None,
        behind=None,
        asked_ms=change.after_ms,
        free_ms=change.after_ms,
        answered_ms=change.before_ms,
        request={},
        answer={},
    )


def groups_of(api: str | None, request: Fields) -> tuple[str, ...]:
    """Return the groups that a request names, by the first of its fields that names any."""
    named = (_named_at(path, request) for path in descriptor(api).groups)
    return next((groups for groups in named if groups), ())


def _named_at(path: str, request: Fields) -> tuple[str, ...]:
    collection, _, name = path.rpartition("[].")
    if collection:
        return tuple(text(each, name) for each in items(request, collection))
    value = request.get(name)
    if isinstance(value, list):
        return tuple(str(each) for each in value)
    return (value,) if isinstance(value, str) and value else ()


def _says(value: object, errors: frozenset[str]) -> bool:
    if isinstance(value, Mapping):
        return value.get("error_code") in errors or any(_says(each, errors) for each in value.values())
    return isinstance(value, list) and any(_says(each, errors) for each in value)

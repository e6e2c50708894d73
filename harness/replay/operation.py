"""One request of a recording with its answer, and the values that are read from them."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
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
"""APIs that are fed, since committed offsets depend on them, but not compared."""
HEARTBEATS: Final = MappingProxyType(
    {
        "ConsumerGroupHeartbeat": "consumer",
        "ShareGroupHeartbeat": "share",
        "StreamsGroupHeartbeat": "streams",
    }
)
"""The heartbeats with an epoch, with the kinds of the groups."""
DESCRIPTIONS: Final = frozenset(("ConsumerGroupDescribe", "ShareGroupDescribe", "StreamsGroupDescribe"))
"""The descriptions of such groups."""
MEMBERSHIP: Final = HEARTBEATS.keys() | apis_where(
    lambda api: api.subject is Subject.MEMBERSHIP and bool(api.members)
)
"""APIs that members use, of any protocol."""


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
    """When the recorder saw that request answered, or when this one was sent if that was later or alone."""
    groups: tuple[str, ...]
    """The groups that it names; empty if it concerns all."""
    is_in_doubt: bool = False
    """Whether its answer depends on unknown offsets."""

    @property
    @override
    def is_compared(self) -> bool:
        """Whether its answer is the group coordinator's, and can be predicted."""
        return self.api in COMPARED and self.answer is not None and not self.is_in_doubt

    @property
    def position(self) -> int:
        """The position of its answer in the conversation, or of the request if it was not answered."""
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
    def transactional_id(self) -> str:
        """The transactional id; empty where there is none."""
        return text(self.request, "transactional_id") or text(self.request, "v3_and_below_transactional_id")


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicChange(RecordedOperation):
    """The creation or growth of a topic, at an unknown time before it was seen."""

    change: Change

    @property
    @override
    def is_compared(self) -> bool:
        """False: a change has no answer."""
        return False


def topic_change(change: Change) -> TopicChange:
    """Return a change of a topic as an operation without a client."""
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
        groups=(),
        request={},
        answer={},
    )


def groups_of(api: str | None, request: Fields) -> tuple[str, ...]:
    """Return the groups that a request names, in the first of its fields that names any."""
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

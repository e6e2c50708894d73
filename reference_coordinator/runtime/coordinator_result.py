"""The result of a coordinator operation: records to write, and the response to send once they are written.

An operation returns records. The runtime appends them, has them replayed, and answers or refuses the request.
There are two exceptions. As in Kafka, classic groups change before their records are written, and their
`append_future` undoes a change that could not be written. The Scala coordinator writes during LeaveGroup,
expiry and deletions without waiting for the write, so these operations append records themselves.
"""

from abc import ABC, abstractmethod
from typing import Final, Generic, Never, TypeVar

from reference_coordinator.core.effects import Permitted
from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import ResponseToken
from reference_coordinator.core.records import CoordinatorRecord
from reference_coordinator.core.values import value
from reference_coordinator.messages import (
    JoinGroupRequest,
    RequestContext,
    SyncGroupRequest,
)


@value
class Join:
    """A JoinGroup that awaits its answer."""

    request: JoinGroupRequest
    context: RequestContext
    token: ResponseToken


@value
class Sync:
    """A SyncGroup that awaits its answer."""

    request: SyncGroupRequest
    token: ResponseToken


ResponseT_co = TypeVar("ResponseT_co", covariant=True)


class Continuation(ABC):
    """The action to run when an append is complete.

    Kafka adds a callback to the append. Here, it is a value. It refers to a group by the object itself, as
    Kafka's closures do: a group created again with the same id is a different one.
    """

    __slots__ = ()

    @abstractmethod
    def append_completed(self, error: Errors) -> None:
        """Continue after the append. NONE means that the records are committed to the log."""


@value
class CoordinatorResult(Generic[ResponseT_co]):
    """Records and a response. Source: CoordinatorResult (4.1.0)."""

    records: tuple[CoordinatorRecord, ...] = ()
    """Written as one batch, or not at all."""
    response: ResponseT_co | None = None
    """The answer once the records are committed, or None if the operation answers itself."""
    permitted: tuple[Permitted, ...] = ()
    """Other permitted values of the response, if there are no records."""
    append_future: Continuation | None = None
    """Receives the outcome of the write, before the response is sent."""
    replay_records: bool = True
    """Whether to replay the records. False if the operation has already changed the state."""


VoidResult = CoordinatorResult[Never]
"""The result of an operation that answers waiting requests itself, if there are any."""

EMPTY_RESULT: Final[VoidResult] = CoordinatorResult(replay_records=False)
"""Nothing to write. Source: GroupMetadataManager.EMPTY_RESULT (4.1.0)."""

"""What an operation of the coordinator returns: records to write, and a response for when they are written.

An operation returns records; the runtime appends them, has them replayed, and answers or refuses the request.
Two things stand apart. Classic groups change before their records are written, as in Kafka, and their
`append_future` puts right what could not be written. And the Scala coordinator writes in the middle of
LeaveGroup, of expiry and of deletions, and waits for none of it: those operations append by themselves.
"""

from abc import ABC, abstractmethod
from typing import Final, Generic, Never, TypeVar

from reference_coordinator.core.effects import Permitted
from reference_coordinator.core.errors import Errors
from reference_coordinator.core.records import CoordinatorRecord
from reference_coordinator.core.values import value

ResponseT_co = TypeVar("ResponseT_co", covariant=True)


class Continuation(ABC):
    """How to go on when an append is through.

    Kafka hangs a callback on the append; here it is a value that knows how to go on. A group is named by the
    object itself, as Kafka's closures do: one made anew under the same id is another group.
    """

    __slots__ = ()

    @abstractmethod
    def append_completed(self, error: Errors) -> None:
        """Go on; NONE means that the records are in the log for good."""


@value
class CoordinatorResult(Generic[ResponseT_co]):
    """Records and a response. Source: CoordinatorResult (4.1.0)."""

    records: tuple[CoordinatorRecord, ...] = ()
    """They get into the log as one batch, or not at all."""
    response: ResponseT_co | None = None
    """The answer when they are there for good; None where the operation answers by itself."""
    permitted: tuple[Permitted, ...] = ()
    """What else may stand in an answer without records."""
    append_future: Continuation | None = None
    """Whoever learns how the write ended, before the response leaves."""
    replay_records: bool = True
    """Whether the records change the state; False where the operation has done so already."""


VoidResult = CoordinatorResult[Never]
"""Of an operation that answers by itself, if anybody waits."""

EMPTY_RESULT: Final[VoidResult] = CoordinatorResult(replay_records=False)
"""Nothing to write. Source: GroupMetadataManager.EMPTY_RESULT (4.1.0)."""

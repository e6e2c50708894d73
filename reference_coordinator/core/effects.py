"""All that ever leaves the coordinator: answers, and records to append."""

from typing import Final, Generic, TypeVar

from reference_coordinator.core.ids import AppendId, ProducerEpoch, ProducerId, ResponseToken
from reference_coordinator.core.records import CoordinatorRecord
from reference_coordinator.core.values import value

ResponseT_co = TypeVar("ResponseT_co", covariant=True)


ALL_REPLICAS: Final = -1
NO_REPLICAS: Final = 0


@value
class Permitted:
    """Values that one field of one response may have in Kafka, by map order or by a race."""

    field: str
    """A top-level field of the response, by Kafka's name in snake_case, e.g. `leader`."""
    any_of: tuple[object, ...]
    """Every value that is right; the one in the response is among them."""
    reason: str


@value
class Respond(Generic[ResponseT_co]):
    """Answer the request that `token` names. A token is answered at most once."""

    token: ResponseToken
    response: ResponseT_co
    permitted: tuple[Permitted, ...] = ()


@value
class Producer:
    """In whose name, and of what age, transactional records are written."""

    producer_id: ProducerId
    producer_epoch: ProducerEpoch


@value
class AppendRecords:
    """Append to the group's partition of `__consumer_offsets`, then call `append_completed(append_id, …)`."""

    append_id: AppendId
    partition: int
    records: tuple[CoordinatorRecord, ...]
    producer: Producer | None = None
    """Set where the records are part of a transaction; the log refuses an epoch below one that it saw."""
    required_acks: int = ALL_REPLICAS
    """How many replicas have to have them, as in a Produce request; 0 asks for none beside the leader's."""


Effect = Respond[object] | AppendRecords

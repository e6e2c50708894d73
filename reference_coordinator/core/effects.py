"""The outputs of the coordinator: answers, and records to append."""

from typing import Final, Generic, TypeVar

from reference_coordinator.core.ids import AppendId, ProducerEpoch, ProducerId, ResponseToken
from reference_coordinator.core.records import CoordinatorRecord
from reference_coordinator.core.values import value

ResponseT_co = TypeVar("ResponseT_co", covariant=True)


ALL_REPLICAS: Final = -1
NO_REPLICAS: Final = 0


@value
class Permitted:
    """The values that one field of one response may have in Kafka because of map order or a race."""

    field: str
    """A top-level field of the response, by Kafka's name in snake_case, e.g. `leader`."""
    any_of: tuple[object, ...]
    """All correct values, including the one in the response."""
    reason: str


@value
class Respond(Generic[ResponseT_co]):
    """The answer to the request with a token. A token is answered at most once."""

    token: ResponseToken
    response: ResponseT_co
    permitted: tuple[Permitted, ...] = ()


@value
class Producer:
    """The id and epoch of the producer of transactional records."""

    producer_id: ProducerId
    producer_epoch: ProducerEpoch


@value
class AppendRecords:
    """Records to append to the group's partition of `__consumer_offsets`.

    The caller then calls `append_completed(append_id, …)`.
    """

    append_id: AppendId
    partition: int
    records: tuple[CoordinatorRecord, ...]
    producer: Producer | None = None
    """Set if the records are part of a transaction. The log refuses an epoch lower than an earlier one."""
    required_acks: int = ALL_REPLICAS
    """The number of acknowledgements, as in a Produce request. 0 requires only the leader's append."""


Effect = Respond[object] | AppendRecords

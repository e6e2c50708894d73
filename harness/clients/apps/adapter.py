"""The interface between the application of every client and the library that it uses.

Settings have the names of Kafka's client properties in snake case; partitions are pairs of topic and number.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

PartitionKey = tuple[str, int]
Settings = Mapping[str, str | int | bool]
OnPartitions = Callable[[str, Sequence[PartitionKey]], None]
"""Called with `assigned`, `revoked` or `lost`, and the partitions; maybe on a thread of the library."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered:
    """A record as it was delivered."""

    partition: PartitionKey
    offset: int
    value: str
    delivery_count: int = 1
    """How often the record was delivered so far, this time included; above 1 only in share groups."""


class ClientError(Exception):
    """A library refused a call, or reported an error by itself."""

    def __init__(self, name: str, says: str) -> None:
        super().__init__(says)
        self.name = name
        """Kafka's name for the error, or the library's if Kafka has none, in capitals."""
        self.says = says


class Consumer(Protocol):
    """A library's consumer."""

    def subscribe(self, topics: Sequence[str]) -> None:
        """Subscribe to topics."""

    def subscribe_to_pattern(self, pattern: str) -> None:
        """Subscribe to all topics that match a pattern."""

    def unsubscribe(self) -> None:
        """Give up the subscription."""

    def assign(self, partitions: Sequence[PartitionKey]) -> None:
        """Assign partitions to the consumer manually."""

    def poll(self, *, records_max: int, timeout_s: float) -> Sequence[Delivered]:
        """Poll the library and return the records; raise `ClientError` for an error that it reports."""

    def commit(self, offsets: Mapping[PartitionKey, int]) -> None:
        """Commit offsets and wait for the answer."""

    def committed(self, partitions: Sequence[PartitionKey]) -> Mapping[PartitionKey, int | None]:
        """Return the group's committed offsets."""

    def seek(self, partition: PartitionKey, offset: int) -> None:
        """Seek to an offset."""

    def pause(self, partitions: Sequence[PartitionKey]) -> None:
        """Stop fetching from partitions."""

    def resume(self, partitions: Sequence[PartitionKey]) -> None:
        """Fetch from partitions again."""

    def positions(self, partitions: Sequence[PartitionKey]) -> Mapping[PartitionKey, int]:
        """Return the offset of the next record of each partition."""

    def close(self) -> None:
        """Close the consumer."""


class ShareConsumer(Protocol):
    """A library's consumer for share groups."""

    def subscribe(self, topics: Sequence[str]) -> None:
        """Subscribe to topics."""

    def unsubscribe(self) -> None:
        """Give up the subscription."""

    def poll(self, *, timeout_s: float) -> Sequence[Delivered]:
        """Poll the library and return the records; raise `ClientError` for an error that it reports."""

    def acknowledge(self, record: Delivered, as_: str) -> None:
        """Acknowledge a record with `accept`, `release` or `reject`; the next commit or poll sends it."""

    def commit(self) -> Mapping[PartitionKey, ClientError]:
        """Commit acknowledgements, and return the errors of those that were refused."""

    def close(self) -> None:
        """Leave the group; records that were not acknowledged are delivered to other members."""


class Producer(Protocol):
    """A library's producer."""

    def produce(self, records: Sequence[tuple[PartitionKey, str]]) -> None:
        """Write records and wait until all are acknowledged."""

    def begin_transaction(self) -> None:
        """Begin a transaction; the first time, initialize the transactional id."""

    def send_offsets(self, offsets: Mapping[PartitionKey, int], consumer: Consumer) -> None:
        """Add a consumer's offsets to the transaction."""

    def commit_transaction(self) -> None:
        """Commit the transaction."""

    def abort_transaction(self) -> None:
        """Abort the transaction."""

    def close(self) -> None:
        """Close the producer's connections."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """A group as an admin client describes it."""

    state: str
    assignor: str
    members: Sequence[tuple[str, Sequence[PartitionKey]]]
    """Client ids with the partitions that they own."""
    offsets: Mapping[PartitionKey, tuple[int, int]]
    """The committed offset and the log end offset of each partition."""


class Library(Protocol):
    """A client library."""

    def describe(self, settings: Settings, group: str) -> Description:
        """Describe a group with an admin client."""

    def consumer(self, settings: Settings, on_partitions: OnPartitions) -> Consumer:
        """Create a consumer."""

    def share_consumer(self, settings: Settings) -> ShareConsumer:
        """Create a consumer for share groups; raise `ClientError` if the library has none."""

    def producer(self, settings: Settings) -> Producer:
        """Create a producer."""

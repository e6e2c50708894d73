"""The seam between the application that every client is and the library that it is written with.

Settings bear the names of Kafka's client properties in snake case; partitions are pairs of topic and number.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

PartitionKey = tuple[str, int]
Settings = Mapping[str, str | int | bool]
OnPartitions = Callable[[str, Sequence[PartitionKey]], None]
"""Told `assigned`, `revoked` or `lost`, and which; may come on another thread than the application's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered:
    """A record as it came."""

    partition: PartitionKey
    offset: int
    value: str
    delivery_count: int = 1
    """The how manieth time it came; of a share group."""


class ClientError(Exception):
    """A library refused something, or told an error on its own account."""

    def __init__(self, name: str, says: str) -> None:
        super().__init__(says)
        self.name = name
        """Kafka's name of the error, or the library's where Kafka has none, in capitals."""
        self.says = says


class Consumer(Protocol):
    """A consumer of a library."""

    def subscribe(self, topics: Sequence[str]) -> None:
        """Subscribe to topics."""

    def subscribe_to_pattern(self, pattern: str) -> None:
        """Subscribe to whatever matches."""

    def unsubscribe(self) -> None:
        """Give the subscription up."""

    def assign(self, partitions: Sequence[PartitionKey]) -> None:
        """Take partitions."""

    def poll(self, *, records_max: int, timeout_s: float) -> Sequence[Delivered]:
        """Give the library its turn, and return what came; `ClientError` for what it tells."""

    def commit(self, offsets: Mapping[PartitionKey, int]) -> None:
        """Commit offsets and wait until that is done."""

    def committed(self, partitions: Sequence[PartitionKey]) -> Mapping[PartitionKey, int | None]:
        """Ask what the group has committed."""

    def seek(self, partition: PartitionKey, offset: int) -> None:
        """Go to an offset."""

    def pause(self, partitions: Sequence[PartitionKey]) -> None:
        """Fetch no more of partitions."""

    def resume(self, partitions: Sequence[PartitionKey]) -> None:
        """Fetch of partitions again."""

    def positions(self, partitions: Sequence[PartitionKey]) -> Mapping[PartitionKey, int]:
        """Return the offset of the next record of each partition."""

    def close(self) -> None:
        """Say goodbye."""


class ShareConsumer(Protocol):
    """A consumer of a share group."""

    def subscribe(self, topics: Sequence[str]) -> None:
        """Subscribe to topics."""

    def unsubscribe(self) -> None:
        """Give the subscription up."""

    def poll(self, *, timeout_s: float) -> Sequence[Delivered]:
        """Give the library its turn, and return what came; `ClientError` for what it tells."""

    def acknowledge(self, record: Delivered, as_: str) -> None:
        """Say `accept`, `release` or `reject` of a record; the next commit or poll sends it."""

    def commit(self) -> Mapping[PartitionKey, ClientError]:
        """Have acknowledgements written, and return those that were refused."""

    def close(self) -> None:
        """Leave the group; records that were not acknowledged come to others."""


class Producer(Protocol):
    """A producer of a library."""

    def produce(self, records: Sequence[tuple[PartitionKey, str]]) -> None:
        """Write records and wait until all are acknowledged."""

    def begin_transaction(self) -> None:
        """Begin a transaction; the first time, make the transactional id ours."""

    def send_offsets(self, offsets: Mapping[PartitionKey, int], consumer: Consumer) -> None:
        """Add a consumer's offsets to the transaction."""

    def commit_transaction(self) -> None:
        """End the transaction so that it happened."""

    def abort_transaction(self) -> None:
        """End it so that it never happened."""

    def close(self) -> None:
        """Let go of the brokers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """A group as an administrator sees it."""

    state: str
    assignor: str
    members: Sequence[tuple[str, Sequence[PartitionKey]]]
    """Client ids with what they own."""
    offsets: Mapping[PartitionKey, tuple[int, int]]
    """What is committed, and where the log ends."""


class Library(Protocol):
    """A client library."""

    def describe(self, settings: Settings, group: str) -> Description:
        """Describe a group, with a client for administrators."""

    def consumer(self, settings: Settings, on_partitions: OnPartitions) -> Consumer:
        """Make a consumer."""

    def share_consumer(self, settings: Settings) -> ShareConsumer:
        """Make a consumer of a share group; `ClientError` where the library has none."""

    def producer(self, settings: Settings) -> Producer:
        """Make a producer."""

"""All logs of a cluster's topics, and the watchers that are notified of changes."""

from collections.abc import Hashable, Iterator
from typing import Protocol

from reference_coordinator.core.ids import TopicPartition
from reference_coordinator.topic_logs.partition_log import PartitionLog


class Watcher(Protocol):
    """A listener for changes of logs."""

    def changed(self, partition: TopicPartition) -> None:
        """Process that a log was written to or deleted."""


class TopicLogs:
    """Logs by partition, created on first use."""

    def __init__(self) -> None:
        self._logs: dict[TopicPartition, PartitionLog] = {}
        self._watchers: dict[Hashable, Watcher] = {}
        self.are_saved = False
        """Whether logs are also written to a disk, so that nothing may leave the memory before that."""

    def __iter__(self) -> Iterator[tuple[TopicPartition, PartitionLog]]:
        return iter(self._logs.items())

    def __len__(self) -> int:
        return len(self._logs)

    def watch(self, name: Hashable, watcher: Watcher) -> None:
        """Register a watcher of a broker, or of a part of it, replacing the one from before a restart."""
        self._watchers[name] = watcher

    def log(self, partition: TopicPartition) -> PartitionLog:
        """Return the log of an existing partition."""
        found = self._logs.get(partition)
        if found is None:
            found = self.renew(partition)
        return found

    def size_bytes(self, partition: TopicPartition) -> int:
        """Return the size of a log; 0 if there is none. Source: UnifiedLog#size (4.3.1)."""
        found = self._logs.get(partition)
        return 0 if found is None else found.segments.size_bytes

    def renew(self, partition: TopicPartition) -> PartitionLog:
        """Replace the log of a partition by an empty one, and return it; watchers are not notified."""
        log = self._logs[partition] = PartitionLog()
        log.saved_until = 0 if self.are_saved else None
        return log

    def changed(self, partition: TopicPartition) -> None:
        """Notify all watchers that a log was written to."""
        for watcher in self._watchers.values():
            watcher.changed(partition)

    def delete(self, topic: str) -> None:
        """Delete the logs of a topic, and notify the watchers."""
        for partition in [each for each in self._logs if each.topic == topic]:
            del self._logs[partition]
            self.changed(partition)

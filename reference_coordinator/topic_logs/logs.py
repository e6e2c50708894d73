"""All logs of a cluster's topics, and who is to be told when one of them changes."""

from collections.abc import Hashable, Iterator
from typing import Protocol

from reference_coordinator.core.ids import TopicPartition
from reference_coordinator.topic_logs.partition_log import PartitionLog


class Watcher(Protocol):
    """Who waits for logs to change."""

    def changed(self, partition: TopicPartition) -> None:
        """Learn that something was written to a log, or that the log is no more."""


class TopicLogs:
    """Logs by partition, made when they are first asked for."""

    def __init__(self) -> None:
        self._logs: dict[TopicPartition, PartitionLog] = {}
        self._watchers: dict[Hashable, Watcher] = {}
        self.are_saved = False
        """Whether somebody keeps logs on a disk, so that nothing may leave the memory before it is there."""

    def __iter__(self) -> Iterator[tuple[TopicPartition, PartitionLog]]:
        return iter(self._logs.items())

    def __len__(self) -> int:
        return len(self._logs)

    def watch(self, name: Hashable, watcher: Watcher) -> None:
        """Let a broker, or a part of it, hear of changes, in place of whom it was before a restart."""
        self._watchers[name] = watcher

    def log(self, partition: TopicPartition) -> PartitionLog:
        """Return the log of a partition, which exists."""
        found = self._logs.get(partition)
        if found is None:
            found = self.renew(partition)
        return found

    def size_bytes(self, partition: TopicPartition) -> int:
        """How large a log is. Source: UnifiedLog#size (4.3.1)."""
        found = self._logs.get(partition)
        return 0 if found is None else found.segments.size_bytes

    def renew(self, partition: TopicPartition) -> PartitionLog:
        """Begin the log of a partition anew, and return it; nobody is told."""
        log = self._logs[partition] = PartitionLog()
        log.saved_until = 0 if self.are_saved else None
        return log

    def changed(self, partition: TopicPartition) -> None:
        """Tell who waits that something was written to a log."""
        for watcher in self._watchers.values():
            watcher.changed(partition)

    def delete(self, topic: str) -> None:
        """Lose the logs of a topic."""
        for partition in [each for each in self._logs if each.topic == topic]:
            del self._logs[partition]
            self.changed(partition)

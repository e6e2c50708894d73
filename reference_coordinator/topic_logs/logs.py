"""All logs of a cluster's topics, and who is to be told when one of them changes."""

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
        self._watchers: dict[int, Watcher] = {}

    def watch(self, node_id: int, watcher: Watcher) -> None:
        """Let a broker hear of changes, in place of whom it was before a restart."""
        self._watchers[node_id] = watcher

    def log(self, partition: TopicPartition) -> PartitionLog:
        """Return the log of a partition, which exists."""
        found = self._logs.get(partition)
        if found is None:
            found = self._logs[partition] = PartitionLog()
        return found

    def changed(self, partition: TopicPartition) -> None:
        """Tell who waits that something was written to a log."""
        for watcher in self._watchers.values():
            watcher.changed(partition)

    def delete(self, topic: str) -> None:
        """Lose the logs of a topic."""
        for partition in [each for each in self._logs if each.topic == topic]:
            del self._logs[partition]
            self.changed(partition)

"""Retention and compaction of topics' logs, at the intervals of the brokers' configuration.

The brokers of a cluster share their logs, so one manager serves them all, called by whichever broker is due.
In Kafka, the intervals begin when a broker starts; here they begin with the first write, so that there are no
deadlines without writes.
"""

from collections.abc import Iterator

from reference_coordinator.broker.topics import Topics
from reference_coordinator.core.ids import Millis, TopicPartition
from reference_coordinator.profile.config import GroupCoordinatorConfig
from reference_coordinator.topic_logs.cleaner import LogToClean, clean, log_to_clean
from reference_coordinator.topic_logs.partition_log import PartitionLog
from reference_coordinator.topic_logs.retention import delete_old_segments
from reference_coordinator.topic_logs.settings import log_settings


class LogManager:
    """Source: LogManager#startup, LogManager#cleanupLogs, LogCleaner.CleanerThread#doWork (4.3.1)."""

    def __init__(self, topics: Topics) -> None:
        self._topics = topics
        self.next_check_ms: Millis | None = None
        """When old segments are checked next; None while no log has records."""
        self.next_clean_ms: Millis | None = None
        """When the cleaner runs next; None while no log is to be compacted."""

    def wake(
        self, config: GroupCoordinatorConfig, *, now_ms: Millis, is_compacted: bool | None = None
    ) -> None:
        """Schedule retention and compaction, if there are records and they are not scheduled yet.

        Args:
            config: the broker's configuration.
            now_ms: the time.
            is_compacted: whether the log that was written to is compacted; None if topics may have been
                reconfigured.
        """
        is_unclean = is_compacted is None or (is_compacted and self.next_clean_ms is None)
        if self._topics.logs and (is_unclean or self.next_check_ms is None):
            self._schedule(config, now_ms=now_ms)

    def advance(self, config: GroupCoordinatorConfig, *, now_ms: Millis) -> None:
        """Run retention and compaction if they are due."""
        if self.next_check_ms is not None and self.next_check_ms <= now_ms:
            self.next_check_ms = None
            self._cleanup_logs(config, now_ms=now_ms)
            self._schedule(config, now_ms=now_ms)
        if self.next_clean_ms is not None and self.next_clean_ms <= now_ms:
            self.next_clean_ms = None
            self._clean_logs(config, now_ms=now_ms)
            self._schedule(config, now_ms=now_ms)

    def next_deadline(self) -> Millis | None:
        """Return when `advance` is due."""
        due = (each for each in (self.next_check_ms, self.next_clean_ms) if each is not None)
        return min(due, default=None)

    def _schedule(self, config: GroupCoordinatorConfig, *, now_ms: Millis) -> None:
        logs = [log for _, log in self._logs(config) if log.segments.size_bytes]
        if logs and self.next_check_ms is None:
            self.next_check_ms = Millis(now_ms + config.log_retention_check_interval_ms)
        if self.next_clean_ms is None and any(log.settings.is_compacted for log in logs):
            self.next_clean_ms = Millis(now_ms + max(config.log_cleaner_backoff_ms, 1))

    def _cleanup_logs(self, config: GroupCoordinatorConfig, *, now_ms: Millis) -> None:
        """Source: LogManager#cleanupLogs (4.3.1)."""
        for partition, log in self._logs(config):
            if not log.settings.is_compacted:
                self._delete_old_segments(partition, log, now_ms=now_ms)

    def _clean_logs(self, config: GroupCoordinatorConfig, *, now_ms: Millis) -> None:
        """Compact the dirtiest log first, until none is left.

        Source: LogCleaner.CleanerThread#cleanFilthiestLog (4.3.1).
        """
        compacted = [(each, log) for each, log in self._logs(config) if log.settings.is_compacted]
        while due := list(_due(compacted, now_ms=now_ms)):
            partition, log, to_clean = max(due, key=lambda each: each[2].cleanable_ratio)
            clean(log, to_clean, now_ms=now_ms)
            self._topics.logs.changed(partition)
        for partition, log in compacted:
            self._delete_old_segments(partition, log, now_ms=now_ms)

    def _delete_old_segments(self, partition: TopicPartition, log: PartitionLog, *, now_ms: Millis) -> None:
        if delete_old_segments(log, now_ms=now_ms):
            self._topics.logs.changed(partition)

    def _logs(self, config: GroupCoordinatorConfig) -> Iterator[tuple[TopicPartition, PartitionLog]]:
        """Yield the logs of clients' topics, with the current settings of their topics."""
        for partition, log in self._topics.logs:
            topic = self._topics.get(partition.topic)
            if topic is not None and not topic.is_internal:
                log.settings = log_settings(config, topic.configs)
                yield partition, log


def _due(
    compacted: list[tuple[TopicPartition, PartitionLog]], *, now_ms: Millis
) -> Iterator[tuple[TopicPartition, PartitionLog, LogToClean]]:
    for partition, log in compacted:
        to_clean = log_to_clean(log, now_ms=now_ms)
        if to_clean is not None:
            yield partition, log, to_clean

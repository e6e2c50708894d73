"""The share partitions of a broker: those whose state it has read."""

from collections.abc import Callable, Iterator, Sequence

from reference_coordinator.broker.broker_apis import Broker
from reference_coordinator.broker.dead_letters import DeadLetterTopics
from reference_coordinator.broker.partition_leadership import log_of_leader
from reference_coordinator.broker.transaction_apis import TransactionApis
from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import GroupId, Millis, TopicPartition
from reference_coordinator.shares.settings import ShareSettings, share_settings
from reference_coordinator.shares.share_partition import AcquisitionLock, Locks, SharePartition
from reference_coordinator.shares.state import SharePartitionKey
from reference_coordinator.topic_logs.partition_log import PartitionLog


class SharePartitions:
    """Source: SharePartitionCache, SharePartitionManager#getOrCreateSharePartition (4.3.1)."""

    def __init__(self, broker: Broker, transactions: TransactionApis) -> None:
        self._broker = broker
        self._transactions = transactions
        self._partitions: dict[SharePartitionKey, tuple[SharePartition, TopicPartition]] = {}
        self.locks = Locks()

    def get(self, key: SharePartitionKey) -> SharePartition | None:
        """Return a partition whose state was read."""
        found = self._partitions.get(key)
        return None if found is None else found[0]

    def load(self, key: SharePartitionKey, at: TopicPartition) -> tuple[SharePartition | Errors, bool]:
        """Return a partition or an error, and whether the result is known without reading the state.

        Source: SharePartitionManager#processShareFetch, #handleInitializationException (4.3.1).
        """
        known = self.get(key)
        if known is not None:
            return known, True
        log = log_of_leader(self._broker, at)
        if isinstance(log, Errors):
            return log, True
        settings = self._settings_of(key.group_id)
        letters = DeadLetterTopics(self._broker, self._transactions, key.group_id, at, settings)
        partition = SharePartition(
            key=key,
            leader_epoch=self._broker.cluster.leader_epoch(*at),
            states=self._broker.cluster.share_states,
            settings=settings,
            locks=self.locks,
            sends_dead_letters=letters.send,
            profile=self._broker.profile,
        )
        error = partition.initialize(lambda: self._first_offset(partition.settings(), log))
        if error is not Errors.NONE:
            return error, False
        self._partitions[key] = (partition, at)
        return partition, False

    def settings(self, group_id: GroupId) -> ShareSettings:
        """Return the current settings of a group."""
        configs = self._broker.cluster.group_configs.get(group_id)
        return share_settings(configs, self._broker.config, self._broker.profile)

    def remove(self, key: SharePartitionKey) -> None:
        """Remove a partition; its state is read again when it is loaded again.

        Source: SharePartitionManager#removeSharePartitionFromCache (4.3.1).
        """
        found = self._partitions.pop(key, None)
        if found is not None:
            found[0].is_fenced = True

    def remove_group(self, group_id: GroupId) -> Sequence[SharePartitionKey]:
        """Remove the partitions of a group, and return them.

        Source: SharePartitionManager.ShareGroupListenerImpl#onGroupEmpty (4.3.1).
        """
        keys = [key for key in self._partitions if key.group_id == group_id]
        for key in keys:
            self.remove(key)
        return keys

    def remove_deleted(self, at: TopicPartition) -> None:
        """Remove a partition whose topic was deleted.

        Source: SharePartitionManager.SharePartitionListener#onDeleted (4.3.1).
        """
        for key, (_, where) in tuple(self._partitions.items()):
            if where == at and self._broker.topics.get_by_id(key.topic_id) is None:
                self.remove(key)

    def pop_due(self, now_ms: Millis) -> Iterator[tuple[SharePartition, AcquisitionLock]]:
        """Remove and yield the acquisition locks that time out, each with its partition."""
        while (due := self.locks.timers.pop_due(now_ms)) is not None:
            partition = self.get(due.deadline.key)
            if partition is not None:
                yield partition, due.deadline

    def _settings_of(self, group_id: GroupId) -> Callable[[], ShareSettings]:
        return lambda: self.settings(group_id)

    def _first_offset(self, settings: ShareSettings, log: PartitionLog) -> int:
        """Source: SharePartition#startOffsetDuringInitialization (4.3.1)."""
        ago_ms = settings.begins_ago_ms
        if ago_ms is not None:
            since_ms = Millis(self._broker.cluster.now_ms - ago_ms)
            found = log.offset_by_timestamp(since_ms, is_committed=False)
            return found.offset if found.offset >= 0 else log.log_end_offset
        return log.log_start_offset if settings.offset_reset == "earliest" else log.log_end_offset

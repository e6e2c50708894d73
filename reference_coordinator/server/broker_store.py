"""The stored state of a broker beside `__consumer_offsets`: topics, their logs, and transactions.

It is written before the answers that depend on it leave the process, so nothing that a client learnt is lost
with the process. A transaction's decision is on the disk before the first of its markers, as in Kafka, which
writes it to `__transaction_state` first. So the transaction completes in all of its partitions, or in none.
"""

from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from typing import Final, cast

from typing_extensions import override

from reference_coordinator.broker.cluster_state import ClusterState
from reference_coordinator.broker.topics import Topic
from reference_coordinator.core.ids import (
    OFFSETS_TOPIC,
    GroupId,
    Millis,
    ProducerEpoch,
    ProducerId,
    TopicId,
    TopicPartition,
    TransactionalId,
)
from reference_coordinator.log.batches import LogBatch, RecordStore, StoredPartition
from reference_coordinator.log.files import DiskFiles, Files
from reference_coordinator.log.full_disk import Disk
from reference_coordinator.log.offsets_log import OffsetsLog
from reference_coordinator.log.segments import LOG_SUFFIX, DamagedLogError
from reference_coordinator.log.synced import SyncedEnds
from reference_coordinator.server.journal import Journal, Json
from reference_coordinator.server.share_states import restore_share_states, save_share_states
from reference_coordinator.server.topic_files import TopicFiles
from reference_coordinator.topic_logs.logs import Watcher
from reference_coordinator.transactions.coordinator import Markers, TransactionStore
from reference_coordinator.transactions.metadata import TransactionMetadata
from reference_coordinator.transactions.state import TransactionState

JOURNAL_NAME: Final = "reference.jsonl"
_ENDS_NAME: Final = "reference.synced"
_NO_NODE: Final = 0
_IDS_OF_A_START: Final = 1 << 20
"""How many producer ids each start reserves, since ids that were given out and not used leave no trace."""
_DECIDED: Final = frozenset({TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT})
_COMPLETE: Final = frozenset({TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT})
_TOPIC: Final = "topic "
_ID: Final = "id "
_CONFIGS: Final = "configs "
_CREATED: Final = "created "
_BEGINS: Final = "begins "
_TRANSACTION: Final = "transaction "
_STARTS: Final = "starts"
_VERSION: Final = "version"
_GROUP: Final = "group "
_NO_IDS: Final[Mapping[str, TopicId]] = {}


class BrokerStore(Watcher):
    """Stores the state of a single broker in a directory, which another store has locked."""

    def __init__(
        self, directory: Path, *, files: Files | None = None, tell: Callable[[str], None] = lambda _: None
    ) -> None:
        self._directory = directory
        self._files = DiskFiles() if files is None else files
        self._logs: TopicFiles
        self._journal: Journal
        self._state: ClusterState
        self._kept: dict[str, Topic] = {}
        """The topics as stored on the disk."""
        self._dirty: set[TopicPartition] = set()
        self._configs_version = 0
        self._disk = Disk(directory, tell)

    def restore(
        self,
        log: OffsetsLog,
        topics: Mapping[str, int],
        *,
        topic_ids: Mapping[str, TopicId] = _NO_IDS,
        num_partitions: int,
    ) -> ClusterState:
        """Return the state in the directory, with the topics that a broker starts with.

        Args:
            log: `__consumer_offsets`.
            topics: partition counts by topic name; topics that exist stay as they are.
            topic_ids: the ids of topics that do not exist yet; others have ids made of their names.
            num_partitions: the number of partitions of `__consumer_offsets`.

        Raises:
            DamagedLogError: bytes are wrong before the end of a file.
            OSError: the directory cannot be read.
            StoreError: the directory cannot be written.
        """
        ends = SyncedEnds(self._files, self._directory / _ENDS_NAME)
        self._logs = TopicFiles(self._files, self._directory, ends)
        self._throw_if_without_journal()
        ends.begin({})
        self._journal = Journal(self._files, self._directory / JOURNAL_NAME, ends)
        self._state = state = ClusterState(log)
        state.topics.logs.are_saved = True
        self._restore_topics()
        state.topics.drawn_ids.update(topic_ids)
        self._restore_group_configs()
        restore_share_states(state.share_states, self._journal)
        self._logs.begin()
        self._restore_transactions()
        begins_with = {OFFSETS_TOPIC: num_partitions} if log.partitions() else {}
        for name, partition_count in {**begins_with, **topics}.items():
            if state.topics.get(name) is None:
                state.topics.create(name, partition_count)
        state.topics.logs.watch(_NO_NODE, self)
        self.save()
        return state

    @property
    def notices(self) -> tuple[str, ...]:
        """Messages about ends of files that were cut off."""
        cuts = tuple(f"{cut} was cut off" for cut in self._logs.cuts)
        return cuts if self._journal.notice is None else (self._journal.notice, *cuts)

    def around(self, store: RecordStore) -> RecordStore:
        """Wrap the store of `__consumer_offsets`, so that transactions' decisions precede their markers."""
        return _DecisionsFirst(store, self._decide)

    @override
    def changed(self, partition: TopicPartition) -> None:
        self._dirty.add(partition)
        self._note_transactions(are_marked=False)

    def save(self) -> None:
        """Write all changes that answers may depend on, and sync them to the disk.

        Raises:
            StoreFullError: the disk is full; saving may be retried.
            StoreError: it is unknown what is on the disk, and no further answer may depend on it.
        """
        with self._disk.writing():
            self._save()

    def close(self) -> None:
        """Close the files."""
        self._files.close()

    def _save(self) -> None:
        self._save_topics()
        self._save_group_configs()
        save_share_states(self._state.share_states, self._journal)
        self._journal.sync()
        for partition in tuple(self._dirty):
            if self._state.topics.has_partition(*partition):
                log = self._state.topics.logs.log(partition)
                self._logs.write(partition, log)
                self._journal.put(f"{_BEGINS}{_named(partition)}", log.log_start_offset or None)
            self._dirty.discard(partition)
        self._note_transactions(are_marked=True)
        self._journal.sync()

    def _throw_if_without_journal(self) -> None:
        """Refuse topics' logs without a journal, instead of starting as if there were none."""
        names = self._files.names(self._directory)
        logs = [name for name in names if name.endswith(LOG_SUFFIX)]
        if logs and JOURNAL_NAME not in names:
            raise DamagedLogError(
                f"{self._directory / JOURNAL_NAME} is missing, which says whose logs {logs[0]} and others are"
            )

    def _decide(self) -> None:
        with self._disk.writing():
            self._note_transactions(are_marked=False)
            self._journal.sync()

    def _save_group_configs(self) -> None:
        configs = self._state.group_configs
        seen, self._configs_version = self._configs_version, configs.version
        for group_id in configs.changed_since(seen):
            self._journal.put(f"{_GROUP}{group_id}", dict(configs.get(group_id)) or None)

    def _save_topics(self) -> None:
        now = {topic.name: topic for topic in self._state.topics}
        if now == self._kept:
            return
        gone = [topic for name, topic in self._kept.items() if _is_other(topic, now.get(name))]
        for topic in gone:
            self._journal.put(f"{_TOPIC}{topic.name}", None)
            self._journal.put(f"{_ID}{topic.name}", None)
            self._journal.put(f"{_CONFIGS}{topic.name}", None)
        self._journal.sync()
        for topic in gone:
            del self._kept[topic.name]
            for partition in _partitions(topic):
                self._logs.remove(partition)
                self._journal.put(f"{_BEGINS}{_named(partition)}", None)
        self._make([topic for name, topic in now.items() if self._kept.get(name) != topic])
        self._journal.put(_VERSION, self._state.topics.version)
        self._kept = now

    def _make(self, topics: list[Topic]) -> None:
        """Create the files of new partitions before the journal names them."""
        for topic in topics:
            known = self._kept.get(topic.name)
            for partition in _partitions(topic)[0 if known is None else known.num_partitions :]:
                self._logs.make(partition)
        self._logs.made()
        for topic in topics:
            self._journal.put(f"{_CREATED}{topic.name}", self._state.topics.creations[topic.name])
            self._journal.put(f"{_TOPIC}{topic.name}", topic.num_partitions)
            self._journal.put(f"{_ID}{topic.name}", topic.topic_id)
            self._journal.put(f"{_CONFIGS}{topic.name}", dict(topic.configs) or None)

    def _restore_topics(self) -> None:
        topics = self._state.topics
        topics.continue_from(_number(self._journal.get(_VERSION) or 0))
        counts = dict(self._journal.items(_TOPIC))
        for name, creations in self._journal.items(_CREATED):
            topics.creations[name] = _number(creations) - (name in counts)
        for name, num_partitions in counts.items():
            topic_id = self._journal.get(f"{_ID}{name}")
            topics.create(name, _number(num_partitions), None if topic_id is None else TopicId(str(topic_id)))
            configs = cast("dict[str, str]", self._journal.get(f"{_CONFIGS}{name}") or {})
            topic = self._kept[name] = topics.configure(name, configs)
            for partition in _partitions(topic):
                log = topics.logs.log(partition)
                self._logs.read(partition, log)
                log.delete_records(_number(self._journal.get(f"{_BEGINS}{_named(partition)}") or 0))

    def _restore_group_configs(self) -> None:
        configs = self._state.group_configs
        for group_id, kept in self._journal.items(_GROUP):
            configs.configure(GroupId(group_id), cast("dict[str, str]", kept))
        self._configs_version = configs.version

    def _restore_transactions(self) -> None:
        starts = _number(self._journal.get(_STARTS) or 0)
        self._journal.put(_STARTS, starts + 1)
        store = self._state.transactions
        for name, kept in self._journal.items(_TRANSACTION):
            _restore_transaction(store, TransactionalId(name), cast("dict[str, Json]", kept))
        logs = (
            self._state.topics.logs.log(each) for topic in self._kept.values() for each in _partitions(topic)
        )
        known = [log.largest_producer_id() for log in logs]
        known += [transaction.producer_id for transaction in store.transactions.values()]
        known.append(self._state.log.largest_producer_id())
        store.producer_ids = count(max(starts * _IDS_OF_A_START, max(known) + 1))

    def _note_transactions(self, *, are_marked: bool) -> None:
        """Record the states of transactions; not their completion while their markers may be unwritten."""
        store = self._state.transactions
        for transactional_id, transaction in store.transactions.items():
            if are_marked or transaction.state not in _COMPLETE:
                times_out_ms = store.timeouts.get(transactional_id)
                self._journal.put(f"{_TRANSACTION}{transactional_id}", _written(transaction, times_out_ms))


class _DecisionsFirst(RecordStore):
    """Writes a transaction's decision to the disk before its markers."""

    def __init__(self, store: RecordStore, decide: Callable[[], None]) -> None:
        self._store = store
        self._decide = decide

    @override
    def load(self) -> Mapping[int, StoredPartition]:
        return self._store.load()

    @override
    def append(self, partition: int, batch: LogBatch) -> None:
        if batch.is_marker:
            self._decide()
        self._store.append(partition, batch)

    @override
    def delete(self) -> None:
        self._store.delete()


def _partitions(topic: Topic) -> list[TopicPartition]:
    """Return the partitions whose logs are stored here, which excludes those of internal topics."""
    if topic.is_internal:
        return []
    return [TopicPartition(topic.name, number) for number in range(topic.num_partitions)]


def _is_other(kept: Topic, now: Topic | None) -> bool:
    return now is None or now.topic_id != kept.topic_id


def _named(partition: TopicPartition) -> str:
    return f"{partition.topic}-{partition.partition}"


def _number(value: Json) -> int:
    assert isinstance(value, int)
    return value


def _written(transaction: TransactionMetadata, times_out_ms: Millis | None) -> Json:
    partitions: list[Json] = [[*each] for each in sorted(transaction.partitions)]
    return {
        "producer_id": transaction.producer_id,
        "producer_epoch": transaction.producer_epoch,
        "last_producer_epoch": transaction.last_producer_epoch,
        "timeout_ms": transaction.transaction_timeout_ms,
        "state": transaction.state.value,
        "partitions": partitions,
        "times_out_ms": times_out_ms,
    }


def _restore_transaction(store: TransactionStore, name: TransactionalId, kept: dict[str, Json]) -> None:
    """Restore a transaction; if it is decided, its markers are written again, even where they exist.

    Source: TransactionStateManager#loadTransactionMetadata, TransactionCoordinator#onElection (4.3.1).
    """
    rows = cast("list[list[Json]]", kept["partitions"])
    transaction = store.transactions[name] = TransactionMetadata(
        transactional_id=name,
        producer_id=ProducerId(_number(kept["producer_id"])),
        transaction_timeout_ms=Millis(_number(kept["timeout_ms"])),
        producer_epoch=ProducerEpoch(_number(kept["producer_epoch"])),
        last_producer_epoch=ProducerEpoch(_number(kept["last_producer_epoch"])),
        state=TransactionState(kept["state"]),
        partitions={TopicPartition(str(topic), _number(number)) for topic, number in rows},
    )
    if kept["times_out_ms"] is not None:
        store.timeouts[name] = Millis(_number(kept["times_out_ms"]))
    if transaction.state in _DECIDED:
        store.unwritten[name] = set(transaction.partitions)
        store.parked.append(
            Markers(
                transactional_id=name,
                producer_id=transaction.producer_id,
                producer_epoch=transaction.producer_epoch,
                is_commit=transaction.state is TransactionState.PREPARE_COMMIT,
                partitions=tuple(sorted(transaction.partitions)),
            )
        )

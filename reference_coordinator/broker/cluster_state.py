"""The shared state of a cluster's brokers: topics, logs (one for all replicas), live brokers and leaders.

Brokers poll for changes when a new metadata image is published to them. Nothing here calls a broker, except
to notify a leader of a write to its log.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Final, Protocol

from reference_coordinator.broker.group_configs import GroupConfigs
from reference_coordinator.broker.log_manager import LogManager
from reference_coordinator.broker.share_persister import ClusterSharePersister
from reference_coordinator.broker.topics import TRANSACTION_STATE_TOPIC, Topics
from reference_coordinator.broker_messages.acls import AclCreation
from reference_coordinator.core.ids import OFFSETS_TOPIC, GroupId, Millis, TopicId, TopicPartition
from reference_coordinator.core.records import EndTransactionMarker
from reference_coordinator.core.values import value, whole_value
from reference_coordinator.log.offsets_log import OffsetsLog
from reference_coordinator.shares.state import SharePartitionStates
from reference_coordinator.transactions.coordinator import TransactionStore

_LOGS: Final = (OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC)
"""The topics whose leaders are tracked; every other partition is led by the controller's broker."""


@value
class Node:
    """A broker's id and its address for clients."""

    node_id: int
    host: str
    port: int


@whole_value
class Leadership:
    """The leader of a partition, and the leader epoch. Source: PartitionRegistration (4.3.1)."""

    leader: int | None
    """None while no broker can lead it."""
    epoch: int = 0


class Peer(Protocol):
    """A broker's interface for the other brokers."""

    def coordinates(self, partition: int) -> bool:
        """Return whether it has loaded a partition of `__consumer_offsets`."""

    def transaction_ended(self, marker: EndTransactionMarker) -> None:
        """Process an end marker that was written to the log of a partition that it leads."""


class ClusterState:
    """The metadata of a cluster, and its logs."""

    def __init__(self, log: OffsetsLog | None = None) -> None:
        """Create the state without brokers; if the log has records, its topic must exist."""
        self.topics = Topics()
        self.group_configs = GroupConfigs()
        self.share_states = SharePartitionStates(self._partition_count)
        """The state that the share coordinator stores."""
        self.share_persister = ClusterSharePersister(self.share_states, self.topics)
        """Gives share groups access to the state of their partitions."""
        self.acls: list[AclCreation] = []
        """The ACL entries, oldest first."""
        self.log_manager = LogManager(self.topics)
        """Runs retention and compaction of the logs of clients' topics."""
        self.log = OffsetsLog() if log is None else log
        """The records of `__consumer_offsets`, which new leaders load."""
        self.transactions = TransactionStore.following(self.log.largest_producer_id())
        self.zookeeper_offsets: dict[tuple[GroupId, TopicPartition], int] = {}
        """The offsets of OffsetCommit v0, which are stored in ZooKeeper instead of a log."""
        self._leader_changes = 0
        self.now_ms = Millis(0)
        """The time of the request that is being processed."""
        self.creates_internal_topics = True
        """Whether the missing internal topics of streams groups are created, at once."""
        self.deletions: list[tuple[str, ...]] = []
        """The deleted topics of each deletion, oldest first."""
        self._up: dict[int, Node] = {}
        self._peers: dict[int, Peer] = {}
        self._leaders: dict[tuple[str, int], Leadership] = {}

    @property
    def version(self) -> int:
        """The number of changes that brokers have to process."""
        return self._leader_changes + self.topics.version + self.group_configs.version

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The brokers that are up."""
        return tuple(self._up[node_id] for node_id in sorted(self._up))

    @property
    def controller_id(self) -> int:
        """The broker that elects leaders, and is elected first itself; -1 while none is up."""
        return min(self._up, default=-1)

    def register(self, node: Node, peer: Peer) -> None:
        """Register a broker that starts; partitions that it still leads get a new leader epoch."""
        self._up[node.node_id] = node
        self._peers[node.node_id] = peer
        for key, known in self._leaders.items():
            if known.leader == node.node_id:
                self._lead(*key, node.node_id)
        self.elect_leaders()

    def fence(self, node_id: int) -> None:
        """Mark a broker as down; another one that is up takes over its partitions.

        Source: ReplicationControlManager#handleBrokerFenced (4.3.1).
        """
        del self._up[node_id], self._peers[node_id]
        others = (each for each in sorted(self._up) if each > node_id)
        heir = next(others, min(self._up, default=None))
        for key, known in self._leaders.items():
            if known.leader == node_id:
                self._lead(*key, heir)
        self.elect_leaders()

    def elect_leaders(self) -> None:
        """Elect a leader for each partition of a coordinator's log that has none.

        Source: ReplicationControlManager#createTopics (4.3.1).
        """
        for name in _LOGS:
            topic = self.topics.get(name)
            if topic is None:
                continue
            for partition in range(topic.num_partitions):
                known = self._leaders.get((name, partition))
                if known is None:
                    self._set_leadership(name, partition, Leadership(leader=min(self._up, default=None)))
                elif known.leader is None and self._up:
                    self._lead(name, partition, min(self._up))

    def move(self, partitions: Collection[int] | None, to: int) -> None:
        """Make a broker lead partitions of `__consumer_offsets`; by default all, and transactions, too.

        Source: ReplicationControlManager#electLeaders (4.3.1).
        """
        assert to in self._up, f"broker {to} is down"
        for (name, partition), known in self._leaders.items():
            is_meant = partitions is None or (name == OFFSETS_TOPIC and partition in partitions)
            if is_meant and known.leader != to:
                self._lead(name, partition, to)

    def topics_deleted(self, names: tuple[str, ...]) -> None:
        """Record that topics were deleted."""
        self.deletions.append(names)
        self._leader_changes += 1
        for key in [each for each in self._leaders if each[0] in names]:
            del self._leaders[key]
        if OFFSETS_TOPIC in names:
            self.log.delete()

    def leaderships(self) -> Mapping[int, Leadership]:
        """Return the leadership of each partition of `__consumer_offsets`."""
        return {partition: each for (name, partition), each in self._leaders.items() if name == OFFSETS_TOPIC}

    def leader_epoch(self, topic: str, partition: int) -> int:
        """Return the leader epoch of a partition: how often its leader has changed."""
        known = self._leaders.get((topic, partition))
        return 0 if known is None else known.epoch

    def leader(self, topic: str, partition: int) -> Node | None:
        """Return the leader of a partition; None if it has none."""
        known = self._leaders.get((topic, partition))
        if known is None and topic not in _LOGS:
            return self._up.get(self.controller_id)
        return None if known is None or known.leader is None else self._up[known.leader]

    def leading_peer(self, partition: int) -> Peer | None:
        """Return the leader of a partition of `__consumer_offsets`, as a peer; None if it has none."""
        leader = self.leader(OFFSETS_TOPIC, partition)
        return None if leader is None else self._peers[leader.node_id]

    def _partition_count(self, topic_id: TopicId) -> int | None:
        topic = self.topics.get_by_id(topic_id)
        return None if topic is None else topic.num_partitions

    def _lead(self, topic: str, partition: int, node_id: int | None) -> None:
        known = self._leaders[topic, partition]
        changed = replace(known, leader=node_id, epoch=known.epoch + 1)
        self._set_leadership(topic, partition, changed)

    def _set_leadership(self, topic: str, partition: int, leadership: Leadership) -> None:
        self._leaders[topic, partition] = leadership
        self._leader_changes += 1

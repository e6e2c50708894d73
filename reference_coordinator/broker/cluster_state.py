"""What the brokers of a cluster share: topics, logs that are the same everywhere, who is up, who leads what.

A broker finds out about changes when it looks, as it does when a new image of the metadata is published to
it: nothing here calls a broker, except to tell a leader of what was written to its log.
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
"""The topics whose leaders matter; of any other, each broker is as good as the next."""


@value
class Node:
    """A broker, as clients reach it."""

    node_id: int
    host: str
    port: int


@whole_value
class Leadership:
    """Who leads a partition, and the how-manieth leader that is. Source: PartitionRegistration (4.3.1)."""

    leader: int | None
    """None while nobody can."""
    epoch: int = 0


class Peer(Protocol):
    """A broker, as the others reach it."""

    def coordinates(self, partition: int) -> bool:
        """Whether it has loaded a partition of `__consumer_offsets`."""

    def transaction_ended(self, marker: EndTransactionMarker) -> None:
        """Learn that a marker is in the log of a partition that it leads."""


class ClusterState:
    """The metadata of a cluster, and its logs."""

    def __init__(self, log: OffsetsLog | None = None) -> None:
        """Begin without a broker; a log that has records is that of a topic that is there."""
        self.topics = Topics()
        self.group_configs = GroupConfigs()
        self.share_states = SharePartitionStates(self._partition_count)
        """What the share coordinator keeps."""
        self.share_persister = ClusterSharePersister(self.share_states, self.topics)
        """Where share groups have the state of their partitions."""
        self.acls: list[AclCreation] = []
        """Who may do what, oldest entry first."""
        self.log_manager = LogManager(self.topics)
        """Looks after the logs of clients' topics."""
        self.log = OffsetsLog() if log is None else log
        """What was written to `__consumer_offsets`; who becomes a leader loads it."""
        self.transactions = TransactionStore.following(self.log.largest_producer_id())
        self.zookeeper_offsets: dict[tuple[GroupId, TopicPartition], int] = {}
        """Those of OffsetCommit v0, which ZooKeeper has and no log."""
        self._leader_changes = 0
        self.now_ms = Millis(0)
        """When the request came that is being worked at."""
        self.deletions: list[tuple[str, ...]] = []
        """Topics that were deleted, oldest first."""
        self._up: dict[int, Node] = {}
        self._peers: dict[int, Peer] = {}
        self._leaders: dict[tuple[str, int], Leadership] = {}

    @property
    def version(self) -> int:
        """Counts the changes that a broker has to find out about."""
        return self._leader_changes + self.topics.version + self.group_configs.version

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The brokers that are up."""
        return tuple(self._up[node_id] for node_id in sorted(self._up))

    @property
    def controller_id(self) -> int:
        """The broker that decides who leads, which is also the first choice for it; -1 while none is up."""
        return min(self._up, default=-1)

    def register(self, node: Node, peer: Peer) -> None:
        """Let a broker be up, again or for the first time; what it leads, it leads anew."""
        self._up[node.node_id] = node
        self._peers[node.node_id] = peer
        for key, known in self._leaders.items():
            if known.leader == node.node_id:
                self._lead(*key, node.node_id)
        self.elect_leaders()

    def fence(self, node_id: int) -> None:
        """Let a broker be down; another one that is up leads what it led.

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
        """Find a leader for each partition of a coordinator's log that has none.

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
        """Let another broker lead partitions of `__consumer_offsets`; by default all, and transactions too.

        Source: ReplicationControlManager#electLeaders (4.3.1).
        """
        assert to in self._up, f"broker {to} is down"
        for (name, partition), known in self._leaders.items():
            is_meant = partitions is None or (name == OFFSETS_TOPIC and partition in partitions)
            if is_meant and known.leader != to:
                self._lead(name, partition, to)

    def topics_deleted(self, names: tuple[str, ...]) -> None:
        """Note that topics are no more."""
        self.deletions.append(names)
        self._leader_changes += 1
        for key in [each for each in self._leaders if each[0] in names]:
            del self._leaders[key]
        if OFFSETS_TOPIC in names:
            self.log.delete()

    def leaderships(self) -> Mapping[int, Leadership]:
        """Who leads each partition of `__consumer_offsets`."""
        return {partition: each for (name, partition), each in self._leaders.items() if name == OFFSETS_TOPIC}

    def leader_epoch(self, topic: str, partition: int) -> int:
        """How often a partition's leader has changed."""
        known = self._leaders.get((topic, partition))
        return 0 if known is None else known.epoch

    def leader(self, topic: str, partition: int) -> Node | None:
        """Who leads a partition, if somebody can."""
        known = self._leaders.get((topic, partition))
        if known is None and topic not in _LOGS:
            return self._up.get(self.controller_id)
        return None if known is None or known.leader is None else self._up[known.leader]

    def leading_peer(self, partition: int) -> Peer | None:
        """Who leads a partition of `__consumer_offsets`, if somebody can."""
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

"""Tools' requests about a broker's disks and about the quorum of controllers, free of versions."""

from reference_coordinator.core.errors import Errors
from reference_coordinator.core.values import value
from reference_coordinator.topic_logs.messages import OfClients


class OfTools(OfClients):
    """A request of a tool."""

    __slots__ = ()


@value
class DescribableLogDirTopic:
    """Partitions of a topic."""

    topic: str
    partitions: tuple[int, ...]


@value
class DescribeLogDirsRequest(OfTools):
    """A request for the sizes of logs; None means all."""

    topics: tuple[DescribableLogDirTopic, ...] | None


@value
class DescribeLogDirsPartition:
    """The log of one partition."""

    partition_index: int
    partition_size: int
    """The size in bytes."""
    offset_lag: int = 0
    is_future_key: bool = False


@value
class DescribeLogDirsTopic:
    """The logs of a topic's partitions."""

    name: str
    partitions: tuple[DescribeLogDirsPartition, ...]


@value
class DescribeLogDirsResult:
    """The logs in one directory."""

    error_code: Errors
    log_dir: str
    topics: tuple[DescribeLogDirsTopic, ...]
    total_bytes: int = -1
    """-1 for unknown."""
    usable_bytes: int = -1
    """-1 for unknown."""
    is_cordoned: bool = False


@value
class DescribeLogDirsResponse:
    """One result per directory."""

    error_code: Errors
    results: tuple[DescribeLogDirsResult, ...] = ()


@value
class QuorumTopic:
    """Partitions of a topic."""

    topic_name: str
    partitions: tuple[int, ...]


@value
class DescribeQuorumRequest(OfTools):
    """A request to describe the quorum of the metadata log."""

    topics: tuple[QuorumTopic, ...]


@value
class ReplicaState:
    """A node's replication state of the log."""

    replica_id: int
    log_end_offset: int
    last_fetch_timestamp: int
    last_caught_up_timestamp: int
    replica_directory_id: None = None


@value
class QuorumPartitionData:
    """The leader, the voters and the observers of a partition."""

    partition_index: int
    error_code: Errors
    error_message: str | None = None
    leader_id: int = 0
    leader_epoch: int = 0
    high_watermark: int = 0
    current_voters: tuple[ReplicaState, ...] = ()
    observers: tuple[ReplicaState, ...] = ()


@value
class QuorumTopicData:
    """The quorums of a topic's partitions."""

    topic_name: str
    partitions: tuple[QuorumPartitionData, ...]


@value
class QuorumListener:
    """The address at which a node can be reached."""

    name: str
    host: str
    port: int


@value
class QuorumNode:
    """A voter."""

    node_id: int
    listeners: tuple[QuorumListener, ...]


@value
class DescribeQuorumResponse:
    """The state of the quorum."""

    error_code: Errors
    error_message: str | None = None
    topics: tuple[QuorumTopicData, ...] = ()
    nodes: tuple[QuorumNode, ...] = ()

"""What tools ask about a broker's disks and about the quorum of controllers, free of versions."""

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
    """Asks how large logs are; None stands for all."""

    topics: tuple[DescribableLogDirTopic, ...] | None


@value
class DescribeLogDirsPartition:
    """The log of one partition."""

    partition_index: int
    partition_size: int
    """Bytes."""
    offset_lag: int = 0
    is_future_key: bool = False


@value
class DescribeLogDirsTopic:
    """The same for a topic."""

    name: str
    partitions: tuple[DescribeLogDirsPartition, ...]


@value
class DescribeLogDirsResult:
    """What lies in one directory."""

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
    """One result a directory."""

    error_code: Errors
    results: tuple[DescribeLogDirsResult, ...] = ()


@value
class QuorumTopic:
    """Partitions of a topic."""

    topic_name: str
    partitions: tuple[int, ...]


@value
class DescribeQuorumRequest(OfTools):
    """Asks who has the log of the metadata."""

    topics: tuple[QuorumTopic, ...]


@value
class ReplicaState:
    """How far a node has the log."""

    replica_id: int
    log_end_offset: int
    last_fetch_timestamp: int
    last_caught_up_timestamp: int
    replica_directory_id: None = None


@value
class QuorumPartitionData:
    """Who leads, who votes and who only follows."""

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
    """The same for a topic."""

    topic_name: str
    partitions: tuple[QuorumPartitionData, ...]


@value
class QuorumListener:
    """Where a node is reached."""

    name: str
    host: str
    port: int


@value
class QuorumNode:
    """A node that votes."""

    node_id: int
    listeners: tuple[QuorumListener, ...]


@value
class DescribeQuorumResponse:
    """The quorum."""

    error_code: Errors
    error_message: str | None = None
    topics: tuple[QuorumTopicData, ...] = ()
    nodes: tuple[QuorumNode, ...] = ()

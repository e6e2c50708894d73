"""Differences between Kafka's releases in how a coordinator loads and unloads a partition."""

from typing import Final

from reference_coordinator.core.family import CoordinatorFamily
from reference_coordinator.profile.behaviour import Behaviour, Row, Span, since, until

OF_LOADING: Final = (
    Row(
        behaviour=Behaviour.PARTITION_EPOCHS_TRACKED,
        spans=since(2, 8, 1),
        meaning="To load or unload a partition for a leader epoch that is past is ignored; before, a "
        "partition that awaits its load counted as loading already.",
        source="KAFKA-10614, GroupMetadataManager#maybeUpdateCoordinatorEpoch (2.8.1)",
    ),
    Row(
        behaviour=Behaviour.OUT_OF_SYNC_LOG_RELOADED,
        spans=(Span(since=(3, 8, 0), family=CoordinatorFamily.JAVA),),
        meaning="A coordinator that finds another's records in its log loads the partition anew.",
        source="CoordinatorRuntime.CoordinatorContext#flushCurrentBatch (3.8.0)",
    ),
    Row(
        behaviour=Behaviour.SHUTDOWN_RESIGNS_FIRST,
        spans=since(3, 3, 0),
        meaning="A broker that shuts down ceases to lead before it closes connections, so that whoever waits "
        "for it is told; before, with ZooKeeper, it closes them without an answer.",
        source="ReplicationControlManager#handleBrokerInControlledShutdown, BrokerServer#shutdown (3.3.2), "
        "KafkaServer#shutdown (2.8.2)",
    ),
    Row(
        behaviour=Behaviour.LOADED_MEMBERS_COUNT_AS_STATIC,
        spans=until(2, 8, 0),
        meaning="A dynamic member that was loaded from the log is not dropped when it misses a rebalance: it "
        "stays as long as its session lasts.",
        source="GroupMetadataManager#readGroupMessageValue (2.7.2, 2.8.0)",
    ),
    Row(
        behaviour=Behaviour.LOADED_GROUP_LOSES_TIMESTAMP,
        spans=until(2, 6, 1),
        meaning="A group that is loaded does not know since when it is Empty, so that its offsets expire by "
        "when they were committed.",
        source="GroupMetadataManager#readGroupMessageValue (2.6.0, 2.6.1)",
    ),
)

"""Differences between Kafka's releases in how the log is written, read and loaded."""

from typing import Final

from reference_coordinator.core.ids import CoordinatorFamily
from reference_coordinator.profile.behaviour import JAVA, Behaviour, Row, Span, since, until

OF_THE_LOG: Final = (
    Row(
        behaviour=Behaviour.FLEXIBLE_RECORDS_READ,
        spans=since(3, 4, 1),
        meaning="Records of unknown types are skipped when the log is loaded, and values of version 4 are "
        "read; before, either lost the load.",
        source="GroupMetadataManager#readMessageKey (3.4.1)",
    ),
    Row(
        behaviour=Behaviour.UNKNOWN_VERSIONS_READ_AS_NEAREST,
        spans=(Span(until=(4, 0, 0), family=CoordinatorFamily.JAVA),),
        meaning="A value of an unknown version is read as the newest, or the oldest, that there is; since, "
        "and in Scala, it is unreadable.",
        source="CoordinatorRecordSerde#deserialize (3.9.2, 4.0.0)",
    ),
    Row(
        behaviour=Behaviour.TYPE_0_HAS_VERSION_0,
        spans=since(4, 1, 0),
        meaning="An offset whose key is of type 0 has a value of version 0, or is unreadable; before, one of "
        "any version.",
        source="GroupCoordinatorShard#convertLegacyOffsetCommitValue (4.1.0)",
    ),
    Row(
        behaviour=Behaviour.OFFSETS_WRITTEN_FLEXIBLE,
        spans=since(4, 1, 0),
        meaning="Offsets are written in version 4 of their value instead of version 3.",
        source="GroupCoordinatorRecordHelpers#newOffsetCommitRecord (4.1.0)",
    ),
    Row(
        behaviour=Behaviour.UNREADABLE_RECORD_FAILS_PARTITION,
        spans=JAVA,
        meaning="A record that cannot be read fails its partition: NOT_COORDINATOR until it is elected anew; "
        "before, the partition was owned as if it were empty.",
        source="CoordinatorLoaderImpl#doLoad (4.3.1), GroupMetadataManager#loadGroupsAndOffsets (3.9.2)",
    ),
)
"""All behaviours of this kind."""


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

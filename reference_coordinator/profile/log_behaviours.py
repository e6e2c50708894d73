"""Differences between Kafka's releases in how the log is written and read."""

from typing import Final

from reference_coordinator.core.family import CoordinatorFamily
from reference_coordinator.profile.behaviour import JAVA, Behaviour, Row, Span, since

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

"""What differs between Kafka's releases in how the log is written and read."""

from typing import Final

from reference_coordinator.profile.behaviour import JAVA, Behaviour, Row, since

OF_THE_LOG: Final = (
    Row(
        behaviour=Behaviour.FLEXIBLE_RECORDS_READ,
        spans=since(3, 4, 1),
        meaning="Records of unknown types are skipped when the log is loaded, and values of version 4 are "
        "read; before, either lost the load.",
        source="GroupMetadataManager#readMessageKey (3.4.1)",
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
"""Every such behaviour once."""

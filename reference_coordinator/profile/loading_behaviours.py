"""What differs between Kafka's releases in how a coordinator takes over a partition and lets go of it."""

from typing import Final

from reference_coordinator.profile.behaviour import Behaviour, CoordinatorFamily, Row, Span, since

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
)

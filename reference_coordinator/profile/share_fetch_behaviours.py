"""Differences between Kafka's releases in how members of share groups fetch records."""

from typing import Final

from reference_coordinator.profile.behaviour import Behaviour, Row, since, until

OF_SHARES: Final = (
    Row(
        behaviour=Behaviour.SHARE_FETCH_AWAITS_WRITES,
        spans=since(4, 2, 0),
        meaning="ShareFetch does not read from records whose release is not written yet.",
        source="SharePartition#nextFetchOffset (4.2.0)",
    ),
    Row(
        behaviour=Behaviour.SHARE_RECORD_LOCKS_LIMIT_ACQUISITION,
        spans=since(4, 2, 0),
        meaning="ShareFetch acquires no more records than `group.share.partition.max.record.locks` leaves, "
        "but for the rest of a batch.",
        source="SharePartition#lastOffsetAndMaxRecordsToAcquire (4.2.0)",
    ),
    Row(
        behaviour=Behaviour.SHARE_DELIVERY_THROTTLED,
        spans=since(4, 2, 0),
        meaning="Records that were delivered often come in few at a time, and in their last delivery alone.",
        source="SharePartition#shouldThrottleRecordsDelivery (4.2.0)",
    ),
    Row(
        behaviour=Behaviour.SHARE_OFFSETS_ACCUMULATED,
        spans=since(4, 2, 0),
        meaning="Records of a batch that are in different states come as ranges, not each by itself.",
        source="ShareFetchUtils#accumulateAcquiredRecords (4.2.0)",
    ),
    Row(
        behaviour=Behaviour.SHARE_GAP_ENDS_ACQUISITION,
        spans=since(4, 2, 0),
        meaning="Records between the batches of the share state that a leader has read are acquired up to "
        "the next of them, not to the end of the log's batch.",
        source="SharePartition#acquireNewBatchRecords (4.2.0)",
    ),
    Row(
        behaviour=Behaviour.SHARE_CLOSE_KEEPS_DELIVERY_COUNT,
        spans=since(4, 2, 0),
        meaning="Records of a share session that ends count as delivered.",
        source="SharePartition#releaseAcquiredRecordsForCompleteBatch (4.2.0)",
    ),
    Row(
        behaviour=Behaviour.SHARE_FETCH_FAILS_WITH_UNKNOWN_TOPIC,
        spans=until(4, 4, 0),
        meaning="A ShareFetch that names a topic id that there is not is UNKNOWN_SERVER_ERROR as a whole.",
        source="BrokerTopicStats#topicStats (4.2.1), called by KafkaApis#processShareFetchResponse",
    ),
    Row(
        behaviour=Behaviour.SHARE_MEMBER_ID_IS_ANY_TEXT,
        spans=since(4, 2, 0),
        meaning="ShareFetch and ShareAcknowledge take any member id of up to 36 characters, not only a UUID, "
        "and refuse an empty one with INVALID_REQUEST.",
        source="KafkaApis#isMemberIdValid (4.2.0)",
    ),
    Row(
        behaviour=Behaviour.SHARE_STATE_MAY_BE_ARCHIVING,
        spans=since(4, 3, 0),
        meaning="Who reads share state knows the delivery state ARCHIVING (3); before, ShareFetch of such a "
        "partition is UNKNOWN_SERVER_ERROR.",
        source="RecordState#forId (4.3.0)",
    ),
    Row(
        behaviour=Behaviour.SHARE_DEAD_LETTERS,
        spans=since(4, 4, 0),
        meaning="Records that are rejected, or delivered for the last time, go to the dead letter topic of "
        "their group, if it has one and the feature share.version is 2.",
        source="SharePartition#initiateDLQAndArchive (4.4.0)",
    ),
)

"""Differences between Kafka's releases in transactions, as visible to clients of the group coordinator."""

from typing import Final

from reference_coordinator.core.ids import CoordinatorFamily
from reference_coordinator.profile.behaviour import (
    SCALA,
    Behaviour,
    Row,
    Span,
    since,
    until,
)

OF_TRANSACTIONS: Final = (
    Row(
        behaviour=Behaviour.TXN_COMMIT_CHECKS_MEMBER,
        spans=since(2, 5, 0),
        meaning="TxnOffsetCommit is refused for a member, an instance or a generation that the "
        "group does not have.",
        source="GroupCoordinator#doTxnCommitOffsets (2.5.0)",
    ),
    Row(
        behaviour=Behaviour.TXN_COMMIT_CHECKED_AS_COMMIT,
        spans=since(3, 0, 0),
        meaning="TxnOffsetCommit that names a generation, a member or an instance is checked as OffsetCommit "
        "is; before, what it did not name was not looked at.",
        source="pull request 9958, GroupCoordinator#validateOffsetCommit (3.0.0)",
    ),
    Row(
        behaviour=Behaviour.TXN_COMMIT_VERIFIED,
        spans=since(3, 7, 0),
        meaning="The transaction coordinator is asked whether a transaction knows of the group before its "
        "first offsets are written.",
        source="GroupCoordinator#handleTxnCommitOffsets (3.7.0)",
    ),
    Row(
        behaviour=Behaviour.VERIFIED_ANEW_FOR_OTHER_EPOCH,
        spans=since(4, 0, 0),
        meaning="The transaction coordinator is asked again when a producer comes with another epoch.",
        source="UnifiedLog#hasOngoingTransaction (4.0.0)",
    ),
    Row(
        behaviour=Behaviour.FORMER_EPOCH_REFUSED_FIRST,
        spans=since(4, 1, 0),
        meaning="An epoch that is lower than the producer's last one in the log is refused before the "
        "transaction coordinator is asked, which might name another fault.",
        source="KAFKA-18042, UnifiedLog#maybeStartTransactionVerification (4.1.0)",
    ),
    Row(
        behaviour=Behaviour.VERIFICATIONS_SHARE_A_BATCH,
        spans=since(3, 8, 0),
        meaning="Questions to the transaction coordinator that are asked at once share a batch, and all are "
        "refused as the version of the first is: INVALID_TXN_STATE or TRANSACTION_ABORTABLE.",
        source="AddPartitionsToTxnManager#addTxnData (3.8.0)",
    ),
    Row(
        behaviour=Behaviour.PENDING_OFFSETS_KEEP_GROUP,
        spans=(Span(family=CoordinatorFamily.SCALA), Span(since=(4, 0, 1), family=CoordinatorFamily.JAVA)),
        meaning="A group that has nothing but offsets of an open transaction outlives the expiry pass.",
        source="KAFKA-19163, OffsetMetadataManager#cleanupExpiredOffsets (4.1.0)",
    ),
    Row(
        behaviour=Behaviour.PENDING_OFFSETS_EXPIRE_UNDERNEATH,
        spans=SCALA,
        meaning="A committed offset expires although a transaction is about to replace it.",
        source="GroupMetadata#removeExpiredOffsets (3.9.2)",
    ),
    Row(
        behaviour=Behaviour.NO_PRODUCER_ID_COMMITS_AT_ONCE,
        spans=SCALA,
        meaning="TxnOffsetCommit without a producer id that gets as far as the log is a plain commit.",
        source="GroupMetadataManager#storeOffsets (3.9.2)",
    ),
    Row(
        behaviour=Behaviour.END_TXN_TAKES_FUTURE_EPOCH,
        spans=until(2, 6, 0),
        meaning="EndTxn is refused for an epoch that is too low, but not for one that is too high.",
        source="TransactionCoordinator#handleEndTransaction (2.5.0)",
    ),
    Row(
        behaviour=Behaviour.TRANSACTIONS_OF_VERSION_2,
        spans=since(4, 0, 0),
        meaning="A producer that is fenced keeps its epoch as the one before the new: it may ask again.",
        source="TransactionCoordinator#endTransaction (4.1.2)",
    ),
    Row(
        behaviour=Behaviour.FENCING_BUMPS_EPOCH_TWICE,
        spans=(Span(since=(4, 0, 0), until=(4, 0, 1)),),
        meaning="An InitProducerId that aborts a transaction takes two epochs for it.",
        source="TransactionCoordinator#endTransaction (4.0.0)",
    ),
    Row(
        behaviour=Behaviour.TXN_END_WAITS_FOR_LOAD,
        spans=(Span(since=(3, 9, 0), family=CoordinatorFamily.SCALA),),
        meaning="A transaction is not complete before its offsets count, and the thread that lets them count "
        "is the one that loads.",
        source="GroupMetadataManager#scheduleHandleTxnCompletion (3.9.2)",
    ),
    Row(
        behaviour=Behaviour.PENDING_TXN_CHECKED_FIRST,
        spans=since(4, 0, 0),
        meaning="AddOffsetsToTxn is told CONCURRENT_TRANSACTIONS while a transaction ends, whatever its "
        "producer id and epoch.",
        source="TransactionCoordinator#handleAddPartitionsToTransaction (4.3.1)",
    ),
)
"""All behaviours of this kind."""

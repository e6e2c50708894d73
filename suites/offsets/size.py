"""Commits that fill the log's batches to the byte."""

from typing import Final

from harness.scenario import Actor, Conversation, ask, expect, scenario

TO_THE_BYTE: Final = "size"
"""A group id whose length is the same in every run, because it is part of every record."""
FEW_REPLICAS: Final = "too-few-replicas"
ROOM_FOR_ONE: Final = {
    "message.max.bytes": "1000",
    "offset.metadata.max.bytes": "5000",
    "offsets.commit.timeout.ms": "2000",
}
"""A write that is too large may delay others for the length of the timeout, so that is short."""


def _commits(
    actor: Actor, *metadata_bytes: int, group_id: str = TO_THE_BYTE, retention_time_ms: int | None = None
) -> None:
    """Commit an offset with metadata of the given length for each of the first partitions."""
    texts = {index: (7, "m" * length) for index, length in enumerate(metadata_bytes)}
    actor.sends(
        ask.offset_commit(
            version=8 if retention_time_ms is None else 2,
            group_id=group_id,
            generation_id=-1,
            member_id="",
            retention_time_ms=retention_time_ms,
            topics={"orders": texts},
        )
    )


@scenario(
    "offsets/size/to-the-byte",
    source="UnifiedLog#analyzeAndValidateRecords",
    clauses=("ER-04", "OC-49"),
    broker_config=ROOM_FOR_ONE,
)
def a_batch_may_be_as_large_as_the_log_allows(conversation: Conversation) -> None:
    """A commit succeeds if its batch has exactly message.max.bytes, and fails if it has one more.

    A Java coordinator of 3.8 to 4.0.1 needs 61 bytes more room. Records are longer since 4.1.
    """
    ana = conversation.actor("ana")
    _commits(ana, 802)
    ana.receives(expect.offset_commit({"orders": {0: "NONE"}}))

    # Until 4.0 these batches have 939 and 940 bytes, then 1000, then 1001 in one record and in two.
    for lengths in ((825,), (826,), (886,), (887,), (40, 794), (170, 666)):
        _commits(ana, *lengths)
        ana.receives(expect.response("OffsetCommit"))
    # An expiry time takes more room than a leader epoch: 1001 bytes.
    _commits(ana, 883, retention_time_ms=3_600_000)
    ana.receives(expect.response("OffsetCommit"))
    ana.sends(ask.offset_fetch(group_id=TO_THE_BYTE, topics={"orders": (0, 1)}))
    ana.receives(expect.response("OffsetFetch", error_code="NONE"))


@scenario(
    "offsets/size/too-few-replicas",
    source="Partition#appendRecordsToLeader",
    clauses=("ER-15",),
    broker_config={"message.max.bytes": "1000", "min.insync.replicas": "2"},
)
def replicas_are_counted_before_bytes(conversation: Conversation) -> None:
    """Until 3.6, a too large commit to a log with too few replicas is refused for its replicas."""
    ana = conversation.actor("ana")
    _commits(ana, 3_000, group_id=FEW_REPLICAS)
    ana.receives(expect.response("OffsetCommit"))
    ana.sends(ask.offset_fetch(group_id=FEW_REPLICAS, topics={"orders": (0,)}))
    ana.receives(expect.offset_fetch({"orders": {0: -1}}))

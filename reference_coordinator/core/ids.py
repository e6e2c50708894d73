"""Names for the identifiers and units that travel through the coordinator."""

from typing import Final, NamedTuple, NewType

GroupId = NewType("GroupId", str)
MemberId = NewType("MemberId", str)
GroupInstanceId = NewType("GroupInstanceId", str)
GenerationId = NewType("GenerationId", int)
Millis = NewType("Millis", int)
"""Milliseconds: a duration, or an instant on the clock that the caller of the coordinator keeps."""

TopicId = NewType("TopicId", str)
"""A topic's UUID in its usual text form."""

ResponseToken = NewType("ResponseToken", int)
"""Names one request that awaits its answer; the shell chose it and gets it back in `Respond`."""
AppendId = NewType("AppendId", int)
"""Names one write to the log; the coordinator chose it and gets it back in `append_completed`."""

ProducerId = NewType("ProducerId", int)
ProducerEpoch = NewType("ProducerEpoch", int)
TransactionalId = NewType("TransactionalId", str)

UNKNOWN_MEMBER_ID: Final = MemberId("")
"""What a member sends that was given no id yet. Source: JoinGroupRequest.UNKNOWN_MEMBER_ID."""
UNKNOWN_GENERATION_ID: Final = GenerationId(-1)
"""Source: JoinGroupRequest.UNKNOWN_GENERATION_ID."""
NO_PRODUCER_ID: Final = ProducerId(-1)
"""Source: RecordBatch.NO_PRODUCER_ID."""
NO_PRODUCER_EPOCH: Final = ProducerEpoch(-1)
"""Source: RecordBatch.NO_PRODUCER_EPOCH."""


OFFSETS_TOPIC: Final = "__consumer_offsets"
"""Source: Topic.GROUP_METADATA_TOPIC_NAME."""


class TopicPartition(NamedTuple):
    """One partition of a topic."""

    topic: str
    partition: int

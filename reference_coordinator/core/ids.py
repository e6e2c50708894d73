"""Types for the identifiers and units that the coordinator uses."""

from enum import Enum, unique
from typing import Final, NamedTuple, NewType

GroupId = NewType("GroupId", str)
MemberId = NewType("MemberId", str)
GroupInstanceId = NewType("GroupInstanceId", str)
GenerationId = NewType("GenerationId", int)
Millis = NewType("Millis", int)
"""Milliseconds: a duration, or a time on the clock of the coordinator's caller."""

TopicId = NewType("TopicId", str)
"""A topic's UUID in its usual text form."""

ResponseToken = NewType("ResponseToken", int)
"""The id of a request that awaits its answer. The caller chooses it and gets it back in `Respond`."""
AppendId = NewType("AppendId", int)
"""The id of a write to the log. The coordinator chooses it and gets it back in `append_completed`."""

ProducerId = NewType("ProducerId", int)
ProducerEpoch = NewType("ProducerEpoch", int)
TransactionalId = NewType("TransactionalId", str)

UNKNOWN_MEMBER_ID: Final = MemberId("")
"""The member id that a member without an id sends. Source: JoinGroupRequest.UNKNOWN_MEMBER_ID."""
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


@unique
class CoordinatorFamily(Enum):
    """One of Kafka's two implementations of the group coordinator."""

    SCALA = "scala"
    """kafka.coordinator.group, the default until 3.9."""
    JAVA = "java"
    """org.apache.kafka.coordinator.group, optional from 3.7 on, and the only one in 4.x."""

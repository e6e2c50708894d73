"""TxnOffsetCommit: offsets that take effect when their producer's transaction is committed."""

from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import (
    UNKNOWN_GENERATION_ID,
    UNKNOWN_MEMBER_ID,
    GenerationId,
    GroupId,
    GroupInstanceId,
    MemberId,
    ProducerEpoch,
    ProducerId,
    TransactionalId,
)
from reference_coordinator.core.values import value
from reference_coordinator.messages.offsets import OffsetCommitRequestTopic, OffsetCommitResponseTopic


@value
class TxnOffsetCommitRequest:
    """A producer's request to commit offsets of a group as part of its transaction."""

    transactional_id: TransactionalId
    group_id: GroupId
    producer_id: ProducerId
    producer_epoch: ProducerEpoch
    generation_id: GenerationId = UNKNOWN_GENERATION_ID
    member_id: MemberId = UNKNOWN_MEMBER_ID
    group_instance_id: GroupInstanceId | None = None
    topics: tuple[OffsetCommitRequestTopic, ...]
    verification: Errors = Errors.NONE
    """The transaction coordinator's verification. Kafka requests it while it handles the commit; here the
    shell has done so before, since nothing can happen in between.
    """


@value
class TxnOffsetCommitResponse:
    """One error per partition; the request as a whole has none."""

    topics: tuple[OffsetCommitResponseTopic, ...]

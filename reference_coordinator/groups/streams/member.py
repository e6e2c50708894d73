"""A member of a streams group."""

from collections.abc import Mapping
from dataclasses import field, replace

from reference_coordinator.core.ids import GroupInstanceId, MemberId, Millis
from reference_coordinator.core.streams_records import (
    Endpoint,
    StreamsGroupCurrentMemberAssignmentRecord,
    StreamsGroupMemberMetadataRecord,
    StreamsMemberState,
)
from reference_coordinator.core.values import value
from reference_coordinator.groups.streams.tasks import (
    EMPTY_WITH_EPOCHS,
    TasksTupleWithEpochs,
    tasks_of,
    tasks_with_epochs_of,
)


@value
class StreamsGroupMember:
    """A member with its metadata and current assignment.

    Source: StreamsGroupMember (4.3.1), whose Builder#withDefaults has these defaults.
    """

    member_id: MemberId
    member_epoch: int = 0
    previous_member_epoch: int = 0
    state: StreamsMemberState = StreamsMemberState.STABLE
    instance_id: GroupInstanceId | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    rebalance_timeout_ms: Millis = Millis(-1)
    topology_epoch: int = -1
    process_id: str = ""
    user_endpoint: Endpoint | None = None
    client_tags: Mapping[str, str] = field(default_factory=dict)
    assigned_tasks: TasksTupleWithEpochs = EMPTY_WITH_EPOCHS
    tasks_pending_revocation: TasksTupleWithEpochs = EMPTY_WITH_EPOCHS

    def is_reconciled_to(self, target_assignment_epoch: int) -> bool:
        """Return whether the member has reached the target assignment of an epoch.

        Source: StreamsGroupMember#isReconciledTo (4.3.1).
        """
        return self.state is StreamsMemberState.STABLE and self.member_epoch == target_assignment_epoch

    def update_member_epoch(self, member_epoch: int) -> "StreamsGroupMember":
        """Return it in another epoch. Source: StreamsGroupMember.Builder#updateMemberEpoch (4.3.1)."""
        return replace(self, member_epoch=member_epoch, previous_member_epoch=self.member_epoch)

    def reset_assigned_tasks_epochs_to_zero(self) -> "StreamsGroupMember":
        """Return the member with epoch 0 for all of its active tasks.

        Source: StreamsGroupMember.Builder#resetAssignedTasksEpochsToZero (4.4.0).
        """
        active = {key: dict.fromkeys(epochs, 0) for key, epochs in self.assigned_tasks.active_tasks.items()}
        return replace(self, assigned_tasks=replace(self.assigned_tasks, active_tasks=active))

    def update_with_metadata(self, record: StreamsGroupMemberMetadataRecord) -> "StreamsGroupMember":
        """Return the member with the metadata of a record.

        Decided in: StreamsGroupMember.Builder#updateWith (4.3.1).
        """
        return replace(
            self,
            instance_id=record.instance_id,
            rack_id=record.rack_id,
            client_id=record.client_id,
            client_host=record.client_host,
            rebalance_timeout_ms=record.rebalance_timeout_ms,
            topology_epoch=record.topology_epoch,
            process_id=record.process_id,
            user_endpoint=record.user_endpoint,
            client_tags={each.key: each.value for each in record.client_tags},
        )

    def update_with_assignment(
        self, record: StreamsGroupCurrentMemberAssignmentRecord
    ) -> "StreamsGroupMember":
        """Return the member with the current assignment of a record.

        Decided in: StreamsGroupMember.Builder#updateWith (4.3.1).
        """
        epoch = record.member_epoch
        known = {each.value for each in StreamsMemberState}
        return replace(
            self,
            member_epoch=epoch,
            previous_member_epoch=record.previous_member_epoch,
            state=StreamsMemberState(record.state) if record.state in known else StreamsMemberState.UNKNOWN,
            assigned_tasks=TasksTupleWithEpochs(
                active_tasks=tasks_with_epochs_of(record.active_tasks, epoch),
                standby_tasks=tasks_of(record.standby_tasks),
                warmup_tasks=tasks_of(record.warmup_tasks),
            ),
            tasks_pending_revocation=TasksTupleWithEpochs(
                active_tasks=tasks_with_epochs_of(record.active_tasks_pending_revocation, epoch),
                standby_tasks=tasks_of(record.standby_tasks_pending_revocation),
                warmup_tasks=tasks_of(record.warmup_tasks_pending_revocation),
            ),
        )

"""What all handlers of the coordinator share: the groups, their offsets, the clock and what goes out."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import Enum, unique

from reference_coordinator.appends import Continuation, HeldFetch
from reference_coordinator.behaviours import Behaviour, CoordinatorFamily
from reference_coordinator.choices import Choices
from reference_coordinator.classic.deadlines import Deadline, TimerKey
from reference_coordinator.classic.group import ClassicGroup
from reference_coordinator.config import GroupCoordinatorConfig
from reference_coordinator.effects import AppendRecords, Effect, Permitted, Producer, Respond
from reference_coordinator.ids import AppendId, GroupId, Millis, ResponseToken
from reference_coordinator.map_order import partition_for
from reference_coordinator.messages import GroupResponse, OffsetFetchRequest
from reference_coordinator.offset_store import OffsetStore
from reference_coordinator.profiles import Profile
from reference_coordinator.records import CoordinatorRecord
from reference_coordinator.timers import Timers

_START_OF_TIME_MS = Millis(0)


@unique
class Ownership(Enum):
    """Whether this broker coordinates the groups. Source: CoordinatorRuntime.CoordinatorState (4.3.1)."""

    NOT_OWNED = "not owned"
    LOADING = "loading"
    OWNED = "owned"


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingAppend:
    """A write that is under way."""

    records: tuple[CoordinatorRecord, ...]
    record_offset: int
    """Where in the log the first of them will stand."""
    replays: bool
    """Whether the records change the coordinator's state when they are written, or did so before."""
    creations: tuple[ClassicGroup, ...]
    """Groups that stand or fall with the write."""
    then: Continuation


@dataclass(slots=True, kw_only=True)
class Shard:
    """The state of one coordinator. Source: GroupCoordinatorShard (4.3.1)."""

    config: GroupCoordinatorConfig
    profile: Profile
    choices: Choices
    now_ms: Millis = _START_OF_TIME_MS
    ownership: Ownership = Ownership.NOT_OWNED
    timers: Timers[TimerKey, Deadline] = field(default_factory=Timers)
    offsets: OffsetStore = field(default_factory=OffsetStore)
    _groups: dict[GroupId, ClassicGroup] = field(default_factory=dict)
    _uncommitted: dict[GroupId, ClassicGroup] = field(default_factory=dict)
    _appends: dict[AppendId, PendingAppend] = field(default_factory=dict)
    _held_fetches: list[HeldFetch] = field(default_factory=list)
    _last_append_id: int = 0
    log_end_offset: int = 0
    """Where the next record will stand; all partitions count together, which keeps each in order."""
    _open: set[ResponseToken] = field(default_factory=set)
    _failed: set[ResponseToken] = field(default_factory=set)
    _effects: list[Effect] = field(default_factory=list)

    def group(self, group_id: GroupId) -> ClassicGroup | None:
        """The group as writers see it. Source: GroupMetadataManager#group (4.3.1)."""
        return self._groups.get(group_id)

    def committed_group(self, group_id: GroupId) -> ClassicGroup | None:
        """The group as readers see it: one whose creation is not written yet does not exist for them.

        Source: GroupMetadataManager#classicGroup (4.3.1).
        """
        return None if group_id in self._uncommitted else self._groups.get(group_id)

    def groups(self) -> Iterator[ClassicGroup]:
        """Every group, in the order in which they came; the registry may be changed meanwhile."""
        return iter(tuple(self._groups.values()))

    def committed_groups(self) -> Iterator[ClassicGroup]:
        """Every group that readers see."""
        return (each for each in self.groups() if each.group_id not in self._uncommitted)

    def create_classic_group(self, group_id: GroupId) -> ClassicGroup:
        """Make an empty group. Source: GroupMetadataManager#getOrMaybeCreateClassicGroup (4.3.1)."""
        group = ClassicGroup(
            group_id=group_id,
            profile=self.profile,
            choices=self.choices,
            current_state_timestamp_ms=self.now_ms,
        )
        self.put_group(group)
        if self.profile.has(Behaviour.GROUP_CREATION_IS_WRITTEN):
            self._uncommitted[group_id] = group
        return group

    def put_group(self, group: ClassicGroup) -> None:
        """Register a group in place of any other of its id."""
        self._groups[group.group_id] = group

    def remove_group(self, group_id: GroupId) -> None:
        """Forget a group; its committed offsets stay.

        Open transactions are on the Scala coordinator's group, but beside the Java one's.
        """
        self._groups.pop(group_id, None)
        if self.profile.coordinator is CoordinatorFamily.SCALA:
            self.offsets.transactions.forget_group(group_id)
        self._uncommitted.pop(group_id, None)

    def forget_all(self) -> None:
        """Forget all groups, offsets and deadlines, but not the writes under way."""
        self._groups.clear()
        self._uncommitted.clear()
        self.offsets.clear()
        self.timers.cancel_all()

    def partition_for(self, group_id: GroupId) -> int:
        """The group's partition of `__consumer_offsets`."""
        return partition_for(group_id, self.config.offsets_topic_num_partitions)

    def accept(self, token: ResponseToken) -> None:
        """Take note that a request awaits its answer."""
        assert token not in self._open, f"{token} is in use"
        self._open.add(token)

    def is_open(self, token: ResponseToken) -> bool:
        """Whether a request still awaits its answer."""
        return token in self._open

    def respond(
        self, token: ResponseToken, response: GroupResponse, permitted: tuple[Permitted, ...] = ()
    ) -> None:
        """Answer a request."""
        if token in self._failed:
            # Kafka completes the same future a second time here, which has no effect.
            self._failed.discard(token)
            return
        self._open.remove(token)
        self._effects.append(Respond(token=token, response=response, permitted=permitted))

    def fail(self, token: ResponseToken, response: GroupResponse | None) -> None:
        """End a request that ran into an exception of Kafka's, with an answer or with silence.

        Part of the coordinator may still hold on to it, so that it will be answered once more.
        """
        if token not in self._open:
            return
        if response is not None:
            self.respond(token, response)
        self._open.discard(token)
        self._failed.add(token)

    def append(
        self,
        group_id: GroupId,
        records: tuple[CoordinatorRecord, ...],
        then: Continuation,
        *,
        replays: bool = False,
        producer: Producer | None = None,
    ) -> None:
        """Write records to the group's partition.

        Source: CoordinatorRuntime#scheduleWriteOperation (4.3.1).
        """
        self._last_append_id += 1
        append_id = AppendId(self._last_append_id)
        partition = self.partition_for(group_id)
        creations = tuple(
            group
            for created_id, group in self._uncommitted.items()
            if self.partition_for(created_id) == partition
        )
        self._appends[append_id] = PendingAppend(
            records=records,
            record_offset=self.log_end_offset,
            replays=replays,
            creations=creations,
            then=then,
        )
        self.log_end_offset += len(records)
        self._effects.append(
            AppendRecords(append_id=append_id, partition=partition, records=records, producer=producer)
        )

    @property
    def last_append_id(self) -> AppendId:
        """The newest write."""
        return AppendId(self._last_append_id)

    def continue_with(self, append_id: AppendId, then: Continuation) -> None:
        """Go on otherwise when a write is through than its writer meant to."""
        self._appends[append_id] = replace(self._appends[append_id], then=then)

    def hold_fetch(self, request: OffsetFetchRequest, token: ResponseToken) -> bool:
        """Let a fetch wait for the writes under way; whether there are any.

        Source: CoordinatorRuntime.CoordinatorWriteEvent#run (4.3.1), where an operation that writes nothing
        is done when all before it is written.
        """
        if not self._appends:
            return False
        self._held_fetches.append(HeldFetch(after=max(self._appends), token=token, request=request))
        return True

    def take_ready_fetches(self) -> list[HeldFetch]:
        """The fetches that have nothing to wait for any more."""
        oldest = min(self._appends, default=None)
        ready = [each for each in self._held_fetches if oldest is None or each.after < oldest]
        self._held_fetches = [each for each in self._held_fetches if each not in ready]
        return ready

    def take_append(self, append_id: AppendId) -> PendingAppend | None:
        """The write that is through, or None if nobody cares any more."""
        return self._appends.pop(append_id, None)

    def take_all_appends(self) -> list[PendingAppend]:
        """Every write under way, oldest first; none is any more."""
        taken = list(self._appends.values())
        self._appends.clear()
        return taken

    def commit_creations(self, append: PendingAppend) -> None:
        """Let readers see the groups that were written."""
        for group in append.creations:
            if self._uncommitted.get(group.group_id) is group:
                del self._uncommitted[group.group_id]

    def roll_back_creations(self, append: PendingAppend) -> None:
        """Undo the groups that could not be written. Source: SnapshotRegistry#revertToSnapshot (4.3.1)."""
        for group in append.creations:
            if self._uncommitted.get(group.group_id) is group:
                self.remove_group(group.group_id)

    def take_effects(self) -> tuple[Effect, ...]:
        """What went out since the last time."""
        taken = tuple(self._effects)
        self._effects.clear()
        return taken

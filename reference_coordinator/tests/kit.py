"""A coordinator over virtual time with its log, and short words for what members send."""

from dataclasses import dataclass, field
from itertools import count

from reference_coordinator.coordinator.coordinator import GroupCoordinator
from reference_coordinator.core.choices import DeterministicChoices
from reference_coordinator.core.effects import AppendRecords, Effect, Respond
from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import (
    UNKNOWN_MEMBER_ID,
    GenerationId,
    GroupId,
    GroupInstanceId,
    MemberId,
    Millis,
    ResponseToken,
)
from reference_coordinator.core.map_order import partition_for
from reference_coordinator.core.records import CoordinatorRecord, EndTransactionMarker
from reference_coordinator.messages import (
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    GroupRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    LeaveGroupRequest,
    ListGroupsRequest,
    ListGroupsResponse,
    MemberIdentity,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetDeleteRequest,
    OffsetDeleteRequestTopic,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
    RequestContext,
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    TxnOffsetCommitRequest,
)
from reference_coordinator.profile.config import GroupCoordinatorConfig
from reference_coordinator.profile.profiles import profile_for
from reference_coordinator.tests.calls import Call

SCALA = "3.9"
JAVA = "4.4"

INITIAL_DELAY_MS = 3_000
SESSION_MS = 10_000
REBALANCE_MS = 20_000
NEWEST = {
    JoinGroupRequest: 9,
    SyncGroupRequest: 5,
    HeartbeatRequest: 4,
    LeaveGroupRequest: 5,
    DescribeGroupsRequest: 5,
    ListGroupsRequest: 5,
    DeleteGroupsRequest: 2,
    OffsetCommitRequest: 8,
    OffsetFetchRequest: 8,
    OffsetDeleteRequest: 0,
    TxnOffsetCommitRequest: 3,
}


@dataclass
class Broker:
    """A coordinator, its clock and its log; appends are through at once unless told otherwise."""

    profile: str = SCALA
    properties: dict[str, str] = field(default_factory=dict)
    owned: bool = True
    now_ms: int = 0
    answers: dict[ResponseToken, Respond[object]] = field(default_factory=dict)
    log: list[CoordinatorRecord] = field(default_factory=list)
    effects: list[Effect] = field(default_factory=list)
    append_error: Errors = Errors.NONE
    delays_appends: bool = False
    delayed: list[AppendRecords] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.tokens = count(1)
        self.coordinator = self.new_coordinator(self.properties)
        if self.owned:
            self.take_over()

    def new_coordinator(self, properties: dict[str, str], *, seed: int = 0) -> GroupCoordinator:
        return GroupCoordinator(
            config=GroupCoordinatorConfig.from_properties(properties),
            profile=profile_for(self.profile),
            choices=DeterministicChoices(seed=seed),
        )

    @property
    def num_partitions(self) -> int:
        config = GroupCoordinatorConfig.from_properties(self.properties)
        return config.offsets_topic_num_partitions

    def partition_of(self, record: CoordinatorRecord) -> int:
        if isinstance(record, EndTransactionMarker):
            return record.partition
        return partition_for(record.group_id, self.num_partitions)

    def read(self, partition: int) -> list[CoordinatorRecord]:
        """What the log has of a partition."""
        return [each for each in self.log if self.partition_of(each) == partition]

    def begin_loading(self, *partitions: int, epoch: int = 0) -> None:
        """Elect the broker leader of some partitions, by default of all."""
        for partition in partitions or range(self.num_partitions):
            effects = self.coordinator.begin_loading(partition, epoch=epoch, now_ms=self.now)
            self.settle(effects)

    def finish_loading(self) -> None:
        """Load every log that is to be loaded."""
        while (partition := self.coordinator.partition_to_load) is not None:
            self.coordinator.load(partition, self.read(partition))
            self.settle(self.coordinator.finish_loading(partition, now_ms=self.now))

    def take_over(self, *partitions: int, epoch: int = 0) -> None:
        self.begin_loading(*partitions, epoch=epoch)
        self.finish_loading()

    def unload(self, *partitions: int, epoch: int | None = None) -> None:
        """Take leadership of some partitions from the broker, by default of all."""
        for partition in partitions or range(self.num_partitions):
            self.settle(self.coordinator.unload(partition, epoch=epoch, now_ms=self.now))

    def restart(self, **properties: str) -> None:
        """Stop the broker and start it anew with its log."""
        self.unload()
        self.coordinator = self.new_coordinator({**self.properties, **properties}, seed=1)
        self.settle(self.coordinator.advance(now_ms=self.now))
        self.take_over()

    @property
    def now(self) -> Millis:
        return Millis(self.now_ms)

    def send(
        self, request: GroupRequest, *, version: int | None = None, client_id: str | None = "ana"
    ) -> Call:
        call = Call(self.answers, ResponseToken(next(self.tokens)))
        context = RequestContext(
            api_version=NEWEST[type(request)] if version is None else version,
            client_id=client_id,
            client_host="/127.0.0.1",
        )
        self.settle(self.coordinator.handle(request, context, call.token, now_ms=self.now))
        return call

    def elapse(self, ms: int) -> None:
        self.now_ms += ms
        self.settle(self.coordinator.advance(now_ms=self.now))

    def settle(self, effects: tuple[Effect, ...]) -> None:
        todo = list(effects)
        while todo:
            effect = todo.pop(0)
            self.effects.append(effect)
            if isinstance(effect, Respond):
                assert effect.token not in self.answers, "answered twice"
                self.answers[effect.token] = effect
            elif self.delays_appends:
                self.delayed.append(effect)
            else:
                todo = [*self._write(effect), *todo]
        self.coordinator.check_invariants()

    def release(self, error: Errors = Errors.NONE) -> None:
        """Let the delayed appends be through."""
        self.delays_appends = False
        self.append_error = error
        delayed, self.delayed = self.delayed, []
        for append in delayed:
            self.settle(self._write(append))
        self.append_error = Errors.NONE

    def _write(self, append: AppendRecords) -> tuple[Effect, ...]:
        if self.append_error is Errors.NONE:
            self.log.extend(append.records)
        return self.coordinator.append_completed(append.append_id, self.append_error, now_ms=self.now)

    def describe(self, group: str = "g", *, version: int = 5) -> DescribedGroup:
        call = self.send(DescribeGroupsRequest(groups=(GroupId(group),)), version=version)
        return call.as_(DescribeGroupsResponse).groups[0]

    def state(self, group: str = "g") -> str:
        return self.describe(group).group_state

    def listed(self, states: tuple[str, ...] = (), types: tuple[str, ...] = ()) -> list[str]:
        call = self.send(ListGroupsRequest(states_filter=states, types_filter=types))
        return [each.group_id for each in call.as_(ListGroupsResponse).groups]

    def delete(self, *groups: str) -> dict[str, Errors]:
        request = DeleteGroupsRequest(groups_names=tuple(GroupId(each) for each in groups))
        results = self.send(request).as_(DeleteGroupsResponse).results
        return {each.group_id: each.error_code for each in results}

    def fetch(
        self, *partitions: int, topic: str = "t", group: str = "g", stable: bool = False
    ) -> list[tuple[int, Errors]]:
        asked = fetch(*partitions, topic=topic, group=group, stable=stable)
        answer = self.send(asked).as_(OffsetFetchResponse).groups[0]
        return [
            (each.committed_offset, each.error_code)
            for each in (answer.topics[0].partitions if answer.topics else ())
        ]


def join(
    member_id: str = UNKNOWN_MEMBER_ID,
    *,
    instance: str | None = None,
    names: tuple[str, ...] = ("range",),
    metadata: bytes = b"",
    session_ms: int = SESSION_MS,
    rebalance_ms: int = REBALANCE_MS,
    kind: str = "consumer",
    group: str = "g",
) -> JoinGroupRequest:
    return JoinGroupRequest(
        group_id=GroupId(group),
        session_timeout_ms=Millis(session_ms),
        rebalance_timeout_ms=Millis(rebalance_ms),
        member_id=MemberId(member_id),
        group_instance_id=None if instance is None else GroupInstanceId(instance),
        protocol_type=kind,
        protocols=tuple(JoinGroupRequestProtocol(name=each, metadata=metadata) for each in names),
    )


def sync(
    member_id: str,
    generation: int = 1,
    *,
    instance: str | None = None,
    assignments: dict[MemberId, bytes] | None = None,
    kind: str | None = None,
    name: str | None = None,
    group: str = "g",
) -> SyncGroupRequest:
    return SyncGroupRequest(
        group_id=GroupId(group),
        generation_id=GenerationId(generation),
        member_id=MemberId(member_id),
        group_instance_id=None if instance is None else GroupInstanceId(instance),
        protocol_type=kind,
        protocol_name=name,
        assignments=tuple(
            SyncGroupRequestAssignment(member_id=each, assignment=data)
            for each, data in (assignments or {}).items()
        ),
    )


def heartbeat(
    member_id: str, generation: int = 1, *, instance: str | None = None, group: str = "g"
) -> HeartbeatRequest:
    return HeartbeatRequest(
        group_id=GroupId(group),
        generation_id=GenerationId(generation),
        member_id=MemberId(member_id),
        group_instance_id=None if instance is None else GroupInstanceId(instance),
    )


def leave(*members: str | tuple[str, str | None], group: str = "g") -> LeaveGroupRequest:
    pairs = [(each, None) if isinstance(each, str) else each for each in members]
    return LeaveGroupRequest(
        group_id=GroupId(group),
        members=tuple(
            MemberIdentity(
                member_id=MemberId(member_id),
                group_instance_id=None if instance is None else GroupInstanceId(instance),
            )
            for member_id, instance in pairs
        ),
    )


def commit(
    offsets: dict[int, int],
    *,
    member_id: str = "",
    generation: int = -1,
    instance: str | None = None,
    metadata: str | None = "",
    retention_ms: int = -1,
    topic: str = "t",
    group: str = "g",
) -> OffsetCommitRequest:
    return OffsetCommitRequest(
        group_id=GroupId(group),
        generation_id_or_member_epoch=GenerationId(generation),
        member_id=MemberId(member_id),
        group_instance_id=None if instance is None else GroupInstanceId(instance),
        retention_time_ms=Millis(retention_ms),
        topics=(
            OffsetCommitRequestTopic(
                name=topic,
                partitions=tuple(
                    OffsetCommitRequestPartition(
                        partition_index=index, committed_offset=offset, committed_metadata=metadata
                    )
                    for index, offset in offsets.items()
                ),
            ),
        ),
    )


def fetch(*partitions: int, topic: str = "t", group: str = "g", stable: bool = False) -> OffsetFetchRequest:
    topics = (OffsetFetchRequestTopic(name=topic, partition_indexes=partitions),)
    asked = OffsetFetchRequestGroup(group_id=GroupId(group), topics=topics)
    return OffsetFetchRequest(groups=(asked,), require_stable=stable)


def offset_delete(*partitions: int, topic: str = "t", group: str = "g") -> OffsetDeleteRequest:
    topics = (OffsetDeleteRequestTopic(name=topic, partition_indexes=partitions),)
    return OffsetDeleteRequest(group_id=GroupId(group), topics=topics)


def subscription(*topics: str) -> bytes:
    encoded = [topic.encode() for topic in topics]
    names = b"".join(len(each).to_bytes(2, "big") + each for each in encoded)
    return b"\0\0" + len(topics).to_bytes(4, "big") + names + b"\xff\xff\xff\xff"


def parked_members(broker: Broker, *requests: JoinGroupRequest) -> list[Call]:
    """JoinGroups, of a version that is parked at once, that await the end of the initial delay."""
    return [broker.send(each, version=9 if each.group_instance_id is not None else 3) for each in requests]


def joined_members(broker: Broker, *requests: JoinGroupRequest) -> list[MemberId]:
    """A group in CompletingRebalance, generation 1; the leader comes first."""
    calls = parked_members(broker, *requests)
    while any(call.is_parked for call in calls):
        deadline_ms = broker.coordinator.next_deadline()
        assert deadline_ms is not None, "stuck"
        broker.elapse(deadline_ms - broker.now_ms)
    return [call.join.member_id for call in calls]


def stable_group(broker: Broker, *requests: JoinGroupRequest) -> list[MemberId]:
    """A stable group, generation 1; the leader comes first and everybody's assignment is its id."""
    members = joined_members(broker, *requests)
    group = requests[0].group_id
    followers = [broker.send(sync(each, group=group)) for each in members[1:]]
    assignments = {each: each.encode() for each in members}
    leader = broker.send(sync(members[0], assignments=assignments, group=group))
    assert all(call.error is Errors.NONE for call in [leader, *followers])
    return members

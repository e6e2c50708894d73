"""A coordinator over virtual time with its log, to which members send."""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Concatenate, ParamSpec

from reference_coordinator.coordinator.coordinator import GroupCoordinator
from reference_coordinator.core.choices import DeterministicChoices
from reference_coordinator.core.effects import AppendRecords, Effect, Respond
from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import GroupId, MemberId, Millis, ProducerEpoch, ProducerId, ResponseToken
from reference_coordinator.core.map_order import partition_for
from reference_coordinator.core.records import CoordinatorRecord, EndTransactionMarker
from reference_coordinator.messages import (
    DeleteGroupsRequest,
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    GroupRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    ListGroupsRequest,
    ListGroupsResponse,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    OffsetFetchResponse,
    RequestContext,
    SyncGroupRequest,
    TxnOffsetCommitRequest,
)
from reference_coordinator.profile.config import GroupCoordinatorConfig
from reference_coordinator.profile.profiles import profile_for
from reference_coordinator.tests import requests
from reference_coordinator.tests.calls import Call

SCALA = "3.9"
JAVA = "4.4"

INITIAL_DELAY_MS = 3_000
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


P = ParamSpec("P")


def _sending(request: Callable[P, GroupRequest]) -> Callable[Concatenate["Broker", P], Call]:
    """A method that sends a request, in the newest version, and returns what becomes of it."""

    def send(broker: "Broker", /, *args: P.args, **kwargs: P.kwargs) -> Call:
        return broker.send(request(*args, **kwargs))

    return send


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
            self.load(partition)

    def load(self, partition: int) -> None:
        """Load one log."""
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

    heartbeat = _sending(requests.heartbeat)
    join = _sending(requests.join)
    sync = _sending(requests.sync)
    leave = _sending(requests.leave)
    commit = _sending(requests.commit)
    offset_delete = _sending(requests.offset_delete)
    txn_commit = _sending(requests.txn_commit)

    def parked_members(self, *joins: JoinGroupRequest) -> list[Call]:
        """JoinGroups, of a version that is parked at once, that await the end of the initial delay."""
        return [self.send(each, version=9 if each.group_instance_id is not None else 3) for each in joins]

    def joined_members(self, *joins: JoinGroupRequest) -> list[MemberId]:
        """A group in CompletingRebalance, generation 1; the leader comes first."""
        calls = self.parked_members(*joins)
        while any(call.is_parked for call in calls):
            deadline_ms = self.coordinator.next_deadline()
            assert deadline_ms is not None, "stuck"
            self.elapse(deadline_ms - self.now_ms)
        return [call.join.member_id for call in calls]

    def stable_group(self, *joins: JoinGroupRequest) -> list[MemberId]:
        """A stable group, generation 1; the leader comes first and everybody's assignment is its id."""
        members = self.joined_members(*joins)
        group = joins[0].group_id
        followers = [self.sync(each, group=group) for each in members[1:]]
        leader = self.sync(members[0], assignments={each: each.encode() for each in members}, group=group)
        assert all(call.error is Errors.NONE for call in [leader, *followers])
        return members

    def end(self, producer_id: int, *, committed: bool, group: str = "g") -> None:
        """Write the end of a producer's transaction to the log, and tell of it."""
        marker = EndTransactionMarker(
            partition=partition_for(group, self.num_partitions),
            producer_id=ProducerId(producer_id),
            producer_epoch=ProducerEpoch(0),
            is_commit=committed,
        )
        self.log.append(marker)
        self.settle(self.coordinator.transaction_ended(marker, now_ms=self.now))

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
        return self.send(requests.delete(*groups)).deleted

    def fetch(
        self, *partitions: int, topic: str = "t", group: str = "g", stable: bool = False
    ) -> list[tuple[int, Errors]]:
        asked = requests.fetch(*partitions, topic=topic, group=group, stable=stable)
        answer = self.send(asked).as_(OffsetFetchResponse).groups[0]
        return [
            (each.committed_offset, each.error_code)
            for each in (answer.topics[0].partitions if answer.topics else ())
        ]

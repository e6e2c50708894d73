"""A member of a streams group (KIP-1071): an actor that heartbeats, and gets which tasks to run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias, TypedDict

from typing_extensions import Unpack

from harness.scenario.actor import Answer
from harness.scenario.ask import REBALANCE_TIMEOUT_MS
from harness.scenario.heartbeating import JOINS, LEAVES, HeartbeatingActor
from harness.scenario.messages import (
    ANY,
    OWN,
    Group,
    Number,
    Own,
    PinItems,
    PinNumber,
    PinText,
    Text,
    Unpinned,
)
from harness.scenario.streams import ask_describe, ask_heartbeat, expect_describe, expect_heartbeat, topology
from harness.scenario.values import Pattern, Ref, Value

Tasks: TypeAlias = Mapping[str, Sequence[int]]
"""Partitions by subtopology."""
NamedTasks: TypeAlias = "Tasks | Ref | None"
"""Tasks; or what an answer brought; None where nothing is said of them."""
Subtopologies: TypeAlias = Sequence[Mapping[str, Value]]
"""As requests have them."""
PROCESS: Final = "process-1"
NO_TASKS: Final[Tasks] = {}


class StreamsHeartbeat(TypedDict, total=False):
    """What a heartbeat may say and expect; of what is left out it says nothing, and pins nothing.

    Group, member id, epoch and instance id are the member's own, and NONE is expected, unless named.
    """

    version: int
    epoch: Number | Own
    topology: Mapping[str, Value] | None
    owned: NamedTasks
    """Its active tasks; it then has no others unless they are named too."""
    standby: NamedTasks
    warmup: NamedTasks
    instance_id: str | None | Own
    member_id: Text | Own
    group_id: Group | Own
    rack_id: str | None
    process_id: str | None
    endpoint: tuple[str, int] | None
    """Host and port where others can ask it."""
    endpoint_epoch: Number
    """What it was last told of the others' endpoints."""
    tags: Mapping[str, str] | None
    task_offsets: Value
    task_end_offsets: Value
    shuts_down: bool
    rebalance_timeout_ms: int
    error_code: PinText
    member_epoch: PinNumber
    """What the answer is to bring."""
    assigned: Tasks | None | Unpinned
    """Which active tasks the answer tells it to run; None where it brings none."""
    standbys: Tasks | None | Unpinned
    warmups: Tasks | None | Unpinned
    statuses: Sequence[int] | Unpinned
    """The codes of what the answer tells of the group."""
    interval_ms: PinNumber


class StreamsMember(HeartbeatingActor):
    """A client that speaks the protocol of streams groups."""

    @property
    def assigned(self) -> Ref:
        """The active tasks that it was last told to run."""
        return Ref(self.name, "active_tasks")

    @property
    def standbys(self) -> Ref:
        """The standby tasks that it was last told to run."""
        return Ref(self.name, "standby_tasks")

    def heartbeats(self, **said: Unpack[StreamsHeartbeat]) -> Answer:
        """Send a heartbeat, with what is named and nothing else, and expect its answer: NONE unless named."""
        owned, endpoint = said.get("owned"), said.get("endpoint")
        others: NamedTasks = None if owned is None else NO_TASKS
        asked = ask_heartbeat(
            version=said.get("version", 0),
            group_id=said.get("group_id", OWN),
            member_id=said.get("member_id", OWN),
            member_epoch=said.get("epoch", OWN),
            endpoint_information_epoch=said.get("endpoint_epoch", 0),
            instance_id=said.get("instance_id", OWN),
            rack_id=said.get("rack_id"),
            rebalance_timeout_ms=said.get("rebalance_timeout_ms", -1),
            topology=said.get("topology"),
            active_tasks=_asked(owned),
            standby_tasks=_asked(said.get("standby", others)),
            warmup_tasks=_asked(said.get("warmup", others)),
            process_id=said.get("process_id"),
            user_endpoint=None if endpoint is None else {"host": endpoint[0], "port": endpoint[1]},
            client_tags=said.get("tags"),
            task_offsets=said.get("task_offsets"),
            task_end_offsets=said.get("task_end_offsets"),
            shutdown_application=said.get("shuts_down", False),
        )
        statuses = said.get("statuses", ANY)
        answer = expect_heartbeat(
            error_code=said.get("error_code", "NONE"),
            member_epoch=said.get("member_epoch", ANY),
            heartbeat_interval_ms=said.get("interval_ms", ANY),
            status=ANY
            if isinstance(statuses, Unpinned)
            else tuple({"status_code": code} for code in statuses),
            active_tasks=_expected(said.get("assigned", ANY)),
            standby_tasks=_expected(said.get("standbys", ANY)),
            warmup_tasks=_expected(said.get("warmups", ANY)),
        )
        return self.asks(asked, answer)

    def enters(self, *subtopologies: Mapping[str, Value], **said: Unpack[StreamsHeartbeat]) -> Answer:
        """Join with epoch 0 and a topology, running nothing; it reads `orders` if none is named."""
        joining: StreamsHeartbeat = {
            "epoch": JOINS,
            "topology": topology(*subtopologies),
            "owned": NO_TASKS,
            "process_id": f"process-{self.name}",
            "rebalance_timeout_ms": REBALANCE_TIMEOUT_MS,
        }
        joining.update(said)
        return self.heartbeats(**joining)

    def leaves(self, *, epoch: int = LEAVES) -> Answer:
        """Leave for good, or for a while with epoch -2, and be told so."""
        return self.heartbeats(epoch=epoch, member_epoch=epoch, interval_ms=0, assigned=None)

    def describes(
        self,
        state: PinText,
        *,
        epoch: PinNumber = ANY,
        assignment_epoch: PinNumber = ANY,
        members: PinItems = ANY,
        described_topology: Pattern | Unpinned = ANY,
    ) -> Answer:
        """Have it describe its group."""
        expected = expect_describe(
            error_code="NONE",
            group_state=state,
            group_epoch=epoch,
            assignment_epoch=assignment_epoch,
            members=members,
            topology=described_topology,
        )
        return self.asks(ask_describe(), expected)


def _asked(tasks: NamedTasks) -> Value:
    if not isinstance(tasks, Mapping):
        return tasks
    return tuple({"subtopology_id": key, "partitions": tuple(each)} for key, each in tasks.items())


def _expected(tasks: Tasks | None | Unpinned) -> Pattern | Unpinned:
    if tasks is None or isinstance(tasks, Unpinned):
        return tasks
    return tuple({"subtopology_id": key, "partitions": tuple(each)} for key, each in tasks.items())

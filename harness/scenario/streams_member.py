"""A member of a streams group (KIP-1071): an actor that heartbeats, and is assigned tasks."""

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
"""Tasks, or a reference to those in an answer; None to leave the field null."""
Subtopologies: TypeAlias = Sequence[Mapping[str, Value]]
"""Subtopologies in the form of requests."""
PROCESS: Final = "process-1"
NO_TASKS: Final[Tasks] = {}


class StreamsHeartbeat(TypedDict, total=False):
    """The fields of a heartbeat and of its expected answer; missing ones are not sent, or not pinned.

    Group, member id, epoch and instance id are the member's own, and NONE is expected, unless named.
    """

    version: int
    epoch: Number | Own
    topology: Mapping[str, Value] | None
    owned: NamedTasks
    """Its active tasks; the other kinds are then sent as empty, unless they are named too."""
    standby: NamedTasks
    warmup: NamedTasks
    instance_id: str | None | Own
    member_id: Text | Own
    group_id: Group | Own
    rack_id: str | None
    process_id: str | None
    endpoint: tuple[str, int] | None
    """Host and port where others can query it."""
    endpoint_epoch: Number
    """The epoch of the endpoint information that it last received."""
    tags: Mapping[str, str] | None
    task_offsets: Value
    task_end_offsets: Value
    shuts_down: bool
    rebalance_timeout_ms: int
    error_code: PinText
    member_epoch: PinNumber
    """The epoch that is expected in the answer."""
    assigned: Tasks | None | Unpinned
    """The active tasks that are expected in the answer; None if it has none."""
    standbys: Tasks | None | Unpinned
    warmups: Tasks | None | Unpinned
    statuses: Sequence[int] | Unpinned
    """The status codes that are expected in the answer."""
    interval_ms: PinNumber


class StreamsMember(HeartbeatingActor):
    """A client that uses the protocol of streams groups."""

    @property
    def assigned(self) -> Ref:
        """The active tasks that it was last assigned."""
        return Ref(self.name, "active_tasks")

    @property
    def standbys(self) -> Ref:
        """The standby tasks that it was last assigned."""
        return Ref(self.name, "standby_tasks")

    def heartbeats(self, **said: Unpack[StreamsHeartbeat]) -> Answer:
        """Send a heartbeat with only the named fields, and expect its answer: NONE unless named."""
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
        """Join with epoch 0, without tasks, and with a topology, which reads `orders` if none is named."""
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
        """Leave for good, or for a while with epoch -2, and expect the confirmation."""
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
        """Describe its group, and expect the answer."""
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

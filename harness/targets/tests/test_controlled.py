"""What is done to brokers of ours, in which order, whatever they run in."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import cast

import pytest
from typing_extensions import override

from harness.targets.base.cluster import Cluster
from harness.targets.base.interface import Breakpoint, BrokerAction, Role, TargetError
from harness.targets.base.measured import MeasuredProcess
from harness.targets.kafka.controlled import ControlledNode, ControlledNodes, KafkaBroker
from harness.targets.kafka.properties import AFTER_KILL, after_shutdown
from harness.tests.made_events import BARE_BROKER

VERSION = "4.0.2"


class NotedNode(ControlledNode):
    """Notes what is done to it."""

    def __init__(self, node_id: int, notes: list[str]) -> None:
        self._id = node_id
        self._notes = notes

    def _note(self, text: str) -> None:
        self._notes.append(f"{self._id} {text}")

    @property
    @override
    def node_id(self) -> int:
        return self._id

    @property
    @override
    def address(self) -> tuple[str, int]:
        return "127.0.0.1", self._id

    @override
    def measured(self, *, is_paused: bool) -> MeasuredProcess:
        return MeasuredProcess(pid=self._id, is_paused=is_paused)

    @override
    def change(self, properties: Mapping[str, str]) -> None:
        self._note(f"change {dict(properties)}")

    @override
    async def start(self) -> None:
        self._note("start")

    @override
    async def stop(self) -> None:
        self._note("stop")

    @override
    async def kill(self) -> None:
        self._note("kill")

    @override
    async def pause(self) -> None:
        self._note("pause")

    @override
    async def resume(self) -> None:
        self._note("resume")

    @override
    async def disconnect(self) -> None:
        self._note("disconnect")

    @override
    async def reconnect(self) -> None:
        self._note("reconnect")

    @override
    async def pause_at(self, point: Breakpoint, partitions: frozenset[int] = frozenset()) -> None:
        self._note(f"pause at {point} {sorted(partitions)}")

    @override
    async def reached(self, points: Collection[Breakpoint], *, timeout_s: float) -> None:
        if points:
            self._note("reached")

    @override
    async def resume_from(self, point: Breakpoint) -> None:
        self._note(f"release {point}")


@dataclass
class NotedCluster:
    """Has the next broker coordinate."""

    notes: list[str]
    coordinator: int = 1

    def node_in(self, role: Role) -> int:
        assert role is Role.OTHER
        return self.coordinator % 3 + 1

    async def move(self) -> None:
        self.coordinator = self.coordinator % 3 + 1

    async def lost(self, node_id: int) -> None:
        self.notes.append(f"lost {node_id}")
        await self.move()

    async def found(self, node_id: int) -> None:
        self.notes.append(f"found {node_id}")

    def came_up(self, node_id: int) -> None:
        self.notes.append(f"up {node_id}")

    async def taken_over(self) -> None:
        self.notes.append("taken over")


@dataclass
class NotedNodes(ControlledNodes[NotedNode]):
    notes: list[str] = field(default_factory=list)

    @override
    def failure(self) -> str | None:
        return None

    @override
    async def end(self) -> None:
        self.notes.append("end")


class NotedBroker(KafkaBroker[NotedNode]):
    @override
    async def _await_serving(self, node: NotedNode) -> None:
        await node.reached([Breakpoint.DEAD], timeout_s=0)


def broker_of(count: int, notes: list[str]) -> NotedBroker:
    nodes = NotedNodes(brokers={each: NotedNode(each, notes) for each in range(1, count + 1)}, notes=notes)
    cluster = cast("Cluster", NotedCluster(notes)) if count > 1 else None
    return NotedBroker(replace(BARE_BROKER, version=VERSION), nodes, cluster)


async def done(count: int, *actions: BrokerAction, config: Mapping[str, str] | None = None) -> list[str]:
    notes: list[str] = []
    broker = broker_of(count, notes)
    for action in actions:
        await broker.carry_out(action, config or {})
    return notes


async def test_a_broker_alone_comes_back_over_its_log_with_what_lets_it_register_soon() -> None:
    changed = {**after_shutdown(VERSION), "group.max.size": "3"}
    restarted = ["1 stop", f"1 change {changed}", "1 start", "1 reached"]
    assert await done(1, BrokerAction.RESTART, config={"group.max.size": "3"}) == restarted
    assert await done(1, BrokerAction.KILL) == [
        "1 kill",
        f"1 change {dict(AFTER_KILL)}",
        "1 start",
        "1 reached",
    ]


async def test_a_broker_of_a_cluster_is_replaced_and_a_restarted_one_is_not_reconfigured() -> None:
    assert await done(3, BrokerAction.RESTART) == ["1 stop", "1 start", "1 reached", "up 1", "taken over"]
    assert await done(3, BrokerAction.KILL) == ["1 kill", "lost 1"]
    assert await done(3, BrokerAction.MOVE, BrokerAction.KILL) == ["2 kill", "lost 2"]


async def test_all_that_stand_still_go_on_and_all_without_a_network_get_it_back() -> None:
    pauses = [BrokerAction.PAUSE, BrokerAction.MOVE, BrokerAction.PAUSE, BrokerAction.RESUME]
    assert await done(3, *pauses) == ["1 pause", "2 pause", "2 resume", "1 resume"]
    cut = [BrokerAction.DISCONNECT, BrokerAction.DISCONNECT, BrokerAction.RECONNECT, BrokerAction.RECONNECT]
    assert await done(3, *cut) == [
        *("1 disconnect", "lost 1", "2 disconnect", "lost 2"),
        *("2 reconnect", "found 2", "1 reconnect", "found 1"),
    ]


async def test_the_next_coordinator_is_awaited_at_its_breakpoint() -> None:
    notes: list[str] = []
    broker = broker_of(3, notes)
    await broker.pause_at(Breakpoint.LOADING, frozenset({7}))
    assert notes == [f"{each} pause at loading [7]" for each in (1, 2, 3)]
    notes.clear()
    await broker.carry_out(BrokerAction.MOVE, {})
    assert notes == ["2 reached"]
    await broker.resume_from(Breakpoint.LOADING)
    notes.clear()
    await broker.carry_out(BrokerAction.MOVE, {})
    assert notes == []
    await broker.carry_out(BrokerAction.PAUSE, {})
    assert [each.is_paused for each in broker.measured()] == [False, False, True]
    assert broker.address(Role.COORDINATOR) == ("127.0.0.1", 3)
    assert broker.address(Role.OTHER) == ("127.0.0.1", 1)
    await broker.stop()
    assert notes == ["3 pause", "end"]


async def test_a_broker_alone_leads_nobody_elsewhere() -> None:
    for action in (BrokerAction.MOVE, BrokerAction.DISCONNECT):
        with pytest.raises(TargetError, match="nobody else can coordinate"):
            await done(1, action)

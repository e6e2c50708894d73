"""A broker, or a cluster of several, in containers of ours: what it is and what can be done to it."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Final

from typing_extensions import override

from harness.capacity import start_slots
from harness.targets.base.cluster import Cluster
from harness.targets.base.controlled import ControlledStage
from harness.targets.base.interface import (
    CONFORMANCE_TOPICS,
    Breakpoint,
    Broker,
    BrokerAction,
    BrokerDescription,
    Role,
    Stage,
    TargetError,
)
from harness.targets.base.measured import MeasuredProcess
from harness.targets.base.prepare import await_serving
from harness.targets.base.tcp import TcpStage, new_connect_slots
from harness.targets.containers.node import ContainerNode
from harness.targets.containers.nodes import ContainerNodes
from harness.targets.kafka.properties import AFTER_KILL, NODE_ID, after_shutdown

_REACHED_TIMEOUT_S: Final = 30.0
_COME_BACK_TIMEOUT_MS: Final = 120_000.0


@asynccontextmanager
async def asking(node: ContainerNode) -> AsyncIterator[TcpStage]:
    """Give a stage on which to ask one broker."""
    stage = TcpStage(*node.address, connect_slots=new_connect_slots())
    try:
        yield stage
    finally:
        await stage.close()


class ContainerBroker(Broker):
    """A broker, or a cluster of them, in containers of ours."""

    def __init__(
        self, description: BrokerDescription, nodes: ContainerNodes, cluster: Cluster | None
    ) -> None:
        self._description = description
        self._nodes = nodes
        self._cluster = cluster
        self._held: set[Breakpoint] = set()
        self._without_network: list[ContainerNode] = []
        self._still: list[ContainerNode] = []
        self._connect_slots = new_connect_slots()

    @property
    @override
    def description(self) -> BrokerDescription:
        return self._description

    @override
    def open_stage(self, scenario_id: str) -> Stage:
        return ControlledStage(self, connect_slots=self._connect_slots)

    @override
    def measured(self) -> Sequence[MeasuredProcess]:
        found = (node.measured(is_paused=node in self._still) for node in self._nodes.brokers.values())
        return [each for each in found if each is not None]

    @override
    def failure(self) -> str | None:
        return self._nodes.failure()

    @override
    async def stop(self) -> None:
        await self._nodes.end()

    def address(self, role: Role) -> tuple[str, int]:
        """Return where the coordinator is reached, or a broker that is none."""
        if role is Role.COORDINATOR:
            return self._coordinator.address
        return self._nodes.brokers[self._clustered.node_in(role)].address

    @property
    def _coordinator(self) -> ContainerNode:
        return self._nodes.brokers[NODE_ID if self._cluster is None else self._cluster.coordinator]

    async def carry_out(self, action: BrokerAction, broker_config: Mapping[str, str]) -> None:
        """Do something to the coordinator's broker, and wait until whoever coordinates then can be asked."""
        node = self._coordinator
        match action:
            case BrokerAction.RESTART:
                await node.stop()
                changed = {**self._after_shutdown(), **broker_config}
                if changed:
                    node.change(changed)
                await self._come_back(node)
            case BrokerAction.KILL:
                await node.kill()
                await self._come_back_or_be_replaced(node)
            case BrokerAction.MOVE:
                await self._clustered.move()
                await self._reach_points()
            case _:
                await self._hinder(node, action)

    async def _hinder(self, node: ContainerNode, action: BrokerAction) -> None:
        """Do something to a broker that lives on."""
        match action:
            case BrokerAction.PAUSE:
                self._still.append(node)
                await node.pause()
            case BrokerAction.RESUME:
                while self._still:
                    await self._still[-1].resume()
                    self._still.pop()
            case BrokerAction.DISCONNECT:
                await self._disconnect(node)
            case BrokerAction.RECONNECT:
                await self._reconnect()
            case _:
                raise AssertionError("a stage does this by itself")

    async def pause_at(self, point: Breakpoint, partitions: frozenset[int] = frozenset()) -> None:
        """Hold every broker: any may come to be the coordinator."""
        self._held.add(point)
        for node in self._nodes.brokers.values():
            await node.pause_at(point, partitions)

    async def release(self, point: Breakpoint) -> None:
        """Let all go on, and hold nobody there any more."""
        self._held.discard(point)
        for node in self._nodes.brokers.values():
            await node.release(point)

    async def _reach_points(self) -> None:
        """Wait until whoever coordinates now is held in its load, if it is to be: it loads a moment later."""
        await self._coordinator.reached(self._held & {Breakpoint.LOADING}, timeout_s=_REACHED_TIMEOUT_S)

    def _after_shutdown(self) -> Mapping[str, str]:
        return after_shutdown(self._description.version) if self._cluster is None else {}

    async def _come_back(self, node: ContainerNode) -> None:
        async with start_slots().taken():
            await node.start()
            async with asking(node) as stage:
                await await_serving(
                    stage,
                    topics=CONFORMANCE_TOPICS,
                    timeout_ms=_COME_BACK_TIMEOUT_MS,
                    failure=self._nodes.failure,
                )
        if self._cluster is not None:
            self._cluster.is_up(node.node_id)
            await self._cluster.taken_over()
        await self._reach_points()

    async def _come_back_or_be_replaced(self, node: ContainerNode) -> None:
        if self._cluster is None:
            node.change(AFTER_KILL)
            await self._come_back(node)
        else:
            await self._cluster.lost(node.node_id)
            await self._reach_points()

    async def _disconnect(self, node: ContainerNode) -> None:
        await node.disconnect()
        self._without_network.append(node)
        await self._clustered.lost(node.node_id)
        await self._reach_points()

    async def _reconnect(self) -> None:
        while self._without_network:
            node = self._without_network.pop()
            await node.reconnect()
            await self._clustered.found(node.node_id)

    @property
    def _clustered(self) -> Cluster:
        if self._cluster is None:
            raise TargetError(f"{self._description.spec} has one broker: nobody else can coordinate")
        return self._cluster

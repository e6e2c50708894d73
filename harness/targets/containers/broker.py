"""A broker, or a cluster of several, in containers of ours: what it is and what can be done to it."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Final

from typing_extensions import override

from harness.targets.base import (
    CONFORMANCE_TOPICS,
    Broker,
    BrokerDescription,
    HoldPoint,
    Lever,
    Role,
    Stage,
    TargetError,
)
from harness.targets.cluster import Cluster
from harness.targets.containers.node import ContainerNode
from harness.targets.containers.nodes import ContainerNodes
from harness.targets.controlled import ControlledStage
from harness.targets.prepare import await_serving
from harness.targets.properties import AFTER_KILL, NODE_ID
from harness.targets.tcp import TcpStage, new_connect_slots

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
        self._held: set[HoldPoint] = set()
        self._connect_slots = new_connect_slots()

    @property
    @override
    def description(self) -> BrokerDescription:
        return self._description

    @override
    def open_stage(self, scenario_id: str) -> Stage:
        return ControlledStage(self, connect_slots=self._connect_slots)

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
        others = self._clustered.others
        if not others:
            raise TargetError(f"{self._description.spec}: no broker runs beside the coordinator")
        return self._nodes.brokers[others[0]].address

    @property
    def _coordinator(self) -> ContainerNode:
        return self._nodes.brokers[NODE_ID if self._cluster is None else self._cluster.coordinator]

    async def pull(self, lever: Lever, broker_config: Mapping[str, str]) -> None:
        """Do something to the coordinator's broker, and wait until whoever coordinates then can be asked."""
        node = self._coordinator
        match lever:
            case Lever.RESTART:
                await node.stop()
                if broker_config:
                    node.change(broker_config)
                await self._come_back(node)
            case Lever.KILL:
                await node.kill()
                await self._come_back_or_be_replaced(node)
            case Lever.MOVE:
                await self._clustered.move()
                await self._reach_points()
            case Lever.PAUSE:
                await node.pause()
            case Lever.RESUME:
                await node.resume()
            case Lever.LENGTHEN:
                raise AssertionError("a stage does this by itself")

    async def hold(self, point: HoldPoint) -> None:
        """Hold every broker: any may come to be the coordinator."""
        self._held.add(point)
        for node in self._nodes.brokers.values():
            await node.hold(point)

    async def release(self, point: HoldPoint) -> None:
        """Let all go on, and hold nobody there any more."""
        self._held.discard(point)
        for node in self._nodes.brokers.values():
            await node.release(point)

    async def _reach_points(self) -> None:
        """Wait until whoever coordinates now is held in its load, if it is to be: it loads a moment later."""
        await self._coordinator.reached(self._held & {HoldPoint.LOADING}, timeout_s=_REACHED_TIMEOUT_S)

    async def _come_back(self, node: ContainerNode) -> None:
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
            self._cluster.is_down(node.node_id)
            await self._cluster.taken_over()
            await self._reach_points()

    @property
    def _clustered(self) -> Cluster:
        if self._cluster is None:
            raise TargetError(f"{self._description.spec} has one broker: nobody else can coordinate")
        return self._cluster

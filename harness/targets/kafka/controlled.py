"""What can be done to brokers of Kafka that are ours, whether they run in JVMs or in containers."""

from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Generic, Protocol, TypeVar

from typing_extensions import override

from harness.capacity import start_slots
from harness.targets.base.cluster import Cluster
from harness.targets.base.controlled import ControlledBroker
from harness.targets.base.interface import Breakpoint, BrokerAction, BrokerDescription, Role, TargetError
from harness.targets.base.measured import MeasuredProcess
from harness.targets.kafka.properties import AFTER_KILL, NODE_ID, after_shutdown

_REACHED_TIMEOUT_S: Final = 30.0


class ControlledNode(Protocol):
    """A broker, whether it runs or not."""

    @property
    def node_id(self) -> int:
        """Its id in the cluster."""

    @property
    def address(self) -> tuple[str, int]:
        """Where it is reached."""

    def measured(self, *, is_paused: bool) -> MeasuredProcess | None:
        """Return its process as this machine can measure it; None while it does not run here."""

    def change(self, properties: Mapping[str, str]) -> None:
        """Have other properties from the next start on."""

    async def start(self) -> None:
        """Start it, for the first time or again."""

    async def stop(self) -> None:
        """Ask it to stop, and wait until it has."""

    async def kill(self) -> None:
        """End it by force."""

    async def pause(self) -> None:
        """Let it stand still, with its connections open."""

    async def resume(self) -> None:
        """Let it go on."""

    async def disconnect(self) -> None:
        """Take its network from it; it runs on."""

    async def reconnect(self) -> None:
        """Give it its network back."""

    async def pause_at(self, point: Breakpoint, partitions: frozenset[int] = frozenset()) -> None:
        """Pause it when it next comes to a point, in some partitions or in any; it need not be running.

        Raises:
            TargetError: it has no such point, or was not started to be paused.
        """

    async def reached(self, points: Collection[Breakpoint], *, timeout_s: float) -> None:
        """Wait until it is paused at each of some points that it was told of."""

    async def resume_from(self, point: Breakpoint) -> None:
        """Let it go on, and no longer pause at this point."""


NodeT = TypeVar("NodeT", bound=ControlledNode)


@dataclass(slots=True, kw_only=True)
class ControlledNodes(Generic[NodeT]):
    """The brokers of a cluster, and what runs beside them, whether their start succeeded or not."""

    brokers: dict[int, NodeT] = field(default_factory=dict)
    """By node id."""

    @abstractmethod
    def failure(self) -> str | None:
        """Return how something ended that nobody stopped, else None."""

    async def stop(self, node: NodeT) -> None:
        """End a broker in the quickest way that keeps its log."""
        await node.stop()

    async def kill(self, node: NodeT) -> None:
        """End a broker by force, and have whoever keeps the cluster miss it."""
        await node.kill()

    @abstractmethod
    async def end(self) -> None:
        """End all and take it away; logs outlive it. Idempotent."""


class KafkaBroker(ControlledBroker, Generic[NodeT]):
    """A broker of Kafka, or a cluster of them."""

    def __init__(
        self, description: BrokerDescription, nodes: ControlledNodes[NodeT], cluster: Cluster | None
    ) -> None:
        super().__init__(description)
        self._nodes = nodes
        self._cluster = cluster
        self._armed: set[Breakpoint] = set()
        self._without_network: list[NodeT] = []
        self._still: list[NodeT] = []

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

    @override
    def address(self, role: Role) -> tuple[str, int]:
        if role is Role.COORDINATOR:
            return self._coordinator.address
        return self._nodes.brokers[self._clustered.node_in(role)].address

    @property
    def _coordinator(self) -> NodeT:
        return self._nodes.brokers[NODE_ID if self._cluster is None else self._cluster.coordinator]

    @property
    def _clustered(self) -> Cluster:
        if self._cluster is None:
            raise TargetError(f"{self._description.spec} has one broker: nobody else can coordinate")
        return self._cluster

    @override
    async def carry_out(self, action: BrokerAction, broker_config: Mapping[str, str]) -> None:
        node = self._coordinator
        match action:
            case BrokerAction.PAUSE:
                self._still.append(node)
                await node.pause()
            case BrokerAction.RESUME:
                while self._still:
                    await self._still[-1].resume()
                    self._still.pop()
            case BrokerAction.RECONNECT:
                while self._without_network:
                    node = self._without_network.pop()
                    await node.reconnect()
                    await self._clustered.found(node.node_id)
            case _:
                await self._make_load(node, action, broker_config)
                # Whoever coordinates now is paused in its load, if it is to be: it loads a moment later.
                armed = self._armed & {Breakpoint.LOADING}
                await self._coordinator.reached(armed, timeout_s=_REACHED_TIMEOUT_S)

    async def _make_load(self, node: NodeT, action: BrokerAction, broker_config: Mapping[str, str]) -> None:
        """Do something after which somebody loads the log, the broker itself or another one."""
        match action:
            case BrokerAction.RESTART:
                await self._nodes.stop(node)
                is_alone = self._cluster is None
                changed = after_shutdown(self._description.version) if is_alone else {}
                await self._come_back(node, {**changed, **broker_config})
            case BrokerAction.KILL:
                await self._nodes.kill(node)
                if self._cluster is None:
                    await self._come_back(node, AFTER_KILL)
                else:
                    await self._cluster.lost(node.node_id)
            case BrokerAction.MOVE:
                await self._clustered.move()
            case BrokerAction.DISCONNECT:
                await node.disconnect()
                self._without_network.append(node)
                await self._clustered.lost(node.node_id)
            case _:
                raise AssertionError("a broker session does this by itself")

    async def _come_back(self, node: NodeT, changed: Mapping[str, str]) -> None:
        if changed:
            node.change(changed)
        async with start_slots().taken():
            await node.start()
            await self._await_serving(node)
        if self._cluster is not None:
            self._cluster.is_up(node.node_id)
            await self._coordinate_again(node, self._cluster)

    @abstractmethod
    async def _await_serving(self, node: NodeT) -> None:
        """Wait until a broker that was started serves groups."""

    async def _coordinate_again(self, node: NodeT, cluster: Cluster) -> None:  # noqa: ARG002 - see local brokers
        """Wait until somebody coordinates, after others may have while a broker was started again."""
        await cluster.taken_over()

    @override
    async def pause_at(self, point: Breakpoint, partitions: frozenset[int] = frozenset()) -> None:
        # Any of them may come to be the coordinator.
        self._armed.add(point)
        for node in self._nodes.brokers.values():
            await node.pause_at(point, partitions)

    @override
    async def resume_from(self, point: Breakpoint) -> None:
        self._armed.discard(point)
        for node in self._nodes.brokers.values():
            await node.resume_from(point)

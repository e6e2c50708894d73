"""Actions on Kafka brokers of the harness, whether they run in JVMs or in containers."""

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
        """The broker's id in the cluster."""

    @property
    def address(self) -> tuple[str, int]:
        """The broker's host and port."""

    def measured(self, *, is_paused: bool) -> MeasuredProcess | None:
        """Return its process for measurements on this machine; None while it does not run here."""

    def change(self, properties: Mapping[str, str]) -> None:
        """Change properties from the next start on."""

    async def start(self) -> None:
        """Start the broker, for the first time or again."""

    async def stop(self) -> None:
        """Shut the broker down, and wait until it has ended."""

    async def kill(self) -> None:
        """Kill the broker."""

    async def pause(self) -> None:
        """Pause the broker's process, with its connections open."""

    async def resume(self) -> None:
        """Resume the broker's process."""

    async def disconnect(self) -> None:
        """Cut the broker off from the network; it continues to run."""

    async def reconnect(self) -> None:
        """Reconnect the broker to the network."""

    async def pause_at(self, point: Breakpoint, partitions: frozenset[int] = frozenset()) -> None:
        """Pause the broker when it next reaches a breakpoint, in any or some partitions; it may be down.

        Raises:
            TargetError: it has no such breakpoint, or was not started with a debug agent.
        """

    async def reached(self, points: Collection[Breakpoint], *, timeout_s: float) -> None:
        """Wait until the broker is paused at each of some breakpoints that are set."""

    async def resume_from(self, point: Breakpoint) -> None:
        """Resume the broker, and stop pausing at this breakpoint."""


NodeT = TypeVar("NodeT", bound=ControlledNode)


@dataclass(slots=True, kw_only=True)
class ControlledNodes(Generic[NodeT]):
    """The brokers of a cluster and the processes beside them, whether their start succeeded or not."""

    brokers: dict[int, NodeT] = field(default_factory=dict)
    """By node id."""

    @abstractmethod
    def failure(self) -> str | None:
        """Return how a process ended that nobody stopped, or None."""

    async def stop(self, node: NodeT) -> None:
        """End a broker in the fastest way that preserves its log."""
        await node.stop()

    async def kill(self, node: NodeT) -> None:
        """Kill a broker, and make the cluster's controller or ZooKeeper detect its loss."""
        await node.kill()

    @abstractmethod
    async def end(self) -> None:
        """End all processes and remove their storage; logs remain. Idempotent."""


class KafkaBroker(ControlledBroker, Generic[NodeT]):
    """A broker of Kafka, or a cluster of brokers."""

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
                # The current coordinator loads a moment later, and must be paused in its load if requested.
                armed = self._armed & {Breakpoint.LOADING}
                await self._coordinator.reached(armed, timeout_s=_REACHED_TIMEOUT_S)

    async def _make_load(self, node: NodeT, action: BrokerAction, broker_config: Mapping[str, str]) -> None:
        """Carry out an action after which a broker loads the log, either the same one or another."""
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
            self._cluster.came_up(node.node_id)
            await self._coordinate_again(node, self._cluster)

    @abstractmethod
    async def _await_serving(self, node: NodeT) -> None:
        """Wait until a restarted broker serves groups."""

    async def _coordinate_again(self, node: NodeT, cluster: Cluster) -> None:  # noqa: ARG002 - see local brokers
        """Wait until a broker coordinates, since others may have taken over during a restart."""
        await cluster.taken_over()

    @override
    async def pause_at(self, point: Breakpoint, partitions: frozenset[int] = frozenset()) -> None:
        # Any of the brokers may become the coordinator.
        self._armed.add(point)
        for node in self._nodes.brokers.values():
            await node.pause_at(point, partitions)

    @override
    async def resume_from(self, point: Breakpoint) -> None:
        self._armed.discard(point)
        for node in self._nodes.brokers.values():
            await node.resume_from(point)

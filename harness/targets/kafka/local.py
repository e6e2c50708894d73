"""Brokers in local JVMs, each with its own storage, killed when they are no longer needed.

A single broker is its own controller; before 3.3 a ZooKeeper from the same jars runs beside it. A cluster has
a separate KRaft controller or ZooKeeper. An open port proves nothing: the process must be alive, and the
broker that answers must belong to the cluster whose id is in the broker's own directory.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from typing_extensions import override

from harness.capacity import start_slots
from harness.targets.base.cluster import Cluster, settled_cluster
from harness.targets.base.conformance import CONFORMANCE_TOPICS
from harness.targets.base.interface import (
    Breakpoint,
    BrokerDescription,
    Capability,
    Progress,
    TargetError,
)
from harness.targets.base.prepare import Prepared, await_serving, prepare
from harness.targets.base.tcp import asking
from harness.targets.debugger.breakpoints import code_points, load_order
from harness.targets.jars.resolved import KafkaJars
from harness.targets.kafka.class_archive import with_class_archive
from harness.targets.kafka.controlled import KafkaBroker
from harness.targets.kafka.local_nodes import LocalNodes, NodesPlan, start_nodes
from harness.targets.kafka.network import CAN_TELL_PROCESSES
from harness.targets.kafka.node import Node
from harness.targets.kafka.properties import (
    HOST,
    NODE_ID,
    PAUSED_THREADS,
    chooses_features,
    coordinator_properties,
    uses_kraft,
)
from harness.targets.kafka.storage import cluster_id_of
from harness.targets.runtimes.java import JavaUse, java_for

START_TIMEOUT_MS: Final = 60_000.0
_START_TRIES: Final = 3
_MEND_TIMEOUT_MS: Final = 180_000.0
"""A killed broker loads its logs first, and waits until its former session has expired."""
_OF_ALL: Final = frozenset(
    {
        Capability.BROKER_CONFIG,
        Capability.RESTART,
        Capability.KILL,
        Capability.PAUSE,
        Capability.LONG_LOG,
        Capability.WRITE_LOG,
    }
)
_OF_ONE: Final = frozenset({Capability.SOLE_LEADER})
_OF_SEVERAL: Final = frozenset({Capability.CLUSTER, *({Capability.DISCONNECT} if CAN_TELL_PROCESSES else ())})
_REACHED_TIMEOUT_S: Final = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalPlan:
    """The parameters of a local broker or cluster."""

    spec: str
    profile: str
    implementation: str
    jars: KafkaJars
    broker_config: Mapping[str, str]
    """The properties that the scenario sets."""
    start_timeout_ms: float
    java_coordinator: bool = False
    """Whether the Java coordinator runs where a release has two."""
    breakpoints: frozenset[Breakpoint] = field(default=frozenset())
    """Breakpoints at which it will be paused."""
    node_count: int = 1
    has_reserved_ports: bool = False
    """Whether its brokers will be disconnected from the network."""


def local_capabilities(version: str, *, java_coordinator: bool, node_count: int = 1) -> frozenset[Capability]:
    """Return the capabilities of local brokers of a version; an unknown one counts as the newest."""
    pauses = {point.needs for point in code_points(version, java_coordinator=java_coordinator)}
    pauses |= load_order(version, java_coordinator=java_coordinator)
    pauses |= {Capability.FEATURES} if chooses_features(version) else set()
    if node_count > 1:
        return _OF_ALL | pauses | _OF_SEVERAL
    asks_who = frozenset({Capability.PRINCIPALS} if uses_kraft(version) or chooses_features(version) else ())
    return _OF_ALL | pauses | _OF_ONE | asks_who


class LocalBroker(KafkaBroker[Node]):
    """A broker or a cluster, with the processes that it needs, in local JVMs of the harness."""

    _nodes: LocalNodes

    @property
    def pids(self) -> tuple[int, ...]:
        """The process ids of its JVMs, brokers last."""
        return self._nodes.pids

    @property
    def nodes(self) -> tuple[Node, ...]:
        """Its brokers."""
        return tuple(self._nodes.brokers.values())

    @override
    def principals_address(self) -> tuple[str, int]:
        address = self._nodes.brokers[NODE_ID].principals_address
        return super().principals_address() if address is None else address

    @override
    async def mend(self) -> None:
        for node in self._nodes.brokers.values():
            if self._cluster is not None and not node.is_up:
                async with start_slots().taken():
                    await node.start()
                    await self._await_serving(node, timeout_ms=_MEND_TIMEOUT_MS)
                await self._cluster.found(node.node_id)

    @override
    async def _await_serving(self, node: Node, *, timeout_ms: float = START_TIMEOUT_MS) -> None:
        async with asking(*node.address) as session:
            await await_serving(
                session,
                topics=CONFORMANCE_TOPICS,
                timeout_ms=timeout_ms,
                failure=self._nodes.failure,
                signs=self._nodes.signs_of_work,
            )

    @override
    async def _coordinate_again(self, node: Node, cluster: Cluster) -> None:
        # The restarted broker becomes the coordinator again, like a single broker.
        await cluster.move(to=node.node_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Started:
    nodes: LocalNodes
    cluster: Cluster | None
    prepared: Prepared


async def start_local(plan: LocalPlan, *, directory: Path, progress: Progress) -> LocalBroker:
    """Start a local broker or cluster, and wait until it is ready; after a failure nothing is left running.

    Raises:
        TargetError: it does not get ready; with the end of its log.
    """
    java = java_for(JavaUse.DEBUGGED_BROKER if plan.breakpoints else JavaUse.BROKER)

    async def train(jars: KafkaJars, subdirectory: Path) -> None:
        training = replace(
            plan, jars=jars, broker_config={}, breakpoints=frozenset(), node_count=1, has_reserved_ports=False
        )
        nodes = (await _start(training, java, subdirectory, lambda _: None)).nodes
        try:
            await nodes.brokers[NODE_ID].stop()
        finally:
            await nodes.end()

    jars = await with_class_archive(plan.jars, java, directory=directory, train=train, progress=progress)
    plan = replace(plan, jars=jars)
    started = await _start(plan, java, directory, progress)
    return LocalBroker(_description(plan, started), started.nodes, started.cluster)


async def _start(plan: LocalPlan, java: Path, directory: Path, progress: Progress) -> _Started:
    """Start and prepare the brokers; use other ports if another process took one."""
    for attempt in range(1, _START_TRIES + 1):
        nodes = LocalNodes(directory=directory, storage=directory / f"storage-{attempt}")
        try:
            return await _start_once(plan, java, nodes, progress)
        except TargetError:
            was_port_lost = nodes.lost_a_port()
            await nodes.end()
            if not was_port_lost or attempt == _START_TRIES:
                raise
            progress("a port was taken by another process; trying others")
        except BaseException:
            await nodes.end()
            raise
    raise AssertionError("the last try returns or raises")


async def _start_once(plan: LocalPlan, java: Path, nodes: LocalNodes, progress: Progress) -> _Started:
    points = code_points(plan.jars.version, java_coordinator=plan.java_coordinator)
    paused_threads = PAUSED_THREADS if Breakpoint.DEAD in plan.breakpoints else {}
    nodes_plan = NodesPlan(
        java=java,
        jars=plan.jars,
        broker_config={**paused_threads, **plan.broker_config},
        node_count=plan.node_count,
        code_points={point: points[point] for point in plan.breakpoints & points.keys()},
        has_reserved_ports=plan.has_reserved_ports,
    )
    async with start_slots().taken(_process_count(plan)):
        await start_nodes(nodes, nodes_plan, progress)
        return await _made_ready(plan, nodes)


def _process_count(plan: LocalPlan) -> int:
    has_keeper = plan.node_count > 1 or not uses_kraft(plan.jars.version)
    return plan.node_count + has_keeper


async def _made_ready(plan: LocalPlan, nodes: LocalNodes) -> _Started:
    try:
        cluster = await settled_cluster(
            {node_id: node.address for node_id, node in nodes.brokers.items()},
            failure=nodes.failure,
            timeout_ms=plan.start_timeout_ms,
        )
        async with asking(*nodes.brokers[NODE_ID].address) as session:
            prepared = await prepare(
                session,
                topics=CONFORMANCE_TOPICS,
                timeout_ms=plan.start_timeout_ms,
                failure=nodes.failure,
                signs=nodes.signs_of_work,
                is_ours=True,
            )
    except TargetError as error:
        raise TargetError(f"{plan.spec}: {error} (its whole log: {nodes.log})") from error
    _require_own(plan, nodes, prepared)
    return _Started(nodes=nodes, cluster=cluster, prepared=prepared)


def _require_own(plan: LocalPlan, nodes: LocalNodes, prepared: Prepared) -> None:
    own = cluster_id_of(nodes.storage_of(NODE_ID))
    if prepared.cluster_id != own:
        raise TargetError(
            f"{plan.spec}: on {HOST}:{nodes.brokers[NODE_ID].address[1]} answers a broker of cluster "
            f"{prepared.cluster_id}, not ours ({own}): another program took the port"
        )


def _description(plan: LocalPlan, started: _Started) -> BrokerDescription:
    addresses = [node.address for node in started.nodes.brokers.values()]
    return BrokerDescription(
        spec=plan.spec,
        profile=plan.profile,
        implementation=plan.implementation,
        bootstrap=",".join(f"{host}:{port}" for host, port in addresses),
        broker_config=coordinator_properties(plan.jars.version, plan.broker_config),
        api_ranges=started.prepared.api_ranges,
        notes=(*plan.jars.notes, *started.prepared.notes),
        version=plan.jars.version,
    )

"""The processes and directories of one local broker or cluster, whether its start succeeded or not.

Releases that need a ZooKeeper get one from the same jars.
"""

import asyncio
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from typing_extensions import override

from harness.targets.base.conformance import AUTHORIZER
from harness.targets.base.interface import Breakpoint, Progress, TargetError
from harness.targets.base.ports import free_port
from harness.targets.base.program import Program
from harness.targets.debugger.jdwp import CodePoint
from harness.targets.jars.resolved import KafkaJars
from harness.targets.kafka.controlled import ControlledNodes
from harness.targets.kafka.network import LoopbackNetwork
from harness.targets.kafka.node import BROKER_MAIN, Node, NodePlan, java_command, start_jvm
from harness.targets.kafka.properties import (
    CONTROLLER_ID,
    HOST,
    NODE_ID,
    Ports,
    broker_properties,
    controller_properties,
    features_of,
    uses_kraft,
    zookeeper_properties,
)
from harness.targets.kafka.storage import format_storage

_SERVER: Final = "org.apache.zookeeper.server.ZooKeeperServerMain"
_SHELL: Final = "org.apache.zookeeper.ZooKeeperMain"
_SHELL_TIMEOUT_S: Final = 20.0


class ZooKeeper:
    """A running ZooKeeper with its own storage."""

    def __init__(self, java: Path, jars: KafkaJars, *, port: int, storage: Path, directory: Path) -> None:
        self._java = java
        self._jars = jars
        self._port = port
        properties = zookeeper_properties(port=port, storage=storage)
        self.program: Program = start_jvm(
            java, jars, _SERVER, properties, directory=directory, name="zookeeper"
        )

    async def forget(self, node_id: int) -> None:
        """Delete a killed broker's registration, which ZooKeeper would keep until the broker's session ends.

        The controller's registration is deleted too, whichever broker has it: brokers elect another at once.

        Raises:
            TargetError: ZooKeeper's shell does not do it.
        """
        command = java_command(self._java, self._jars, _SHELL, "-server", f"{HOST}:{self._port}")
        shell = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        orders = f"delete /brokers/ids/{node_id}\ndelete /controller\nquit\n"
        try:
            async with asyncio.timeout(_SHELL_TIMEOUT_S):
                await shell.communicate(orders.encode())
        except TimeoutError:
            shell.kill()
            await shell.wait()
            raise TargetError(f"ZooKeeper's shell did not forget broker {node_id} in time") from None


_PORT_TAKEN: Final = ("Address already in use", "BindException")


@dataclass(slots=True, kw_only=True)
class LocalNodes(ControlledNodes[Node]):
    """The processes, with the directories of their data and logs."""

    directory: Path
    storage: Path
    zookeeper: ZooKeeper | None = None
    beside: list[Program] = field(default_factory=list)
    """The processes beside the brokers."""
    network: LoopbackNetwork | None = None
    """Set if brokers can be disconnected."""

    @property
    def pids(self) -> tuple[int, ...]:
        """The process ids, brokers last."""
        brokers = [node.pid for node in self.brokers.values() if node.pid is not None]
        return (*(program.pid for program in self.beside), *brokers)

    @property
    def log(self) -> Path:
        """The file with the first broker's whole output."""
        return self.directory / f"{_name(NODE_ID, len(self.brokers))}.log"

    def storage_of(self, node_id: int) -> Path:
        """Return the directory of a node's data."""
        return self.storage / f"node-{node_id}"

    @override
    def failure(self) -> str | None:
        failures = (*(p.failure() for p in self.beside), *(n.failure() for n in self.brokers.values()))
        return next((lost for lost in failures if lost is not None), None)

    def signs_of_work(self) -> tuple[int, ...]:
        """Return figures that change while any of the processes works."""
        running = [*self.beside, *(node.program for node in self.brokers.values() if node.is_up)]
        return tuple(sign for program in running for sign in program.signs_of_work())

    def lost_a_port(self) -> bool:
        """Return whether a process ended because another process uses its port."""
        running = [*self.beside, *(node.program for node in self.brokers.values() if node.is_up)]
        return any(
            program.exit_status is not None
            and any(sign in program.log.read_text(encoding="utf-8", errors="replace") for sign in _PORT_TAKEN)
            for program in running
        )

    @override
    async def stop(self, node: Node) -> None:
        # A clean shutdown of a broker with a ZooKeeper takes five seconds, so it is killed. Whatever it
        # acknowledged has been passed to the operating system.
        if self.zookeeper is None:
            await node.stop()
        else:
            await self.kill(node)

    @override
    async def kill(self, node: Node) -> None:
        await node.kill()
        if self.zookeeper is not None:
            await self.zookeeper.forget(node.node_id)

    @override
    async def end(self) -> None:
        for node in self.brokers.values():
            await node.kill()
        for program in reversed(self.beside):
            program.kill()
        if self.network is not None:
            await self.network.close()
        # This deletes hundreds of files, while the event loop serves others.
        await asyncio.to_thread(shutil.rmtree, self.storage, ignore_errors=True)


def _name(node_id: int, node_count: int) -> str:
    return "server" if node_count == 1 else f"server-{node_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodesPlan:
    """The parameters of the JVMs of a broker or cluster."""

    java: Path
    jars: KafkaJars
    broker_config: Mapping[str, str]
    node_count: int
    code_points: Mapping[Breakpoint, CodePoint]
    """Where the brokers may be paused."""
    has_reserved_ports: bool = False
    """Whether brokers can be disconnected."""


async def start_nodes(nodes: LocalNodes, plan: NodesPlan, progress: Progress) -> None:
    """Start the JVMs of a broker or cluster, and the processes that they need."""
    nodes.storage.mkdir()
    keeper_port = free_port()
    ids = range(NODE_ID, NODE_ID + plan.node_count)
    if uses_kraft(plan.jars.version):
        with_controller = [*ids, CONTROLLER_ID] if plan.node_count > 1 else ids
        await format_storage(
            plan.java,
            plan.jars,
            storages={node_id: nodes.storage_of(node_id) for node_id in with_controller},
            features=features_of(plan.broker_config),
            directory=nodes.directory,
            progress=progress,
        )
    if plan.has_reserved_ports:
        nodes.network = LoopbackNetwork(lambda: _running_pids(nodes))
    keeper_reserved_port = await _reserved_port(nodes, CONTROLLER_ID, keeper_port)
    _start_keeper(nodes, plan, keeper_port, keeper_reserved_port)
    for node_id in ids:
        port = free_port()
        reserved_port = await _reserved_port(nodes, node_id, port)
        ports = Ports(
            broker=port,
            controller=keeper_reserved_port or keeper_port,
            reserved_port=reserved_port,
            principals=free_port() if AUTHORIZER in plan.broker_config else None,
        )
        nodes.brokers[node_id] = _node(nodes, plan, node_id, ports)
    progress(f"starting on {', '.join(f'{HOST}:{node.address[1]}' for node in nodes.brokers.values())}")
    await asyncio.gather(*(node.start() for node in nodes.brokers.values()))


def _running_pids(nodes: LocalNodes) -> Mapping[int, int]:
    return {node.program.pid: node.node_id for node in nodes.brokers.values() if node.is_up}


async def _reserved_port(nodes: LocalNodes, node_id: int, port: int) -> int | None:
    return None if nodes.network is None else await nodes.network.open_port(node_id, port)


def _start_keeper(nodes: LocalNodes, plan: NodesPlan, port: int, reserved_port: int | None) -> None:
    """Start the controller or ZooKeeper, where no broker is its own controller."""
    if not uses_kraft(plan.jars.version):
        nodes.zookeeper = ZooKeeper(
            plan.java, plan.jars, port=port, storage=nodes.storage / "zookeeper", directory=nodes.directory
        )
        nodes.beside.append(nodes.zookeeper.program)
    elif plan.node_count > 1:
        properties = controller_properties(
            plan.jars.version,
            port=port,
            storage=nodes.storage_of(CONTROLLER_ID),
            node_count=plan.node_count,
            reserved_port=reserved_port,
        )
        controller = start_jvm(
            plan.java, plan.jars, BROKER_MAIN, properties, directory=nodes.directory, name="controller"
        )
        nodes.beside.append(controller)


def _node(nodes: LocalNodes, plan: NodesPlan, node_id: int, ports: Ports) -> Node:
    properties = broker_properties(
        plan.jars.version,
        plan.broker_config,
        ports=ports,
        storage=nodes.storage_of(node_id),
        node_id=node_id,
        node_count=plan.node_count,
    )
    return Node(
        NodePlan(
            node_id=node_id,
            name=_name(node_id, plan.node_count),
            java=plan.java,
            jars=plan.jars,
            properties=properties,
            port=ports.reserved_port or ports.broker,
            principals_port=ports.principals,
            directory=nodes.directory,
            code_points=plan.code_points,
            network=nodes.network,
        )
    )

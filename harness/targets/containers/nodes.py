"""The containers of one broker or cluster, and their network, whether their start succeeded or not."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from testcontainers.core.network import Network
from typing_extensions import override

from harness.targets.base.interface import Breakpoint
from harness.targets.base.ports import free_port
from harness.targets.containers.engine import ENGINE_ERRORS, labels_for
from harness.targets.containers.image import FoundImage, ImageName
from harness.targets.containers.interface import Membership
from harness.targets.containers.node import ContainerNode, ContainerPlan, engine_telling, finished
from harness.targets.debugger.jdwp import CodePoint
from harness.targets.kafka.controlled import ControlledNodes
from harness.targets.kafka.properties import CONTROLLER_ID, NODE_ID
from harness.targets.kafka.storage import new_cluster_id


@dataclass(slots=True, kw_only=True)
class ContainerNodes(ControlledNodes[ContainerNode]):
    """The containers and the network that were created in the engine."""

    controller: ContainerNode | None = None
    network: Network | None = None
    cluster_id: str = field(default_factory=lambda: f"A{new_cluster_id()[1:]}")
    """Never begins with a dash, which a script would parse as an option."""

    @property
    def all(self) -> tuple[ContainerNode, ...]:
        """The brokers, and the controller if there is one."""
        return (*self.brokers.values(), *(() if self.controller is None else (self.controller,)))

    @override
    def failure(self) -> str | None:
        return next((lost for node in self.all if (lost := node.failure()) is not None), None)

    @override
    async def end(self) -> None:
        await asyncio.gather(*(node.remove() for node in self.all))
        network, self.network = self.network, None
        if network is not None:
            await finished(asyncio.to_thread(_remove_network, network))


async def start_nodes(
    nodes: ContainerNodes,
    *,
    spec: str,
    image: ImageName,
    found: FoundImage,
    broker_config: Mapping[str, str],
    node_count: int,
    code_points: Mapping[Breakpoint, CodePoint],
    directory: Path,
) -> None:
    """Start the containers of a broker or cluster, all at once."""
    labels = labels_for(spec)
    if node_count > 1:
        network = Network(docker_network_kw={"labels": labels})
        nodes.network = network
        with engine_telling("making a network"):
            await finished(asyncio.to_thread(network.create))

    def planned(node_id: int, port: int | None, name: str) -> ContainerNode:
        membership = Membership(
            node_id=node_id,
            broker_count=node_count,
            port=port,
            cluster_id=nodes.cluster_id,
            broker_config=broker_config,
        )
        return ContainerNode(
            ContainerPlan(
                image=image,
                start_image=found.name,
                membership=membership,
                labels=labels,
                log=directory / f"{name}.log",
                network=nodes.network,
                code_points=code_points if port is not None else {},
            )
        )

    for node_id in range(NODE_ID, NODE_ID + node_count):
        name = "container" if node_count == 1 else f"container-{node_id}"
        nodes.brokers[node_id] = planned(node_id, free_port(), name)
    if node_count > 1:
        nodes.controller = planned(CONTROLLER_ID, None, "controller")
    # All starts are awaited, even after a failure or a cancellation: created containers must be removed.
    for result in await asyncio.gather(*(node.start() for node in nodes.all), return_exceptions=True):
        if result is not None:
            raise result


def _remove_network(network: Network) -> None:
    # The reaper tries again if the engine still has a container in the network.
    with suppress(*ENGINE_ERRORS):
        network.remove()

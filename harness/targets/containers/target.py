"""`container:IMAGE`: a broker, or a cluster of brokers, in containers of an image as users deploy it."""

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Unpack

from typing_extensions import override

from harness.capacity import start_slots
from harness.targets.base.cluster import settled_cluster
from harness.targets.base.conformance import CONFORMANCE_CONFIG, CONFORMANCE_TOPICS
from harness.targets.base.guess import guess_in_words, guess_profile
from harness.targets.base.interface import (
    Breakpoint,
    Broker,
    BrokerDescription,
    Capability,
    Launch,
    Progress,
    Target,
    TargetError,
)
from harness.targets.base.prepare import Prepared, await_serving, prepare
from harness.targets.base.tcp import asking
from harness.targets.containers.engine import remove_leftovers
from harness.targets.containers.image import FoundImage, ImageName, find_image
from harness.targets.containers.node import ContainerNode, PortTakenError
from harness.targets.containers.nodes import ContainerNodes, start_nodes
from harness.targets.debugger.breakpoints import code_points, load_order
from harness.targets.kafka.controlled import KafkaBroker
from harness.targets.kafka.properties import HOST, NODE_ID, coordinator_properties, uses_kraft

_COME_BACK_TIMEOUT_MS: Final = 120_000.0


class ContainerBroker(KafkaBroker[ContainerNode]):
    """A broker, or a cluster of brokers, in containers that the harness started."""

    @override
    async def _await_serving(self, node: ContainerNode) -> None:
        async with asking(*node.address) as session:
            await await_serving(
                session,
                topics=CONFORMANCE_TOPICS,
                timeout_ms=_COME_BACK_TIMEOUT_MS,
                failure=self._nodes.failure,
            )


CONTAINER_START_TIMEOUT_MS: Final = 120_000.0
_START_TRIES: Final = 3


def container_capabilities(image: ImageName, *, node_count: int = 1) -> frozenset[Capability]:
    """Return the capabilities of the brokers in an image's containers."""
    version = image.kafka_version
    if version is None:
        return frozenset({Capability.PAUSE, Capability.RESTART, Capability.SOLE_LEADER})
    pauses = {point.needs for point in code_points(version, java_coordinator=False)}
    alone = {
        Capability.BROKER_CONFIG,
        Capability.LONG_LOG,
        Capability.WRITE_LOG,
        Capability.PAUSE,
        Capability.RESTART,
        *pauses,
        *load_order(version, java_coordinator=False),
    }
    if node_count == 1:
        alone.add(Capability.SOLE_LEADER)
    if not uses_kraft(version):
        # ZooKeeper ends with the broker, and registers a killed broker for longer than a scenario waits.
        return frozenset(alone)
    several = {Capability.CLUSTER, Capability.DISCONNECT} if node_count > 1 else frozenset()
    return frozenset({*alone, Capability.KILL, *several})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """The parameters of one start."""

    found: FoundImage
    broker_config: Mapping[str, str]
    directory: Path
    breakpoints: frozenset[Breakpoint]


class ContainerTarget(Target):
    """Brokers in containers of one image."""

    def __init__(
        self,
        image: ImageName,
        *,
        profile: str | None = None,
        start_timeout_ms: float = CONTAINER_START_TIMEOUT_MS,
        node_count: int = 1,
    ) -> None:
        if node_count > 1 and (image.kafka_version is None or not uses_kraft(image.kafka_version)):
            raise TargetError(f"no clusters are made of {image}: only of Kafka from 3.3 on, with KRaft")
        self._image = image
        self._profile = profile
        self._start_timeout_ms = start_timeout_ms
        self._node_count = node_count
        self._finding = asyncio.Lock()
        self._found: FoundImage | None = None

    @property
    @override
    def spec(self) -> str:
        return f"container:{self._image}{f'*{self._node_count}' if self._node_count > 1 else ''}"

    @property
    @override
    def name(self) -> str:
        brokers = f"-x{self._node_count}" if self._node_count > 1 else ""
        return f"container-{re.sub(r'[^A-Za-z0-9.]+', '-', str(self._image))}{brokers}"

    @property
    @override
    def capabilities(self) -> frozenset[Capability]:
        return container_capabilities(self._image, node_count=self._node_count)

    @property
    @override
    def foreseen_profile(self) -> str | None:
        return self._profile or self._image.kafka_version

    @property
    @override
    def process_count(self) -> int:
        return self._node_count if self._node_count == 1 else self._node_count + 1

    @override
    async def start(self, **launch: Unpack[Launch]) -> Broker:
        if launch["broker_config"] and Capability.BROKER_CONFIG not in self.capabilities:
            raise TargetError(f"{self.spec} cannot be given Kafka's properties")
        try:
            wanted = _Wanted(
                found=await self._find(launch["progress"]),
                broker_config=launch["broker_config"],
                directory=launch["directory"],
                breakpoints=frozenset(launch.get("breakpoints", ())),
            )
            return await self._start(wanted, launch["progress"])
        except TargetError as error:
            raise TargetError(f"{self.spec}: {error}") from error

    async def _find(self, progress: Progress) -> FoundImage:
        """Return the image, which is only looked up once for all brokers of a run."""
        async with self._finding:
            if self._found is None:
                for leftover in await asyncio.to_thread(remove_leftovers):
                    progress(f"removed {leftover}, left by a run that was killed")
                self._found = await asyncio.to_thread(find_image, self._image, progress)
            return self._found

    async def _start(self, wanted: _Wanted, progress: Progress) -> ContainerBroker:
        """Start the containers and prepare the broker; use other ports if another program took one."""
        for attempt in range(1, _START_TRIES + 1):
            nodes = ContainerNodes()
            count = "a container" if self._node_count == 1 else f"{self._node_count} containers"
            progress(f"starting {count} of {wanted.found.name}")
            try:
                return await self._start_once(wanted, nodes)
            except PortTakenError:
                await nodes.end()
                if attempt == _START_TRIES:
                    raise
                progress("a port was taken by another program; trying others")
            except BaseException:
                await nodes.end()
                raise
        raise AssertionError("the last try returns or raises")

    async def _start_once(self, wanted: _Wanted, nodes: ContainerNodes) -> ContainerBroker:
        async with start_slots().taken(self.process_count):
            return await self._made_ready(wanted, nodes)

    async def _made_ready(self, wanted: _Wanted, nodes: ContainerNodes) -> ContainerBroker:
        version = self._image.kafka_version or ""
        points = code_points(version, java_coordinator=False)
        await start_nodes(
            nodes,
            spec=self.spec,
            image=self._image,
            found=wanted.found,
            broker_config=wanted.broker_config,
            node_count=self._node_count,
            code_points={point: points[point] for point in wanted.breakpoints & points.keys()},
            directory=wanted.directory,
        )
        cluster = await settled_cluster(
            {node_id: node.address for node_id, node in nodes.brokers.items()},
            failure=nodes.failure,
            timeout_ms=self._start_timeout_ms,
        )
        first = nodes.brokers[NODE_ID]
        async with asking(*first.address) as session:
            prepared = await prepare(
                session,
                topics=CONFORMANCE_TOPICS,
                timeout_ms=self._start_timeout_ms,
                failure=nodes.failure,
                is_ours=True,
                may_lack_topics=version is None,
            )
        # Some other program may answer on a published port.
        if version and uses_kraft(version) and prepared.cluster_id != nodes.cluster_id:
            raise TargetError(f"on {HOST}:{first.address[1]} answers cluster {prepared.cluster_id}, not ours")
        return ContainerBroker(self._description(wanted, nodes, prepared), nodes, cluster)

    def _description(self, wanted: _Wanted, nodes: ContainerNodes, prepared: Prepared) -> BrokerDescription:
        version = self._image.kafka_version
        profile = self._profile or version or guess_profile(prepared.api_ranges)
        is_guess = version is None and self._profile is None
        guess = (guess_in_words(profile, prepared.api_ranges),) if is_guess else ()
        where = "container" if self._node_count == 1 else f"{self._node_count} containers"
        config = coordinator_properties(version, wanted.broker_config) if version else CONFORMANCE_CONFIG
        return BrokerDescription(
            spec=self.spec,
            profile=profile,
            implementation=f"{self._image.make.value} {self._image.tag} ({where} of {wanted.found.name})",
            bootstrap=",".join(f"{HOST}:{node.address[1]}" for node in nodes.brokers.values()),
            broker_config=config,
            api_ranges=prepared.api_ranges,
            notes=(*wanted.found.notes, *guess, *prepared.notes),
            lacking_topics=prepared.lacking,
            version=version,
            image=wanted.found.digest,
        )

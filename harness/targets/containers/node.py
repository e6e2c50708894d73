"""One broker's container: created, started, stopped, restarted on the same volumes, and always removed."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, TypeVar, cast

from testcontainers.core.container import DockerContainer
from testcontainers.core.network import Network
from typing_extensions import override

from harness.targets.base.interface import Breakpoint, TargetError
from harness.targets.base.measured import MeasuredProcess, is_of_cgroup
from harness.targets.base.ports import free_port
from harness.targets.containers.debug import DebugAgent
from harness.targets.containers.engine import ENGINE_ERRORS, engine, reported
from harness.targets.containers.image import ImageName
from harness.targets.containers.interface import Membership, recipe
from harness.targets.containers.log import LogFollower
from harness.targets.containers.sdk import Container
from harness.targets.containers.sdk import Network as EngineNetwork
from harness.targets.debugger.jdwp import CodePoint
from harness.targets.kafka.controlled import ControlledNode
from harness.targets.kafka.properties import HOST

T = TypeVar("T")

STOP_GRACE_S: Final = 20
"""How long a broker may take for a clean stop before the engine kills it."""
_ENGINE_TIMEOUT_S: Final = 120
_ID_LENGTH: Final = 12
"""The length to which the engine shortens ids."""
_PORT_TAKEN: Final = ("already allocated", "address already in use")


class PortTakenError(TargetError):
    """Another program took the port before it could be published."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerPlan:
    """Everything that is needed to create a container."""

    image: ImageName
    """The requested image, which decides how the container is configured."""
    start_image: str
    """The image to start: the requested one, or its replacement."""
    membership: Membership
    labels: Mapping[str, str]
    log: Path
    network: Network | None = None
    code_points: Mapping[Breakpoint, CodePoint] = field(default_factory=dict)
    """Where the broker may be paused; if empty, its JVM has no debug agent."""


class ContainerNode(ControlledNode):
    """A broker in a container, whether it runs or not."""

    def __init__(self, plan: ContainerPlan) -> None:
        self._plan = plan
        self._agent = DebugAgent(free_port(), plan.code_points) if plan.code_points else None
        self._jvm_options = ""
        self._is_changed = False
        self._made: DockerContainer | None = None
        self._follower: LogFollower | None = None
        self._is_up = False
        self._pid: int | None = None

    @property
    @override
    def node_id(self) -> int:
        return self._plan.membership.node_id

    @property
    @override
    def address(self) -> tuple[str, int]:
        port = self._plan.membership.port
        if port is None:
            raise TargetError(f"{self.name} is reached by brokers alone")
        return HOST, port

    @property
    def is_up(self) -> bool:
        """Whether the container was started and has not been stopped since."""
        return self._is_up

    @property
    def name(self) -> str:
        """The name of its image and, once it is created, its id."""
        made = "" if self._made is None else f" {self._container.id[:_ID_LENGTH]}"
        return f"container{made} of {self._plan.start_image}"

    @override
    def measured(self, *, is_paused: bool) -> MeasuredProcess | None:
        if self._pid is None or not self._is_up:
            return None
        return MeasuredProcess(pid=self._pid, is_paused=is_paused, in_container=True)

    def failure(self) -> str | None:
        """Return how it ended and the end of its log; None while it runs, or if the harness ended it."""
        return None if self._follower is None else self._follower.failure()

    @override
    def change(self, properties: Mapping[str, str]) -> None:
        if self._plan.image.kafka_version is None:
            raise TargetError(f"{self.name} cannot be given Kafka's properties")
        membership = self._plan.membership
        config = {**membership.broker_config, **properties}
        self._plan = replace(self._plan, membership=replace(membership, broker_config=config))
        self._is_changed = True

    @override
    async def start(self) -> None:
        options = "" if self._agent is None else self._agent.jvm_option()
        is_as_made = self._made is not None and not self._is_changed and options == self._jvm_options
        self._jvm_options = options
        await self._engine_does("start", self._go_on if is_as_made else self._make)
        self._is_up, self._is_changed = True, False
        if self._agent is not None:
            self._agent.started()

    @override
    async def stop(self) -> None:
        await self._end(lambda container: container.stop(timeout=STOP_GRACE_S))

    @override
    async def kill(self) -> None:
        await self._end(lambda container: container.kill())

    @override
    async def pause(self) -> None:
        await self._engine_does("pause", self._container.pause)

    @override
    async def resume(self) -> None:
        await self._engine_does("resume", self._container.unpause)

    @override
    async def disconnect(self) -> None:
        await self._engine_does("disconnect", self._leave_network)

    @override
    async def reconnect(self) -> None:
        await self._engine_does("reconnect", self._enter_network)

    @override
    async def pause_at(self, point: Breakpoint, partitions: frozenset[int] = frozenset()) -> None:
        if self._agent is None:
            raise TargetError(f"{self.name} was not started to be paused")
        await self._agent.pause_at(point, partitions, is_up=self._is_up)

    @override
    async def reached(self, points: Collection[Breakpoint], *, timeout_s: float) -> None:
        if self._agent is not None:
            await self._agent.reached(points, timeout_s=timeout_s)

    @override
    async def resume_from(self, point: Breakpoint) -> None:
        if self._agent is not None:
            await self._agent.resume_from(point)

    async def remove(self) -> None:
        """Remove the container with its volumes, in any state. Idempotent."""
        self._is_up = False
        if self._agent is not None:
            await self._agent.let_go()
        await finished(asyncio.to_thread(self._remove))

    async def _end(self, end: Callable[[Container], None]) -> None:
        if self._is_up:
            self._is_up = False
            if self._agent is not None:
                await self._agent.let_go()
            await self._engine_does("end", lambda: self._end_expected(end))

    async def _engine_does(self, what: str, act: Callable[[], None]) -> None:
        with engine_telling(f"{self.name}: {what}"):
            await finished(asyncio.to_thread(act))

    @property
    def _container(self) -> Container:
        assert self._made is not None, "it was started"
        return cast("Container", self._made.get_wrapped_container())

    def _make(self) -> None:
        """Create a container and start it; it takes over the volumes of an earlier one."""
        before = self._made
        volumes_of = None if before is None else self._container.id
        made = _container_of(self._plan, self._jvm_options, volumes_of=volumes_of)
        if self._agent is not None:
            _publish(made, self._agent.port)
        try:
            made.start()
        except BaseException:
            _remove(made, with_volumes=before is None)
            raise
        self._dismiss_follower()
        _remove(before, with_volumes=False)
        self._made = made
        self._follower = LogFollower(self._container, name=self.name, log=self._plan.log)
        self._pid = _local_pid(self._container)

    def _go_on(self) -> None:
        self._container.start()
        self._pid = _local_pid(self._container)
        if self._follower is not None:
            self._follower.expect_life()

    def _leave_network(self) -> None:
        with self._network() as network:
            network.disconnect(self._container.id, force=True)

    def _enter_network(self) -> None:
        with self._network() as network:
            network.connect(self._container.id, aliases=(self._plan.membership.host,))

    @contextmanager
    def _network(self) -> Iterator[EngineNetwork]:
        if self._plan.network is None:
            raise TargetError(f"{self.name} is in no network of ours")
        with engine() as client:
            (network,) = client.networks.list(filters={"name": self._plan.network.name})
            yield network

    def _end_expected(self, end: Callable[[Container], None]) -> None:
        if self._follower is not None:
            self._follower.expect_end()
        end(self._container)
        if self._follower is not None:
            self._follower.await_end()

    def _remove(self) -> None:
        if self._follower is not None:
            self._follower.expect_end()
        _remove(self._made, with_volumes=True)
        self._dismiss_follower()

    def _dismiss_follower(self) -> None:
        if self._follower is not None:
            self._follower.dismiss()
            self._follower = None


@contextmanager
def engine_telling(what: str) -> Iterator[None]:
    """Raise the engine's errors as `TargetError`."""
    try:
        yield
    except ENGINE_ERRORS as error:
        text = reported(error)
        kind = PortTakenError if any(sign in text for sign in _PORT_TAKEN) else TargetError
        raise kind(f"{what}: {text}") from error


async def finished(work: Awaitable[T]) -> T:
    """Wait for work on a thread even when cancelled: it cannot be stopped, and may leave something behind."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        with suppress(Exception):
            await task
        raise


def _local_pid(container: Container) -> int | None:
    """Return the process id of a container's program; None if its engine runs on another machine."""
    with suppress(*ENGINE_ERRORS):
        container.reload()
    state = container.attrs.get("State")
    pid = state.get("Pid") if isinstance(state, Mapping) else None
    return pid if isinstance(pid, int) and is_of_cgroup(pid, container.id) else None


def _remove(made: DockerContainer | None, *, with_volumes: bool) -> None:
    if made is not None:
        with suppress(*ENGINE_ERRORS):
            made.stop(force=True, delete_volume=with_volumes)


def _container_of(plan: ContainerPlan, jvm_options: str, *, volumes_of: str | None) -> DockerContainer:
    what = recipe(plan.image, plan.membership)
    made = DockerContainer(plan.start_image, docker_client_kw={"timeout": _ENGINE_TIMEOUT_S})
    made.with_envs(**what.environment)
    if jvm_options:
        made.with_env("KAFKA_OPTS", jvm_options)
    if what.command:
        made.with_command(list(what.command))
    for path, content in what.files.items():
        made.with_copy_into_container(content, path)
    if plan.membership.port is not None:
        _publish(made, plan.membership.port)
    options: dict[str, object] = {"labels": dict(plan.labels), "hostname": plan.membership.host}
    if plan.network is not None:
        made.with_network(plan.network).with_network_aliases(plan.membership.host)
    if volumes_of is not None:
        options["volumes_from"] = [volumes_of]
    return made.with_kwargs(**options)


def _publish(made: DockerContainer, port: int) -> None:
    # Testcontainers itself can only publish on all interfaces of the machine.
    cast("dict[str, object]", made.ports)[f"{port}/tcp"] = (HOST, port)

"""`reference-tcp[:PROFILE][*N]`: the reference coordinator as a separate server, over TCP, in real time.

A single broker is a process, which can be restarted with its data on disk. The brokers of a cluster are one
process together, which is controlled by messages; their logs last as long as the process.
"""

import asyncio
import re
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Unpack

from typing_extensions import override

from harness.capacity import start_slots
from harness.targets.base.conformance import CONFORMANCE_TOPICS
from harness.targets.base.controlled import ControlledBroker
from harness.targets.base.interface import (
    Broker,
    BrokerAction,
    BrokerDescription,
    Capability,
    Launch,
    Role,
    Target,
    TargetError,
)
from harness.targets.base.measured import MeasuredProcess, Patience, with_children
from harness.targets.base.ports import free_port
from harness.targets.base.prepare import Prepared, await_serving, prepare
from harness.targets.base.program import Program
from harness.targets.base.tcp import asking
from harness.targets.reference.capabilities import USUAL_CONFIG
from harness.targets.reference.cluster import ReferenceCluster
from harness.targets.reference.target import DEFAULT_PROFILE, reference_profile

REFERENCE_ROOT: Final = Path(__file__).resolve().parents[3]
"""The directory of the reference's package."""
_HOST: Final = "127.0.0.1"
_READY_LINE: Final = re.compile(r"^listening on (\S+) profile \S+$", re.MULTILINE)
_READY_POLL_S: Final = 0.02
_START_TIMEOUT_S: Final = 60.0
_STOP_GRACE_S: Final = 2.0
_OF_ALL: Final = frozenset({Capability.BROKER_CONFIG, Capability.RESTART, Capability.KILL, Capability.PAUSE})
_OF_ONE: Final = frozenset({Capability.SOLE_LEADER})
_OF_SEVERAL: Final = frozenset({Capability.CLUSTER, Capability.DISCONNECT})
_LOSES_ITS_PROCESS: Final = frozenset({BrokerAction.RESTART, BrokerAction.KILL})


class ReferenceTcpTarget(Target):
    """The reference coordinator's own server, with one profile."""

    def __init__(
        self,
        profile: str | None = None,
        *,
        profile_in_spec: bool = False,
        root: Path = REFERENCE_ROOT,
        node_count: int = 1,
    ) -> None:
        self._root = root
        self._profile = reference_profile(profile or DEFAULT_PROFILE).name
        self._node_count = node_count
        self._suffix = f":{self._profile}" if profile_in_spec else ""
        self._suffix += f"*{node_count}" if node_count > 1 else ""

    @property
    @override
    def spec(self) -> str:
        return f"reference-tcp{self._suffix}"

    @property
    @override
    def name(self) -> str:
        return f"reference-tcp{self._suffix.replace(':', '-').replace('*', '-x')}"

    @property
    @override
    def capabilities(self) -> frozenset[Capability]:
        return _OF_ALL | (_OF_SEVERAL if self._node_count > 1 else _OF_ONE)

    @property
    @override
    def foreseen_profile(self) -> str | None:
        return self._profile

    @override
    async def start(self, **launch: Unpack[Launch]) -> Broker:
        properties = {**USUAL_CONFIG, **launch["broker_config"]}
        launch["progress"]("starting the reference's server")
        plan = _ServerPlan(
            root=self._root,
            profile=self._profile,
            properties=properties,
            directory=launch["directory"],
            node_count=self._node_count,
            keeps=self._node_count == 1
            and not _LOSES_ITS_PROCESS.isdisjoint(launch.get("broker_actions", ())),
        )
        server = _Server(plan)
        try:
            await server.start()
            prepared = await _prepared(server)
            description = self._description(server, properties, prepared)
            if self._node_count == 1:
                return ReferenceTcpBroker(description, server)
            assert plan.control_port is not None
            cluster = ReferenceCluster(plan.control_port, server.ports)
            return ReferenceTcpClusterBroker(description, server, cluster)
        except TargetError as error:
            server.end()
            raise TargetError(f"{self.spec}: {error}") from error
        except BaseException:
            server.end()
            raise

    def _description(
        self, server: "_Server", properties: Mapping[str, str], prepared: Prepared
    ) -> BrokerDescription:
        return BrokerDescription(
            spec=self.spec,
            profile=self._profile,
            implementation=f"reference coordinator over TCP, profile {self._profile}",
            bootstrap=",".join(f"{_HOST}:{port}" for port in server.ports),
            broker_config=properties,
            api_ranges=prepared.api_ranges,
            notes=prepared.notes,
        )


@dataclass(slots=True, kw_only=True)
class _ServerPlan:
    """The arguments that a server process is started with."""

    root: Path
    profile: str
    properties: dict[str, str]
    directory: Path
    node_count: int
    keeps: bool
    """Whether it must find its earlier data after a restart, on the same port."""
    port: int = 0
    control_port: int | None = None

    def __post_init__(self) -> None:
        if self.keeps:
            self.port = free_port()
        if self.node_count > 1:
            self.control_port = free_port()

    def command(self) -> list[str | Path]:
        # The server starts in its own directory, so it needs the path of the code.
        boot = f"import sys; sys.path.insert(0, {str(self.root)!r}); import runpy; "
        boot += "runpy.run_module('reference_coordinator', run_name='__main__', alter_sys=True)"
        options = [f"--listen={_HOST}:{self.port}", f"--profile={self.profile}"]
        options += [f"--config={name}={value}" for name, value in self.properties.items()]
        options += [f"--topic={name}:{count}" for name, count in CONFORMANCE_TOPICS.items()]
        if self.keeps:
            options.append(f"--data-dir={self.directory / 'data'}")
        if self.control_port is not None:
            options += [f"--brokers={self.node_count}", f"--control={_HOST}:{self.control_port}"]
        return [sys.executable, "-c", boot, *options]


@dataclass(slots=True)
class _Server:
    """The process of a server, the latest one if there were several."""

    plan: _ServerPlan
    ports: tuple[int, ...] = ()
    _programs: list[Program] = field(default_factory=list)

    @property
    def program(self) -> Program:
        return self._programs[-1]

    async def start(self) -> None:
        """Start a process, and wait until it listens."""
        number = len(self._programs) + 1
        log = self.plan.directory / ("server.log" if number == 1 else f"server-{number}.log")
        async with start_slots().taken():
            self._programs.append(Program(self.plan.command(), log=log, directory=self.plan.directory))
            self.ports = await _ports_of(self.program)

    def measured(self, *, is_paused: bool = False) -> Sequence[MeasuredProcess]:
        return [
            MeasuredProcess(pid=pid, is_paused=is_paused)
            for pid in with_children(self.program.pid)
            if self.program.exit_status is None
        ]

    def failure(self) -> str | None:
        return self.program.failure()

    def end(self) -> None:
        if self._programs:
            self.program.kill()


class _ServerBroker(ControlledBroker):
    """A running server, with any number of brokers."""

    def __init__(self, description: BrokerDescription, server: _Server) -> None:
        super().__init__(description)
        self._server = server
        self._is_paused = False

    @override
    def measured(self) -> Sequence[MeasuredProcess]:
        return self._server.measured(is_paused=self._is_paused)

    @override
    def failure(self) -> str | None:
        return self._server.failure()

    @override
    async def stop(self) -> None:
        self._server.program.resume()
        await self._server.program.stop(grace_s=_STOP_GRACE_S)


class ReferenceTcpBroker(_ServerBroker):
    """A running server of the reference."""

    @override
    def address(self, role: Role) -> tuple[str, int]:
        if role is not Role.COORDINATOR:
            raise TargetError(f"{self._description.spec} is not a cluster")
        return _HOST, self._server.ports[0]

    @override
    async def carry_out(self, action: BrokerAction, broker_config: Mapping[str, str]) -> None:
        program = self._server.program
        match action:
            case BrokerAction.RESTART:
                self._throw_unless_kept()
                await program.stop(grace_s=_STOP_GRACE_S)
                self._server.plan.properties.update(broker_config)
                await self._come_back()
            case BrokerAction.KILL:
                self._throw_unless_kept()
                program.kill()
                await self._come_back()
            case BrokerAction.PAUSE:
                self._is_paused = True
                await program.pause()
            case BrokerAction.RESUME:
                program.resume()
                self._is_paused = False
            case _:
                raise TargetError(f"nobody can {action.value} {self._description.spec}")

    def _throw_unless_kept(self) -> None:
        if not self._server.plan.keeps:
            raise TargetError(f"{self._description.spec} was not started to be started again")

    async def _come_back(self) -> None:
        await self._server.start()
        async with asking(*self.address(Role.COORDINATOR)) as session:
            await await_serving(
                session,
                topics=CONFORMANCE_TOPICS,
                timeout_ms=_START_TIMEOUT_S * 1000,
                failure=self._server.failure,
            )


class ReferenceTcpClusterBroker(_ServerBroker):
    """A running server with several brokers."""

    def __init__(self, description: BrokerDescription, server: _Server, cluster: ReferenceCluster) -> None:
        super().__init__(description, server)
        self._cluster = cluster

    @override
    def address(self, role: Role) -> tuple[str, int]:
        return self._cluster.address(role)

    @override
    async def carry_out(self, action: BrokerAction, broker_config: Mapping[str, str]) -> None:
        await self._cluster.carry_out(action, broker_config)

    @override
    async def mend(self) -> None:
        await self._cluster.mend()


async def _prepared(server: _Server) -> Prepared:
    async with asking(_HOST, server.ports[0]) as session:
        return await prepare(
            session,
            topics=CONFORMANCE_TOPICS,
            timeout_ms=_START_TIMEOUT_S * 1000,
            failure=server.failure,
            signs=server.program.signs_of_work,
        )


async def _ports_of(program: Program) -> tuple[int, ...]:
    """Wait for the server's ready line and return the ports in it."""
    patience = Patience(
        _START_TIMEOUT_S * 1000, began_ms=time.monotonic() * 1000, signs=program.signs_of_work
    )
    while True:
        found = _READY_LINE.search(program.log_tail())
        if found is not None:
            return tuple(int(address.rpartition(":")[2]) for address in found[1].split(","))
        lost = program.failure()
        if lost is not None:
            raise TargetError(f"the server is gone before it was ready: {lost}")
        if patience.is_over(time.monotonic() * 1000):
            raise TargetError(f"the server did not get ready within {patience}")
        await asyncio.sleep(_READY_POLL_S)

"""One broker's JVM: started, stopped and restarted on the same storage, and paused by the debugger."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from typing_extensions import override

from harness.targets.base.interface import Breakpoint, TargetError
from harness.targets.base.measured import SAFEPOINT_LOGGING, MeasuredProcess
from harness.targets.base.ports import free_port
from harness.targets.base.program import Program
from harness.targets.debugger.jdwp import CodePoint, Debugger, JvmBreakpoint
from harness.targets.jars.resolved import KafkaJars
from harness.targets.kafka.controlled import ControlledNode
from harness.targets.kafka.network import LoopbackNetwork
from harness.targets.kafka.properties import HOST, render_properties

STOP_GRACE_S: Final = 20.0
"""How long a broker may take for a clean stop before it is killed."""
_ATTACH_TIMEOUT_S: Final = 15.0
BROKER_MAIN: Final = "kafka.Kafka"
_JVM_FLAGS: Final = (
    "-Xmx256m",
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-XX:-UsePerfData",
    "-XX:+ExitOnOutOfMemoryError",
    "-Djava.awt.headless=true",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS",
)
"""With these, a broker that lives for seconds starts twice as fast and answers as fast."""


def java_command(java: Path, jars: KafkaJars, main: str, *arguments: str | Path) -> list[str | Path]:
    """Return the command that runs a program from Kafka's jars."""
    return [java, *_JVM_FLAGS, *jars.jvm_options, "-cp", jars.class_path, main, *arguments]


def start_jvm(
    java: Path, jars: KafkaJars, main: str, properties: Mapping[str, str], *, directory: Path, name: str
) -> Program:
    """Start a server that reads a properties file; its output goes to a log with its name."""
    configuration = directory / f"{name}.properties"
    configuration.write_text(render_properties(properties), encoding="utf-8")
    logging = SAFEPOINT_LOGGING.format(_pause_log(directory, name).name)
    command = java_command(java, jars.with_jvm_option(logging), main, configuration)
    return Program(command, log=directory / f"{name}.log", directory=directory)


def _pause_log(directory: Path, name: str) -> Path:
    return directory / f"{name}-safepoints.log"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePlan:
    """The files and parameters that a broker is run with."""

    node_id: int
    name: str
    """The name of its properties file and its log."""
    java: Path
    jars: KafkaJars
    properties: Mapping[str, str]
    port: int
    directory: Path
    principals_port: int | None = None
    """The port of the listener that authenticates clients, if there is one."""
    code_points: Mapping[Breakpoint, CodePoint]
    """Where it may be paused; if empty, its JVM has no debug agent."""
    network: LoopbackNetwork | None = None
    """Set if the broker can be disconnected."""


class Node(ControlledNode):
    """A broker, whether it runs or not."""

    def __init__(self, plan: NodePlan) -> None:
        self._plan = plan
        self._properties = dict(plan.properties)
        self._code_points = dict(plan.code_points)
        self._debug_port = free_port() if plan.code_points else None
        self._program: Program | None = None
        self._pid: int | None = None
        self._debugger: Debugger | None = None
        self._armed: dict[Breakpoint, JvmBreakpoint | None] = {}

    @property
    @override
    def node_id(self) -> int:
        return self._plan.node_id

    @property
    @override
    def address(self) -> tuple[str, int]:
        return HOST, self._plan.port

    @property
    def principals_address(self) -> tuple[str, int] | None:
        """The address of the listener that authenticates clients, if there is one."""
        port = self._plan.principals_port
        return None if port is None else (HOST, port)

    @property
    def pid(self) -> int | None:
        """The process id of its latest start."""
        return self._pid

    @property
    def is_up(self) -> bool:
        """Whether it was started and has not been stopped since."""
        return self._program is not None

    @property
    def program(self) -> Program:
        """Its process."""
        if self._program is None:
            raise TargetError(f"broker {self.node_id} is not running")
        return self._program

    @override
    def measured(self, *, is_paused: bool) -> MeasuredProcess | None:
        if self._program is None:
            return None
        log = _pause_log(self._plan.directory, self._plan.name)
        return MeasuredProcess(pid=self._program.pid, is_paused=is_paused, pause_log=log)

    def failure(self) -> str | None:
        """Return how it ended if nobody stopped it, else None."""
        return None if self._program is None else self._program.failure()

    @override
    def change(self, properties: Mapping[str, str]) -> None:
        self._properties.update(properties)

    @override
    async def start(self) -> None:
        plan = self._plan
        jars = plan.jars
        if self._debug_port is not None:
            suspended = "y" if self._armed else "n"
            agent = (
                f"transport=dt_socket,server=y,suspend={suspended},quiet=y,address={HOST}:{self._debug_port}"
            )
            jars = jars.with_jvm_option(f"-agentlib:jdwp={agent}")
        self._program = start_jvm(
            plan.java, jars, BROKER_MAIN, self._properties, directory=plan.directory, name=plan.name
        )
        self._pid = self._program.pid
        if self._armed:
            debugger = await self._attached()
            for point in tuple(self._armed):
                self._armed[point] = await debugger.break_at(self._code_points[point])
            await debugger.begin()

    @override
    async def stop(self) -> None:
        await self.hang_up()
        program, self._program = self._program, None
        if program is not None:
            await program.stop(grace_s=STOP_GRACE_S)

    @override
    async def kill(self) -> None:
        program, self._program = self._program, None
        if program is not None:
            program.kill()
        await self.hang_up()

    @override
    async def pause(self) -> None:
        await self.program.pause()

    @override
    async def resume(self) -> None:
        self.program.resume()

    @override
    async def disconnect(self) -> None:
        self._network.disconnect(self.node_id)

    @override
    async def reconnect(self) -> None:
        await self._network.reconnect(self.node_id)

    @property
    def _network(self) -> LoopbackNetwork:
        if self._plan.network is None:
            raise TargetError(f"broker {self.node_id} was not started to lose its network")
        return self._plan.network

    @override
    async def pause_at(self, point: Breakpoint, partitions: frozenset[int] = frozenset()) -> None:
        if point not in self._code_points:
            raise TargetError(f"broker {self.node_id} cannot be paused at {point.value}")
        code_point = self._code_points[point] = replace(self._code_points[point], partitions=partitions)
        self._armed[point] = None
        if self._program is not None:
            self._armed[point] = await (await self._attached()).break_at(code_point)

    @override
    async def reached(self, points: Collection[Breakpoint], *, timeout_s: float) -> None:
        for point in points:
            armed = self._armed.get(point)
            if armed is not None:
                await armed.reached(timeout_s=timeout_s)

    @override
    async def resume_from(self, point: Breakpoint) -> None:
        armed = self._armed.pop(point, None)
        if armed is not None:
            await armed.clear()

    async def _attached(self) -> Debugger:
        if self._debugger is None:
            assert self._debug_port is not None
            try:
                self._debugger = await Debugger.attach(HOST, self._debug_port, timeout_s=_ATTACH_TIMEOUT_S)
            except TargetError as error:
                raise TargetError(f"{error}\n{self.program.log_tail()}") from error
        return self._debugger

    async def hang_up(self) -> None:
        """Detach the debugger, which resumes the broker; breakpoints apply again after the next start."""
        debugger, self._debugger = self._debugger, None
        self._armed = dict.fromkeys(self._armed)
        if debugger is not None:
            await debugger.close()

"""A broker in a local JVM, with storage of its own, killed when it is done with.

KRaft runs broker and controller in one process; before 3.3 a ZooKeeper from the same jars runs beside it.
A port that answers proves nothing: the process must live, and the broker that answers must belong to the
cluster whose id lies in our own directory.
"""

import hashlib
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from typing_extensions import override

from harness.targets import cache
from harness.targets.base import (
    CONFORMANCE_TOPICS,
    Broker,
    BrokerDescription,
    Progress,
    Stage,
    TargetError,
)
from harness.targets.jars import KafkaJars
from harness.targets.java import require_java
from harness.targets.ports import free_port
from harness.targets.prepare import Prepared, prepare
from harness.targets.program import Program
from harness.targets.properties import (
    HOST,
    Ports,
    broker_properties,
    coordinator_properties,
    render_properties,
    uses_kraft,
    zookeeper_properties,
)
from harness.targets.storage import cluster_id_of, format_storage
from harness.targets.tcp import TcpStage, new_connect_slots

START_TIMEOUT_MS: Final = 60_000.0
_ARCHIVE_GRACE_S: Final = 60.0
_START_TRIES: Final = 3
_PORT_TAKEN: Final = ("Address already in use", "BindException")
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
"""A broker that lives for seconds starts twice as fast with them and answers no slower."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalPlan:
    """What a local broker is to be."""

    spec: str
    profile: str
    implementation: str
    jars: KafkaJars
    broker_config: Mapping[str, str]
    """The scenario's own properties."""
    start_timeout_ms: float


class LocalBroker(Broker):
    """A broker, and its ZooKeeper where it has one, in JVMs of ours."""

    def __init__(self, description: BrokerDescription, running: "_Running") -> None:
        self._description = description
        self._running = running
        self._connect_slots = new_connect_slots()

    @property
    @override
    def description(self) -> BrokerDescription:
        return self._description

    @property
    def pids(self) -> tuple[int, ...]:
        """The process ids of its JVMs."""
        return tuple(jvm.pid for jvm in self._running.jvms)

    @override
    def open_stage(self, scenario_id: str) -> Stage:
        return TcpStage(HOST, self._running.ports.broker, connect_slots=self._connect_slots)

    @override
    def failure(self) -> str | None:
        return self._running.failure()

    @override
    async def stop(self) -> None:
        self._running.end()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Running:
    """The processes and the directory of one start, whether it succeeded or not."""

    ports: Ports
    storage: Path
    jvms: list[Program] = field(default_factory=list)

    def failure(self) -> str | None:
        return next((lost for jvm in self.jvms if (lost := jvm.failure()) is not None), None)

    def lost_its_port(self) -> bool:
        return any(
            jvm.exit_status is not None
            and any(sign in jvm.log.read_text(encoding="utf-8", errors="replace") for sign in _PORT_TAKEN)
            for jvm in self.jvms
        )

    def end(self) -> None:
        """Kill what runs; a broker's log outlives it, its storage does not."""
        for jvm in reversed(self.jvms):
            jvm.kill()
        shutil.rmtree(self.storage, ignore_errors=True)
        shutil.rmtree(_zookeeper_storage(self.storage), ignore_errors=True)


async def start_local(plan: LocalPlan, *, directory: Path, progress: Progress) -> LocalBroker:
    """Start a local broker and wait until it is ready; on any failure nothing is left running.

    Raises:
        TargetError: it does not get ready; with the end of its log.
    """
    java = require_java()
    plan = await _with_class_archive(plan, java, directory, progress)
    running, prepared = await _start(plan, java, directory, progress)
    return LocalBroker(_description(plan, running, prepared), running)


async def _with_class_archive(plan: LocalPlan, java: Path, directory: Path, progress: Progress) -> LocalPlan:
    """Return the plan with an archive of loaded classes, which halves the time that a broker takes to start.

    It is made once per version and Java by a broker that is started, made ready and stopped.
    """
    home = plan.jars.home
    if home is None:
        return plan
    archive = _class_archive(home, java)
    if not archive.is_file():
        async with cache.locked(home, "classes", progress):
            if not archive.is_file():
                progress("preparing faster starts (once per version)")
                await _make_class_archive(plan, java, archive, _subdirectory(directory))
    return _with_jvm_option(plan, f"-XX:SharedArchiveFile={archive}") if archive.is_file() else plan


async def _make_class_archive(plan: LocalPlan, java: Path, archive: Path, directory: Path) -> None:
    unfinished = archive.with_suffix(".unfinished")
    training = _with_jvm_option(replace(plan, broker_config={}), f"-XX:ArchiveClassesAtExit={unfinished}")
    running, _ = await _start(training, java, directory, lambda _: None)
    try:
        await running.jvms[-1].stop(grace_s=_ARCHIVE_GRACE_S)
    finally:
        running.end()
    _rename_if_there(unfinished, archive)


def _subdirectory(directory: Path) -> Path:
    path = directory / "class-archive"
    path.mkdir(exist_ok=True)
    return path


def _rename_if_there(unfinished: Path, archive: Path) -> None:
    with suppress(FileNotFoundError):  # a Java without class data sharing writes none
        unfinished.replace(archive)


def _class_archive(home: Path, java: Path) -> Path:
    program = java.resolve()
    identity = hashlib.sha256(f"{program} {program.stat().st_mtime_ns}".encode())
    return home / f"classes-{identity.hexdigest()[:12]}.jsa"


def _with_jvm_option(plan: LocalPlan, option: str) -> LocalPlan:
    return replace(plan, jars=replace(plan.jars, jvm_options=(*plan.jars.jvm_options, option)))


async def _start(
    plan: LocalPlan, java: Path, directory: Path, progress: Progress
) -> tuple[_Running, Prepared]:
    """Start and make ready, anew on other ports when another process was faster to take one."""
    for attempt in range(1, _START_TRIES + 1):
        running = _Running(
            ports=Ports(broker=free_port(), controller=free_port()),
            storage=directory / f"storage-{attempt}",
        )
        try:
            return running, await _start_once(plan, java, running, directory, progress)
        except TargetError:
            was_port_lost = running.lost_its_port()
            running.end()
            if not was_port_lost or attempt == _START_TRIES:
                raise
            progress("a port was taken by another process; trying others")
        except BaseException:
            running.end()
            raise
    raise AssertionError("the last try returns or raises")


async def _start_once(
    plan: LocalPlan, java: Path, running: _Running, directory: Path, progress: Progress
) -> Prepared:
    jars = plan.jars
    if uses_kraft(jars.version):
        await format_storage(java, jars, storage=running.storage, directory=directory, progress=progress)
    else:
        running.jvms.append(_start_zookeeper(java, jars, running, directory))
    progress(f"starting the broker on {HOST}:{running.ports.broker}")
    properties = broker_properties(
        jars.version, plan.broker_config, ports=running.ports, storage=running.storage
    )
    configuration = directory / "server.properties"
    configuration.write_text(render_properties(properties), encoding="utf-8")
    command = _java_command(java, jars, "kafka.Kafka", configuration)
    running.jvms.append(Program(command, log=directory / "server.log", directory=directory))
    stage = TcpStage(HOST, running.ports.broker, connect_slots=new_connect_slots())
    try:
        prepared = await prepare(
            stage,
            topics=CONFORMANCE_TOPICS,
            timeout_ms=plan.start_timeout_ms,
            failure=running.failure,
        )
    except TargetError as error:
        raise TargetError(f"{plan.spec}: {error} (its whole log: {directory / 'server.log'})") from error
    finally:
        await stage.close()
    _require_own(plan, running, prepared)
    return prepared


def _require_own(plan: LocalPlan, running: _Running, prepared: Prepared) -> None:
    own = cluster_id_of(running.storage)
    if prepared.cluster_id != own:
        raise TargetError(
            f"{plan.spec}: on {HOST}:{running.ports.broker} answers a broker of cluster "
            f"{prepared.cluster_id}, not ours ({own}): another program took the port"
        )


def _start_zookeeper(java: Path, jars: KafkaJars, running: _Running, directory: Path) -> Program:
    properties = zookeeper_properties(
        port=running.ports.controller, storage=_zookeeper_storage(running.storage)
    )
    configuration = directory / "zookeeper.properties"
    configuration.write_text(render_properties(properties), encoding="utf-8")
    main = "org.apache.zookeeper.server.ZooKeeperServerMain"
    command = _java_command(java, jars, main, configuration)
    return Program(command, log=directory / "zookeeper.log", directory=directory)


def _java_command(java: Path, jars: KafkaJars, main: str, configuration: Path) -> list[str | Path]:
    return [java, *_JVM_FLAGS, *jars.jvm_options, "-cp", jars.class_path, main, configuration]


def _zookeeper_storage(storage: Path) -> Path:
    return storage.with_name(f"{storage.name}-zookeeper")


def _description(plan: LocalPlan, running: _Running, prepared: Prepared) -> BrokerDescription:
    return BrokerDescription(
        spec=plan.spec,
        profile=plan.profile,
        implementation=plan.implementation,
        bootstrap=f"{HOST}:{running.ports.broker}",
        broker_config=coordinator_properties(plan.jars.version, plan.broker_config),
        api_ranges=prepared.api_ranges,
        notes=(*plan.jars.notes, *prepared.notes),
    )

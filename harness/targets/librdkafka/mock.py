"""`librdkafka-mock`: the mock cluster that librdkafka contains for tests of clients.

Programs that use Confluent's clients are tested with it, and such tests do not find where it differs from
Kafka. It comes from the librdkafka in confluent-kafka. Each session has its own cluster in a separate
process, because a mock cluster aborts its process when it reaches an unexpected state.
"""

import asyncio
import re
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Final, Unpack

from typing_extensions import override

from harness.extras import why_without
from harness.targets.base.conformance import CONFORMANCE_CONFIG, CONFORMANCE_TOPICS
from harness.targets.base.dialogue import Dialogue
from harness.targets.base.guess import guess_profile
from harness.targets.base.interface import (
    ApiRange,
    Broker,
    BrokerDescription,
    BrokerSession,
    Capability,
    Connection,
    ConnectionLost,
    Frame,
    Launch,
    Role,
    Target,
    TargetError,
    closing,
)
from harness.targets.base.measured import MeasuredProcess
from harness.targets.base.prepare import ask_until
from harness.targets.base.program import Program
from harness.targets.base.tcp import TcpSession, new_connect_slots
from harness.targets.librdkafka.inflexible import SPOKEN, InflexibleConnection

SPEC: Final = "librdkafka-mock"
INFLEXIBLE_SUFFIX: Final = "+inflexible"
"""Suffix of the spec: use versions of the group APIs that the mock cluster can parse, as librdkafka does."""
_CHILD: Final = Path(__file__).with_name("child.py")
_READY_LINE: Final = re.compile(r"^listening on (\S+):(\d+) librdkafka (\S+)$", re.MULTILINE)
_READY_POLL_S: Final = 0.02
_START_TIMEOUT_MS: Final = 20_000.0
_CLUSTER_TIMEOUT_S: Final = 20.0
_END_PATIENCE_S: Final = 0.1
"""A process that ends closes its connections one after another."""
_ENDED: Final = "the mock cluster has ended itself"
_CONFIG_NOTE: Final = (
    "it has no configuration; of the one here it was told the rebalance delay and the topics"
)
_NEWEST_CLAIMS: Final[Mapping[tuple[int, int], str]] = MappingProxyType(
    {
        (76, 1): "4.1",  # ShareGroupHeartbeat
        (68, 1): "4.0",  # ConsumerGroupHeartbeat
    }
)
"""Releases by an API and the version of it that they introduced.

These APIs are for other types of groups, which brokers other than Kafka may lack: so they are not in `guess`.
"""


class LibrdkafkaMockTarget(Target):
    """Mock clusters of the installed librdkafka."""

    def __init__(
        self,
        *,
        profile: str | None = None,
        start_timeout_ms: float | None = None,
        is_inflexible: bool = False,
    ) -> None:
        self._profile = profile
        self._is_inflexible = is_inflexible
        self._start_timeout_ms = start_timeout_ms or _START_TIMEOUT_MS

    @property
    @override
    def spec(self) -> str:
        return f"{SPEC}{INFLEXIBLE_SUFFIX if self._is_inflexible else ''}"

    @property
    @override
    def name(self) -> str:
        return self.spec.replace("+", "-")

    @property
    @override
    def capabilities(self) -> frozenset[Capability]:
        return frozenset()

    @override
    async def start(self, **launch: Unpack[Launch]) -> Broker:
        if (lacking := why_without("clients")) is not None:
            raise TargetError(lacking)
        if launch["broker_config"]:
            raise TargetError(f"{self.spec} has no configuration that could be given to it")
        directory = launch["directory"]
        launch["progress"]("starting librdkafka's mock clusters")
        topics = [f"{name}:{partition_count}" for name, partition_count in CONFORMANCE_TOPICS.items()]
        program = Program([sys.executable, _CHILD, *topics], log=directory / "mock.log", directory=directory)
        try:
            address, version = await self._address_of(program)
            api_ranges = await self._first_look(program, address)
        except TargetError as error:
            program.kill()
            raise TargetError(f"{self.spec}: {error}") from error
        except BaseException:
            program.kill()
            raise
        description = self._description(version, api_ranges)
        return LibrdkafkaMockBroker(description, program, address, is_inflexible=self._is_inflexible)

    async def _address_of(self, program: Program) -> tuple[tuple[str, int], str]:
        """Wait for the program's ready line, and return its address and the version of librdkafka."""
        started_s = time.monotonic()
        while True:
            found = _READY_LINE.search(program.log_tail())
            if found is not None:
                return (found[1], int(found[2])), found[3]
            lost = program.failure()
            if lost is not None:
                raise TargetError(f"it is gone before it was ready: {lost}")
            if time.monotonic() - started_s > self._start_timeout_ms / 1000:
                raise TargetError(f"it did not get ready within {self._start_timeout_ms / 1000:g} s")
            await asyncio.sleep(_READY_POLL_S)

    async def _first_look(self, program: Program, address: tuple[str, int]) -> tuple[ApiRange, ...]:
        """Return what a cluster advertises; it is ready once it answers, since it loads nothing."""

        async def ask(dialogue: Dialogue) -> tuple[ApiRange, ...]:
            return await dialogue.learn_versions()

        async with closing(MockSession(address)) as session:
            return await ask_until(session, ask, timeout_ms=self._start_timeout_ms, failure=program.failure)

    def _description(self, version: str, api_ranges: tuple[ApiRange, ...]) -> BrokerDescription:
        claimed = claimed_release(api_ranges)
        reported = (
            () if self._profile else (f"profile {claimed} is the newest release of which it claims an API",)
        )
        return BrokerDescription(
            spec=self.spec,
            profile=self._profile or claimed,
            implementation=f"mock cluster of librdkafka {version}",
            bootstrap="127.0.0.1, another port for each scenario",
            broker_config=CONFORMANCE_CONFIG,
            api_ranges=api_ranges,
            notes=(*reported, _CONFIG_NOTE, *self._spoken()),
        )

    def _spoken(self) -> tuple[str, ...]:
        if not self._is_inflexible:
            return ()
        reported = ", ".join(f"{api} v{version} as v{lower}" for (api, version), lower in SPOKEN.items())
        return (f"it cannot read all versions that it claims, so it is sent {reported}",)


def claimed_release(api_ranges: Iterable[ApiRange]) -> str:
    """Return the newest release from which a mock cluster advertises an API or a version of one."""
    ranges = tuple(api_ranges)
    newest = {api.api_key: api.max_version for api in ranges}
    claims = (release for (key, version), release in _NEWEST_CLAIMS.items() if newest.get(key, -1) >= version)
    return next(claims, None) or guess_profile(ranges)


class LibrdkafkaMockBroker(Broker):
    """The program that creates mock clusters, one for each session."""

    def __init__(
        self,
        description: BrokerDescription,
        program: Program,
        address: tuple[str, int],
        *,
        is_inflexible: bool = False,
    ) -> None:
        self._description = description
        self._program = program
        self._address = address
        self._is_inflexible = is_inflexible

    @property
    @override
    def description(self) -> BrokerDescription:
        return self._description

    @property
    @override
    def shares_coordinator(self) -> bool:
        return False

    @override
    def open_session(self, scenario_id: str) -> BrokerSession:
        return MockSession(self._address, is_inflexible=self._is_inflexible)

    @override
    def measured(self) -> Sequence[MeasuredProcess]:
        return [MeasuredProcess(pid=self._program.pid)]

    @override
    def failure(self) -> str | None:
        return self._program.failure()

    @override
    async def stop(self) -> None:
        # Clusters have no data to write, and end with the program.
        await self._program.stop()


class MockConnection(Connection):
    """A connection that distinguishes a cluster that closed it from one that aborted."""

    def __init__(self, inner: Connection, session: "MockSession") -> None:
        self._inner = inner
        self._session = session

    @override
    async def send(self, payload: bytes) -> None:
        await self._inner.send(payload)

    @override
    async def receive(self, *, timeout_ms: float) -> Frame:
        try:
            return await self._inner.receive(timeout_ms=timeout_ms)
        except ConnectionLost:
            if await self._session.has_ended(patience_s=_END_PATIENCE_S):
                raise ConnectionLost(_ENDED) from None
            raise

    @override
    async def close(self) -> None:
        await self._inner.close()


class MockSession(TcpSession):
    """A broker session with its own mock cluster, from its first connection to its end."""

    def __init__(self, address: tuple[str, int], *, is_inflexible: bool = False) -> None:
        super().__init__(*address, connect_slots=new_connect_slots())
        self._address = address
        self._is_inflexible = is_inflexible
        self._making = asyncio.Lock()
        self._cluster: tuple[str, int] | None = None
        self._life: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    @override
    async def connect(self, role: Role = Role.COORDINATOR, *, principal: str | None = None) -> Connection:
        if role is not Role.COORDINATOR:
            raise TargetError(f"{SPEC} is not a cluster of several brokers")
        async with self._making:
            if self._cluster is None:
                self._cluster = await self._made()
        # The cluster's port may belong to another cluster by now.
        if await self.has_ended():
            raise ConnectionLost(_ENDED)
        connection = MockConnection(await self.connect_to(*self._cluster), self)
        return InflexibleConnection(connection) if self._is_inflexible else connection

    async def has_ended(self, *, patience_s: float = 0) -> bool:
        """Return whether the cluster has aborted, or does so within a time."""
        if self._life is None:
            return False
        with suppress(TimeoutError):
            async with asyncio.timeout(patience_s):
                await self._life[0].read()
        return self._life[0].at_eof()

    async def _made(self) -> tuple[str, int]:
        try:
            async with asyncio.timeout(_CLUSTER_TIMEOUT_S):
                self._life = await asyncio.open_connection(*self._address)
                line = await self._life[0].readline()
        except (OSError, TimeoutError) as error:
            raise TargetError(f"{SPEC} makes no cluster: {str(error) or 'it takes too long'}") from error
        host, _, port = line.decode().strip().rpartition(":")
        if not host:
            raise TargetError(f"{SPEC} makes no cluster; its log says why")
        return host, int(port)

    @override
    async def close(self) -> None:
        await super().close()
        if self._life is not None:
            _, writer = self._life
            self._life = None
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

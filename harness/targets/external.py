"""`external:HOST:PORT`: a broker that runs already; never configured, never stopped."""

import asyncio
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

from typing_extensions import override

from harness.targets.base import (
    CONFORMANCE_TOPICS,
    ApiRange,
    Broker,
    BrokerDescription,
    Capability,
    ConnectionLost,
    HoldPoint,
    Lever,
    Progress,
    Stage,
    Target,
    TargetError,
)
from harness.targets.guess import guess_profile
from harness.targets.prepare import Endpoint, described_config, locate, prepare
from harness.targets.properties import matters_to_a_coordinator
from harness.targets.tcp import StreamConnection, TcpStage, new_connect_slots

EXTERNAL_TIMEOUT_MS: Final = 20_000.0
_GROUP_COUNT: Final = 64
"""Groups that are tried: more than `offsets.topic.num.partitions` has by default."""


class ExternalTarget(Target):
    """A broker by its bootstrap address."""

    def __init__(
        self, host: str, port: int, *, profile: str | None = None, timeout_ms: float = EXTERNAL_TIMEOUT_MS
    ) -> None:
        self._host = host
        self._port = port
        self._profile = profile
        self._timeout_ms = timeout_ms

    @property
    @override
    def spec(self) -> str:
        return f"external:{_address(self._host, self._port)}"

    @property
    @override
    def name(self) -> str:
        return f"external-{re.sub(r'[^A-Za-z0-9.]+', '-', self._host).strip('-.')}-{self._port}"

    @property
    @override
    def capabilities(self) -> frozenset[Capability]:
        return frozenset()

    @override
    async def start(
        self,
        *,
        broker_config: Mapping[str, str],
        directory: Path,
        progress: Progress,
        holds: Collection[HoldPoint] = (),
        levers: Collection[Lever] = (),
    ) -> Broker:
        if broker_config:
            raise TargetError(f"{self.spec} runs already and cannot be given a configuration")
        progress(f"asking {_address(self._host, self._port)}")
        try:
            return await self._find()
        except TargetError as error:
            raise TargetError(f"{self.spec}: {error}") from error

    async def _find(self) -> "ExternalBroker":
        bootstrap = Endpoint(node_id=-1, host=self._host, port=self._port)
        first = _stage(bootstrap)
        try:
            endpoint = await locate(first, group_count=_GROUP_COUNT, timeout_ms=self._timeout_ms)
        finally:
            await first.close()
        coordinator = endpoint or bootstrap
        stage = _stage(coordinator)
        try:
            prepared = await prepare(
                stage,
                topics=CONFORMANCE_TOPICS,
                timeout_ms=self._timeout_ms,
                group_count=_GROUP_COUNT,
            )
            told = await described_config(stage, prepared.coordinator.node_id)
        finally:
            await stage.close()
        config = {name: value for name, value in sorted(told.items()) if matters_to_a_coordinator(name)}
        description = BrokerDescription(
            spec=self.spec,
            profile=self._profile or guess_profile(prepared.api_ranges, config),
            implementation=f"external broker, cluster {prepared.cluster_id or 'without an id'}",
            bootstrap=_address(coordinator.host, coordinator.port),
            broker_config=config,
            api_ranges=prepared.api_ranges,
            notes=(*self._notes(prepared.api_ranges, endpoint, config), *prepared.notes),
        )
        return ExternalBroker(description, coordinator)

    def _notes(
        self, api_ranges: tuple[ApiRange, ...], endpoint: Endpoint | None, config: Mapping[str, str]
    ) -> tuple[str, ...]:
        notes: list[str] = []
        if self._profile is None:
            guessed = guess_profile(api_ranges, config)
            notes.append(f"profile {guessed} is a guess from the advertised ApiVersions")
        if endpoint is not None:
            notes.append(f"every group's coordinator is node {endpoint.node_id}, which was asked directly")
        if not config:
            notes.append("the broker does not tell its configuration (DescribeConfigs)")
        return tuple(notes)


class ExternalBroker(Broker):
    """A broker that is none of ours.

    No process tells of its end. Whenever a connection is lost it is therefore asked for another, and is gone
    when it gives none.
    """

    def __init__(self, description: BrokerDescription, coordinator: Endpoint) -> None:
        self._description = description
        self._coordinator = coordinator
        self._connect_slots = new_connect_slots()
        self._failure: str | None = None
        self._is_suspect = False
        self._look: asyncio.Task[None] | None = None

    @property
    @override
    def description(self) -> BrokerDescription:
        return self._description

    @override
    def open_stage(self, scenario_id: str) -> Stage:
        return TcpStage(
            self._coordinator.host,
            self._coordinator.port,
            connect_slots=self._connect_slots,
            on_loss=self._suspect,
        )

    @override
    def failure(self) -> str | None:
        return self._failure

    @override
    async def stop(self) -> None:
        look, self._look = self._look, None
        if look is not None:
            look.cancel()
            await asyncio.wait([look])

    def _suspect(self) -> None:
        """Look whether it is there, once more if that is being done already."""
        self._is_suspect = True
        if self._look is None or self._look.done():
            self._look = asyncio.get_running_loop().create_task(self._look_for_it())

    async def _look_for_it(self) -> None:
        while self._is_suspect:
            self._is_suspect = False
            try:
                connection = await StreamConnection.open(self._coordinator.host, self._coordinator.port)
            except ConnectionLost as error:
                self._failure = str(error)
            else:
                await connection.close()


def _stage(endpoint: Endpoint) -> TcpStage:
    return TcpStage(endpoint.host, endpoint.port, connect_slots=new_connect_slots())


def _address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

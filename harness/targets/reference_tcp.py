"""`reference-tcp[:PROFILE]`: the reference coordinator as a server of its own, over TCP, in real time."""

import asyncio
import re
import sys
import time
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

from typing_extensions import override

from harness.targets.base import (
    CONFORMANCE_CONFIG,
    CONFORMANCE_TOPICS,
    Broker,
    BrokerDescription,
    Capability,
    HoldPoint,
    Lever,
    Progress,
    Stage,
    Target,
    TargetError,
)
from harness.targets.prepare import prepare
from harness.targets.program import Program
from harness.targets.reference import DEFAULT_PROFILE, reference_profile
from harness.targets.tcp import TcpStage, new_connect_slots

REFERENCE_ROOT: Final = Path(__file__).resolve().parents[2]
"""Where the reference's package is."""
_HOST: Final = "127.0.0.1"
_READY_LINE: Final = re.compile(r"^listening on \S+:(\d+) profile \S+$", re.MULTILINE)
_READY_POLL_S: Final = 0.02
_START_TIMEOUT_S: Final = 20.0
_STOP_GRACE_S: Final = 2.0


class ReferenceTcpTarget(Target):
    """The reference coordinator's own server, held to one profile."""

    def __init__(
        self, profile: str | None = None, *, profile_in_spec: bool = False, root: Path = REFERENCE_ROOT
    ) -> None:
        self._root = root
        self._profile = reference_profile(profile or DEFAULT_PROFILE).name
        self._suffix = f":{self._profile}" if profile_in_spec else ""

    @property
    @override
    def spec(self) -> str:
        return f"reference-tcp{self._suffix}"

    @property
    @override
    def name(self) -> str:
        return f"reference-tcp{self._suffix.replace(':', '-')}"

    @property
    @override
    def capabilities(self) -> frozenset[Capability]:
        return frozenset({Capability.BROKER_CONFIG, Capability.SOLE_LEADER})

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
        properties = {**CONFORMANCE_CONFIG, **broker_config}
        progress("starting the reference's server")
        program = Program(
            _command(self._root, self._profile, properties), log=directory / "server.log", directory=directory
        )
        try:
            port = await _port_of(program)
            stage = TcpStage(_HOST, port, connect_slots=new_connect_slots())
            try:
                prepared = await prepare(
                    stage,
                    topics=CONFORMANCE_TOPICS,
                    timeout_ms=_START_TIMEOUT_S * 1000,
                    failure=program.failure,
                )
            finally:
                await stage.close()
        except TargetError as error:
            program.kill()
            raise TargetError(f"{self.spec}: {error}") from error
        except BaseException:
            program.kill()
            raise
        description = BrokerDescription(
            spec=self.spec,
            profile=self._profile,
            implementation=f"reference coordinator over TCP, profile {self._profile}",
            bootstrap=f"{_HOST}:{port}",
            broker_config=properties,
            api_ranges=prepared.api_ranges,
            notes=prepared.notes,
        )
        return ReferenceTcpBroker(description, program, port)


class ReferenceTcpBroker(Broker):
    """A running server of the reference."""

    def __init__(self, description: BrokerDescription, program: Program, port: int) -> None:
        self._description = description
        self._program = program
        self._port = port
        self._connect_slots = new_connect_slots()

    @property
    @override
    def description(self) -> BrokerDescription:
        return self._description

    @override
    def open_stage(self, scenario_id: str) -> Stage:
        return TcpStage(_HOST, self._port, connect_slots=self._connect_slots)

    @override
    def failure(self) -> str | None:
        return self._program.failure()

    @override
    async def stop(self) -> None:
        await self._program.stop(grace_s=_STOP_GRACE_S)


def _command(root: Path, profile: str, properties: Mapping[str, str]) -> list[str | Path]:
    # The server is started in a directory of its own, so it is told where the code is.
    boot = f"import sys; sys.path.insert(0, {str(root)!r}); import runpy; "
    boot += "runpy.run_module('reference_coordinator', run_name='__main__', alter_sys=True)"
    configured = [f"--config={name}={value}" for name, value in properties.items()]
    topics = [f"--topic={name}:{partition_count}" for name, partition_count in CONFORMANCE_TOPICS.items()]
    return [sys.executable, "-c", boot, f"--listen={_HOST}:0", f"--profile={profile}", *configured, *topics]


async def _port_of(program: Program) -> int:
    """Wait for the server's ready line and return the port in it."""
    started_s = time.monotonic()
    while True:
        found = _READY_LINE.search(program.log_tail())
        if found is not None:
            return int(found[1])
        lost = program.failure()
        if lost is not None:
            raise TargetError(f"the server is gone before it was ready: {lost}")
        if time.monotonic() - started_s > _START_TIMEOUT_S:
            raise TargetError(f"the server did not get ready within {_START_TIMEOUT_S:g} s")
        await asyncio.sleep(_READY_POLL_S)

"""Stages of brokers that we started ourselves and can do things to."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Protocol

from typing_extensions import override

from harness.targets.base.appending import append_records
from harness.targets.base.interface import Breakpoint, BrokerAction, Connection, Role
from harness.targets.base.long_log import lengthen_log
from harness.targets.base.tcp import TcpStage
from harness.wire.log_records import EncodedRecord


class Controls(Protocol):
    """What can be done to a broker, or to the brokers of a cluster. See `Stage` for each of them."""

    def address(self, role: Role) -> tuple[str, int]:
        """Return the host and port of a broker, as things stand; `TargetError` when there is none."""

    async def carry_out(self, action: BrokerAction, broker_config: Mapping[str, str]) -> None:
        """Do something to the coordinator's broker."""

    async def pause_at(self, point: Breakpoint, partitions: frozenset[int] = frozenset()) -> None:
        """Hold whoever coordinates when it next comes to a point, in some partitions or in any."""

    async def release(self, point: Breakpoint) -> None:
        """Let it go on, and hold nobody there any more."""


class ControlledStage(TcpStage):
    """A stage over the network whose broker obeys."""

    def __init__(self, controls: Controls, *, connect_slots: asyncio.Semaphore) -> None:
        super().__init__(*controls.address(Role.COORDINATOR), connect_slots=connect_slots)
        self._controls = controls

    @override
    async def connect(self, role: Role = Role.COORDINATOR) -> Connection:
        return await self.connect_to(*self._controls.address(role))

    @override
    async def carry_out(self, action: BrokerAction, broker_config: Mapping[str, str]) -> None:
        if action is BrokerAction.LENGTHEN:
            await lengthen_log(self)
        else:
            await self._controls.carry_out(action, broker_config)

    @override
    async def append(self, partition: int, records: Sequence[EncodedRecord]) -> None:
        await append_records(self, partition, records)

    @override
    async def pause_at(self, point: Breakpoint, partitions: frozenset[int] = frozenset()) -> None:
        await self._controls.pause_at(point, partitions)

    @override
    async def release(self, point: Breakpoint) -> None:
        await self._controls.release(point)

"""Brokers that the harness started and can act on, and their sessions."""

import asyncio
from abc import abstractmethod
from collections.abc import Mapping, Sequence

from typing_extensions import override

from harness.targets.base.appending import append_records, lengthen_log
from harness.targets.base.conformance import as_principal
from harness.targets.base.interface import (
    Breakpoint,
    Broker,
    BrokerAction,
    BrokerDescription,
    BrokerSession,
    Connection,
    Role,
    TargetError,
)
from harness.targets.base.tcp import TcpSession, new_connect_slots
from harness.wire.log_records import EncodedRecord


class ControlledBroker(Broker):
    """A broker, or a cluster of brokers, of the harness. `BrokerSession` lists the possible actions."""

    def __init__(self, description: BrokerDescription) -> None:
        self._description = description
        self._connect_slots = new_connect_slots()

    @property
    @override
    def description(self) -> BrokerDescription:
        return self._description

    @override
    def open_session(self, scenario_id: str) -> BrokerSession:
        return ControlledSession(self, connect_slots=self._connect_slots)

    @abstractmethod
    def address(self, role: Role) -> tuple[str, int]:
        """Return the current host and port of a role's broker; raise `TargetError` if there is none."""

    def principals_address(self) -> tuple[str, int]:
        """Return the address of the listener that authenticates clients (Capability.PRINCIPALS)."""
        raise TargetError(f"{self._description.spec} does not ask who connects")

    @abstractmethod
    async def carry_out(self, action: BrokerAction, broker_config: Mapping[str, str]) -> None:
        """Carry out an action on the coordinator's broker; wait until the coordinator can be reached."""

    async def pause_at(self, point: Breakpoint, partitions: frozenset[int] = frozenset()) -> None:
        """Pause the coordinator when it next reaches a breakpoint, in some partitions or in any."""
        where = f" in partitions {sorted(partitions)}" if partitions else ""
        raise TargetError(f"{self._description.spec} cannot be paused at {point.value}{where}")

    async def resume_from(self, point: Breakpoint) -> None:
        """Resume the coordinator, and stop pausing at that breakpoint."""
        raise TargetError(f"{self._description.spec} is not paused at {point.value}")


class ControlledSession(TcpSession):
    """A broker session over the network that can act on its broker."""

    def __init__(self, controls: ControlledBroker, *, connect_slots: asyncio.Semaphore) -> None:
        super().__init__(*controls.address(Role.COORDINATOR), connect_slots=connect_slots)
        self._controls = controls

    @override
    async def connect(self, role: Role = Role.COORDINATOR, *, principal: str | None = None) -> Connection:
        if principal is None:
            return await self.connect_to(*self._controls.address(role))
        return await self.connect_to(*self._controls.principals_address(), security=as_principal(principal))

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
    async def resume_from(self, point: Breakpoint) -> None:
        await self._controls.resume_from(point)

"""A broker session and connections that wrap others, and delegate what a subclass does not override."""

from collections.abc import Mapping, Sequence

from typing_extensions import override

from harness.targets.base.interface import Breakpoint, BrokerAction, BrokerSession, Connection, Frame, Role
from harness.wire.log_records import EncodedRecord


class DelegatedConnection(Connection):
    """A connection that wraps another."""

    def __init__(self, connection: Connection) -> None:
        self._inner = connection

    @override
    async def send(self, payload: bytes) -> None:
        await self._inner.send(payload)

    @override
    async def receive(self, *, timeout_ms: float) -> Frame:
        return await self._inner.receive(timeout_ms=timeout_ms)

    @override
    async def close(self) -> None:
        await self._inner.close()

    @property
    @override
    def is_within_frame(self) -> bool:
        return self._inner.is_within_frame


class DelegatedSession(BrokerSession):
    """A broker session that wraps another."""

    def __init__(self, session: BrokerSession) -> None:
        self._inner = session

    def connection(self, opened: Connection) -> Connection:
        """Return the wrapper of a connection that was opened."""
        return DelegatedConnection(opened)

    @property
    @override
    def settle_ms(self) -> float:
        return self._inner.settle_ms

    @override
    def now_ms(self) -> float:
        return self._inner.now_ms()

    @override
    async def connect(self, role: Role = Role.COORDINATOR, *, principal: str | None = None) -> Connection:
        return self.connection(await self._inner.connect(role, principal=principal))

    @override
    async def elapse(self, duration_ms: float) -> None:
        await self._inner.elapse(duration_ms)

    @override
    async def carry_out(self, action: BrokerAction, broker_config: Mapping[str, str]) -> None:
        await self._inner.carry_out(action, broker_config)

    @override
    async def append(self, partition: int, records: Sequence[EncodedRecord]) -> None:
        await self._inner.append(partition, records)

    @override
    async def pause_at(self, point: Breakpoint, partitions: frozenset[int] = frozenset()) -> None:
        await self._inner.pause_at(point, partitions)

    @override
    async def resume_from(self, point: Breakpoint) -> None:
        await self._inner.resume_from(point)

    @override
    async def close(self) -> None:
        await self._inner.close()

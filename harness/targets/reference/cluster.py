"""The brokers of the reference's cluster, which are one process that is controlled with datagrams.

`reference_coordinator.server.control` documents the commands.
"""

import asyncio
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from harness.targets.base.cluster import node_in
from harness.targets.base.interface import BrokerAction, Role, TargetError

_HOST: Final = "127.0.0.1"
_ANSWER_TIMEOUT_S: Final = 20.0
_DATAGRAM_BYTES_MAX: Final = 65_536
_FIRST_NODE: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class _Status:
    coordinator: int
    up: tuple[int, ...]


class ReferenceCluster:
    """A cluster that is a single process."""

    def __init__(self, control_port: int, ports: Sequence[int]) -> None:
        self._control_port = control_port
        self._ports = dict(enumerate(ports, start=_FIRST_NODE))
        self._status = _Status(coordinator=_FIRST_NODE, up=tuple(self._ports))
        self._former: int | None = None
        self._killed: list[int] = []
        self._still: list[int] = []
        self._without_network: list[int] = []

    def address(self, role: Role) -> tuple[str, int]:
        """Return the address of the coordinator, or of another role's broker."""
        return _HOST, self._ports[self._node_in(role)]

    async def carry_out(self, action: BrokerAction, broker_config: Mapping[str, str]) -> None:
        """Carry out an action on the coordinator's broker; another takes over at once if necessary."""
        before = self._status.coordinator
        match action:
            case BrokerAction.RESTART:
                await self._tell(
                    "restart", before, *(f"{name}={value}" for name, value in broker_config.items())
                )
            case BrokerAction.KILL:
                await self._tell("kill", before)
                self._killed.append(before)
            case BrokerAction.MOVE:
                await self._tell("move", self._node_in(Role.OTHER))
            case _:
                await self._hinder(before, action)
        if self._status.coordinator != before:
            self._former = before

    async def mend(self) -> None:
        """Restart killed brokers; the coordinator that took over remains."""
        while self._killed:
            await self._tell("restart", self._killed.pop())

    async def _hinder(self, node_id: int, action: BrokerAction) -> None:
        """Carry out an action on a broker that continues to run."""
        match action:
            case BrokerAction.PAUSE:
                await self._tell("pause", node_id)
                self._still.append(node_id)
            case BrokerAction.RESUME:
                while self._still:
                    await self._tell("resume", self._still.pop())
            case BrokerAction.DISCONNECT:
                await self._tell("disconnect", node_id)
                self._without_network.append(node_id)
            case BrokerAction.RECONNECT:
                while self._without_network:
                    await self._tell("reconnect", self._without_network.pop())
            case _:
                raise AssertionError("a broker session does this by itself")

    def _node_in(self, role: Role) -> int:
        status = self._status
        return node_in(role, coordinator=status.coordinator, up=status.up, former=self._former)

    async def _tell(self, action: str, node_id: int, *rest: str) -> None:
        command = " ".join((action, str(node_id), *rest))
        answer = await asyncio.to_thread(self._exchange, command)
        state, _, reported = answer.partition(" ")
        if state != "ok":
            raise TargetError(f"the reference's server does not {command}: {reported}")
        coordinator, _, up = reported.partition(" ")
        if not coordinator.isdecimal():
            raise TargetError(f"after {command}, nobody of the reference's cluster coordinates")
        self._status = _Status(coordinator=int(coordinator), up=tuple(map(int, up.split(","))))

    def _exchange(self, command: str) -> str:
        with socket.socket(type=socket.SOCK_DGRAM) as datagrams:
            datagrams.settimeout(_ANSWER_TIMEOUT_S)
            datagrams.connect((_HOST, self._control_port))
            try:
                datagrams.send(command.encode())
                return datagrams.recv(_DATAGRAM_BYTES_MAX).decode()
            except OSError as error:
                raise TargetError(f"the reference's server does not answer {command!r}: {error}") from error

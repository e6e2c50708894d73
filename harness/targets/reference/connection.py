"""A connection to the in-process reference: virtual time jumps while a frame is awaited."""

from collections import deque
from typing import Protocol

from typing_extensions import override

from harness.targets.base.interface import Connection, ConnectionLost, Frame, NoAnswer, PermittedValue
from reference_coordinator.broker.listener import ConnectionId, SendFrame


class ClusterClock(Protocol):
    """The cluster behind a connection, and its clock."""

    def request(self, connection_id: ConnectionId, payload: bytes) -> None:
        """Pass a connection's frame to the cluster."""

    def disconnect(self, connection_id: ConnectionId) -> None:
        """Inform the cluster that a client closed its connection."""

    def limit_ms(self, timeout_ms: float) -> int:
        """Return the clock's time at the end of a wait that begins now."""

    def jump(self, limit_ms: int) -> bool:
        """Advance to the next deadline, or to a limit before it; return whether there was a deadline."""


class ReferenceConnection(Connection):
    """A connection to a broker session's cluster.

    Attributes:
        arrived: frames that have not been received yet.
        loss: why no more frames will come; None while the connection is open.
    """

    def __init__(self, session: ClusterClock, connection_id: ConnectionId) -> None:
        self._session = session
        self._connection_id = connection_id
        self.arrived: deque[Frame] = deque()
        self.loss: str | None = None

    @override
    async def send(self, payload: bytes) -> None:
        if self.loss is not None:
            raise ConnectionLost(self.loss)
        self._session.request(self._connection_id, payload)

    @override
    async def receive(self, *, timeout_ms: float) -> Frame:
        limit_ms = self._session.limit_ms(timeout_ms)
        while not self.arrived:
            if self.loss is not None:
                raise ConnectionLost(self.loss)
            if not self._session.jump(limit_ms):
                raise NoAnswer(f"no frame within {timeout_ms:g} ms")
        return self.arrived.popleft()

    @override
    async def close(self) -> None:
        if self.loss is None:
            self.loss = "closed by us"
            self._session.disconnect(self._connection_id)


def frame_of(effect: SendFrame) -> Frame:
    """Return the frame that a client receives, with the values that the reference permits instead."""
    permitted = tuple(
        PermittedValue(field=choice.field, payloads=choice.frames, reason=choice.reason)
        for choice in effect.permitted
    )
    return Frame(payload=effect.frame, permitted=permitted)

"""What a server serves: a broker or a cluster, and commands for them."""

import socket
from collections.abc import Callable
from typing import Protocol

from reference_coordinator.broker.listener import ConnectionId, HandlerFailed, Outgoing
from reference_coordinator.core.ids import Millis

Connect = Callable[[int, str], ConnectionId | None]
"""Opens a connection from an address to a port, given by index; None if the broker is unreachable."""


class Served(Protocol):
    """A listener, or a cluster's listeners. See `Listener` for the methods."""

    def report_failures(self, handler_failed: HandlerFailed) -> None:
        """Set the function that is called for requests that cannot be handled."""

    def is_busy(self, connection: ConnectionId) -> bool:
        """Return whether a request of a connection is in progress, so that no other may come."""

    def answer_bytes(self, connection: ConnectionId, frame: bytes) -> int:
        """Return about how large the answer to a request frame is, or 0 if it must be small."""

    def received(self, connection: ConnectionId, frame: bytes, *, now_ms: Millis) -> tuple[Outgoing, ...]:
        """Handle a request frame."""

    def refuse_topics(self, *, refuses: bool) -> None:
        """Refuse requests for topics' logs, or serve them again."""

    def disconnected(self, connection: ConnectionId, *, now_ms: Millis) -> tuple[Outgoing, ...]:
        """Forget a connection."""

    def advance(self, *, now_ms: Millis) -> tuple[Outgoing, ...]:
        """Fire all deadlines that are due."""

    def next_deadline(self) -> Millis | None:
        """Return when `advance` is due."""

    def shut_down(self, *, now_ms: Millis) -> tuple[Outgoing, ...]:
        """Shut down in an orderly way, and answer waiting requests."""


class Commands(Protocol):
    """A source of commands for the served brokers."""

    @property
    def socket(self) -> socket.socket:
        """The socket that is readable when there is a command."""

    def obey(self, *, now_ms: Millis) -> tuple[Outgoing, ...]:
        """Execute a command; return its effects on clients."""

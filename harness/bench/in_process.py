"""The reference without a socket: frames go straight to its listener."""

import time
from typing import Final

from harness.targets.base.conformance import CONFORMANCE_CONFIG, CONFORMANCE_TOPICS
from harness.wire.codec import encode_request
from reference_coordinator.broker.listener import ConnectionId, Listener, Outgoing, SendFrame
from reference_coordinator.core.choices import DeterministicChoices
from reference_coordinator.core.ids import Millis
from reference_coordinator.profile.config import GroupCoordinatorConfig
from reference_coordinator.profile.profiles import profile_for

_SIZE_BYTES: Final = 4
_MILLIS_PER_SECOND: Final = 1000
_HOST: Final = "127.0.0.1"
_PORT: Final = 9092


class InProcessBroker:
    """A listener, driven by the real clock."""

    def __init__(self, profile: str) -> None:
        self._listener = Listener(
            profile=profile_for(profile),
            config=GroupCoordinatorConfig.from_properties(CONFORMANCE_CONFIG),
            choices=DeterministicChoices(),
            host=_HOST,
            port=_PORT,
            topics=CONFORMANCE_TOPICS,
        )
        self._arrived: dict[ConnectionId, list[bytes]] = {}
        self._make_coordinator()

    def _make_coordinator(self) -> None:
        """Request a group's coordinator, which makes this broker the coordinator of all groups."""
        question = encode_request("FindCoordinator", 3, correlation_id=1, fields={"key": "g", "key_type": 0})
        self._deliver(self._listener.received(self.connect(), question, now_ms=_now_ms()))
        self._arrived.clear()

    def connect(self) -> ConnectionId:
        """Open a connection."""
        return self._listener.connected(client_host=_HOST)

    def send(self, connection: ConnectionId, stream: bytes) -> None:
        """Send whole requests, each with its size in front."""
        now_ms, position = _now_ms(), 0
        while position < len(stream):
            begin = position + _SIZE_BYTES
            position = begin + int.from_bytes(stream[position:begin], "big")
            self._deliver(self._listener.received(connection, stream[begin:position], now_ms=now_ms))

    def receive(self) -> list[tuple[ConnectionId, bytes]]:
        """Return the bytes sent to each connection since the last call, after firing due deadlines."""
        deadline_ms, now_ms = self._listener.next_deadline(), _now_ms()
        if deadline_ms is not None and deadline_ms <= now_ms:
            self._deliver(self._listener.advance(now_ms=now_ms))
        arrived = [(connection, b"".join(parts)) for connection, parts in self._arrived.items()]
        self._arrived.clear()
        return arrived

    def _deliver(self, outgoing: tuple[Outgoing, ...]) -> None:
        for each in outgoing:
            assert isinstance(each, SendFrame), f"the reference closed a connection: {each}"
            parts = self._arrived.setdefault(each.connection, [])
            parts.append(len(each.frame).to_bytes(_SIZE_BYTES, "big"))
            parts.append(each.frame)


def _now_ms() -> Millis:
    return Millis(int(time.monotonic() * _MILLIS_PER_SECOND))

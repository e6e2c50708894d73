"""A broker in this process with clients on it, for tests: frames in, frames out, and a clock that is set."""

from typing import Any

from reference_coordinator.broker.listener import CloseConnection, ConnectionId, Listener, Outgoing, SendFrame
from reference_coordinator.core.choices import DeterministicChoices
from reference_coordinator.core.ids import Millis
from reference_coordinator.profile.config import GroupCoordinatorConfig
from reference_coordinator.profile.profiles import profile_for
from reference_coordinator.tests.wire_client import read_response, request_frame

PORT = 9092
INITIAL_DELAY_MS = 100


class WireBroker:
    """A listener with topic `orders` of three partitions, and everything that it ever sent."""

    def __init__(self, profile: str = "3.9", **properties: str) -> None:
        config = {
            "group.initial.rebalance.delay.ms": str(INITIAL_DELAY_MS),
            "group.min.session.timeout.ms": "1",
        }
        self.listener = Listener(
            profile=profile_for(profile),
            config=GroupCoordinatorConfig.from_properties(
                config | {name.replace("_", "."): value for name, value in properties.items()}
            ),
            choices=DeterministicChoices(),
            host="localhost",
            port=PORT,
            topics={"orders": 3},
        )
        self.now_ms = Millis(0)
        self.sent: list[Outgoing] = []

    def connect(self) -> "WireClient":
        """Open a connection."""
        return WireClient(self, self.listener.connected(client_host="127.0.0.1"))

    def elapse(self, duration_ms: int) -> None:
        """Let time pass, deadline by deadline."""
        end_ms = self.now_ms + duration_ms
        while (due := self.listener.next_deadline()) is not None and due <= end_ms:
            self.now_ms = Millis(max(self.now_ms, due))
            self.sent.extend(self.listener.advance(now_ms=self.now_ms))
        self.now_ms = Millis(end_ms)

    def elect(self) -> None:
        """Make it the coordinator, as the first FindCoordinator does."""
        self.connect().ask("find_coordinator", 0, key="g")

    def restart(self, *, pause_at_loading: bool = False) -> None:
        """End the broker and start it over its log; every client is to connect anew."""
        if pause_at_loading:
            self.listener.pause_at_loading()
        self.sent.extend(self.listener.restart(now_ms=self.now_ms))

    def resume_from_loading(self) -> None:
        """Finish a load that was paused."""
        self.sent.extend(self.listener.resume_from_loading(now_ms=self.now_ms))


def elected(profile: str = "3.9", **properties: str) -> WireBroker:
    """Return a broker that coordinates groups."""
    broker = WireBroker(profile, **properties)
    broker.elect()
    return broker


class WireClient:
    """A client with one connection."""

    def __init__(self, broker: WireBroker, connection: ConnectionId) -> None:
        self.broker = broker
        self.connection = connection

    def reconnect(self) -> None:
        """Connect anew."""
        self.connection = self.broker.connect().connection

    def send(self, api: str, version: int, **fields: Any) -> None:
        """Send a request."""
        self.send_frame(request_frame(api, version, **fields))

    def send_frame(self, frame: bytes) -> None:
        """Send any bytes as a frame."""
        broker = self.broker
        broker.sent.extend(broker.listener.received(self.connection, frame, now_ms=broker.now_ms))

    def close(self) -> None:
        """Go away."""
        broker = self.broker
        broker.sent.extend(broker.listener.disconnected(self.connection, now_ms=broker.now_ms))

    def frames(self) -> list[bytes]:
        """Return what came and was not taken."""
        return [each.frame for each in self._own() if isinstance(each, SendFrame)]

    def close_reason(self) -> str | None:
        """Return why the broker closed the connection, if it did."""
        return next((each.reason for each in self._own() if isinstance(each, CloseConnection)), None)

    def take(self, api: str, version: int) -> Any:
        """Take the first response that came."""
        first = next(each for each in self._own() if isinstance(each, SendFrame))
        self.broker.sent.remove(first)
        return read_response(api, version, first.frame)

    def ask(self, api: str, version: int, **fields: Any) -> Any:
        """Send a request and take its response, which must be there at once."""
        self.send(api, version, **fields)
        return self.take(api, version)

    def join(self, group_id: str = "g", *, version: int = 3, member_id: str = "", **fields: Any) -> None:
        """Send a JoinGroup with everything that it must have."""
        defaults: dict[str, Any] = {
            "session_timeout": 10_000,
            "rebalance_timeout": 10_000,
            "protocol_type": "consumer",
            "protocols": ({"name": "range", "metadata": b"\0\0"},),
        }
        self.send("join_group", version, group_id=group_id, member_id=member_id, **(defaults | fields))

    def _own(self) -> list[Outgoing]:
        return [each for each in self.broker.sent if each.connection == self.connection]

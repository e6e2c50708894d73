"""A broker in this process with clients on it, for tests: frames in, frames out, and a clock that is set."""

from reference_coordinator.broker.listener import ConnectionId, Listener
from reference_coordinator.core.choices import DeterministicChoices
from reference_coordinator.profile.config import GroupCoordinatorConfig
from reference_coordinator.profile.profiles import profile_for
from reference_coordinator.tests.wire_connection import Client, Wire

PORT = 9092
INITIAL_DELAY_MS = 100


class WireBroker(Wire[Listener]):
    """A listener with topic `orders` of three partitions, and everything that it ever sent."""

    initial_delay_ms = INITIAL_DELAY_MS

    def __init__(self, profile: str = "3.9", **properties: str) -> None:
        config = {
            "group.initial.rebalance.delay.ms": str(INITIAL_DELAY_MS),
            "group.min.session.timeout.ms": "1",
        }
        super().__init__(
            Listener(
                profile=profile_for(profile),
                config=GroupCoordinatorConfig.from_properties(
                    config | {name.replace("_", "."): value for name, value in properties.items()}
                ),
                choices=DeterministicChoices(),
                host="localhost",
                port=PORT,
                topics={"orders": 3},
            )
        )

    @property
    def listener(self) -> Listener:
        """The broker."""
        return self.served

    def connect(self) -> "WireClient":
        """Open a connection."""
        return WireClient(self, self.listener.connected(client_host="127.0.0.1"))

    def elect(self) -> None:
        """Make it the coordinator, as the first FindCoordinator does."""
        self.connect().ask("find_coordinator", 0, key="g")

    def restart(self, *, pause_at_loading: bool = False) -> None:
        """End the broker and start it over its log; every client is to connect anew."""
        if pause_at_loading:
            self.listener.pause_at_loading()
        self.take(self.listener.restart(now_ms=self.now_ms))


def elected(profile: str = "3.9", **properties: str) -> WireBroker:
    """Return a broker that coordinates groups."""
    broker = WireBroker(profile, **properties)
    broker.elect()
    return broker


class WireClient(Client):
    """A client with one connection."""

    def __init__(self, broker: WireBroker, connection: ConnectionId) -> None:
        super().__init__(broker, connection)
        self.broker = broker

    def reconnect(self) -> None:
        """Connect anew."""
        self.connection = self.broker.connect().connection

    def close(self) -> None:
        """Go away."""
        self.broker.take(self.broker.listener.disconnected(self.connection, now_ms=self.broker.now_ms))


def connected(profile: str = "3.9", **properties: str) -> WireClient:
    """Return a client of a broker that coordinates groups."""
    return elected(profile, **properties).connect()

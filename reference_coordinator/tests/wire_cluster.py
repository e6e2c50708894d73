"""Three brokers in this process with clients on them, for tests."""

from reference_coordinator.broker.cluster import Cluster
from reference_coordinator.broker.cluster_state import Node
from reference_coordinator.core.choices import DeterministicChoices
from reference_coordinator.profile.config import GroupCoordinatorConfig
from reference_coordinator.profile.profiles import profile_for
from reference_coordinator.tests.wire_connection import Client, Wire

CONFIG = {
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1",
    "offsets.topic.num.partitions": "2",
}


def config(**properties: str) -> GroupCoordinatorConfig:
    named = {name.replace("_", "."): value for name, value in properties.items()}
    return GroupCoordinatorConfig.from_properties(CONFIG | named)


class WireCluster(Wire[Cluster]):
    """Brokers 1, 2 and 3, the first of which coordinates; and everything that they ever sent."""

    def __init__(self, profile: str = "3.9") -> None:
        super().__init__(
            Cluster(
                profile=profile_for(profile),
                config=config(),
                choices=DeterministicChoices(),
                nodes=[Node(node_id=each, host="localhost", port=9090 + each) for each in (1, 2, 3)],
                topics={"orders": 3},
            )
        )
        for key_type in (0, 1):
            self.client(1).coordinator(key_type=key_type)

    @property
    def cluster(self) -> Cluster:
        return self.served

    def client(self, node_id: int) -> Client:
        return Client(self, self.cluster.connected(node_id, client_host="127.0.0.1"))

    def move(self, to: int, *partitions: int) -> None:
        self.take(self.cluster.move(to, now_ms=self.now_ms, partitions=partitions or None))

    def kill(self, node_id: int) -> None:
        self.take(self.cluster.kill(node_id, now_ms=self.now_ms))

    def restart(self, node_id: int, **properties: str) -> None:
        new = config(**properties) if properties else None
        self.take(self.cluster.restart(node_id, now_ms=self.now_ms, config=new))

    def disconnect(self, node_id: int) -> None:
        self.take(self.cluster.disconnect(node_id, now_ms=self.now_ms))

    def reconnect(self, node_id: int) -> None:
        self.take(self.cluster.reconnect(node_id, now_ms=self.now_ms))

    def resume(self, node_id: int) -> None:
        self.take(self.cluster.resume(node_id, now_ms=self.now_ms))

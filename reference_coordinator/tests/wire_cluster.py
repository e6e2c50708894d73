"""Three brokers in this process with clients on them, for tests."""

from typing import Any

from reference_coordinator.broker.cluster import Cluster
from reference_coordinator.broker.cluster_state import Node
from reference_coordinator.broker.listener import CloseConnection, Outgoing, SendFrame
from reference_coordinator.core.choices import DeterministicChoices
from reference_coordinator.core.ids import Millis
from reference_coordinator.profile.config import GroupCoordinatorConfig
from reference_coordinator.profile.profiles import profile_for
from reference_coordinator.tests.wire_client import read_response, request_frame

CONFIG = {
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1",
    "offsets.topic.num.partitions": "2",
}


def config(**properties: str) -> GroupCoordinatorConfig:
    named = {name.replace("_", "."): value for name, value in properties.items()}
    return GroupCoordinatorConfig.from_properties(CONFIG | named)


class WireCluster:
    """Brokers 1, 2 and 3, the first of which coordinates; and everything that they ever sent."""

    def __init__(self, profile: str = "3.9") -> None:
        self.cluster = Cluster(
            profile=profile_for(profile),
            config=config(),
            choices=DeterministicChoices(),
            nodes=[Node(node_id=each, host="localhost", port=9090 + each) for each in (1, 2, 3)],
            topics={"orders": 3},
        )
        self.now_ms = Millis(0)
        self.sent: list[Outgoing] = []
        for key_type in (0, 1):
            self.client(1).ask("find_coordinator", 1, key="g", key_type=key_type)

    def take(self, outgoing: tuple[Outgoing, ...]) -> None:
        self.sent.extend(outgoing)

    def client(self, node_id: int) -> "ClusterClient":
        return ClusterClient(self, node_id)

    def elapse(self, duration_ms: int) -> None:
        end_ms = self.now_ms + duration_ms
        while (due := self.cluster.next_deadline()) is not None and due <= end_ms:
            self.now_ms = Millis(max(self.now_ms, due))
            self.take(self.cluster.advance(now_ms=self.now_ms))
        self.now_ms = Millis(end_ms)

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


class ClusterClient:
    """A client with one connection to one broker."""

    def __init__(self, cluster: WireCluster, node_id: int) -> None:
        self.cluster = cluster
        self.connection = cluster.cluster.connected(node_id, client_host="127.0.0.1")

    def send(self, api: str, version: int, **fields: Any) -> None:
        frame = request_frame(api, version, **fields)
        cluster = self.cluster
        cluster.take(cluster.cluster.received(self.connection, frame, now_ms=cluster.now_ms))

    def frames(self) -> list[bytes]:
        own = (each for each in self.cluster.sent if each.connection == self.connection)
        return [each.frame for each in own if isinstance(each, SendFrame)]

    @property
    def is_closed(self) -> bool:
        own = (each for each in self.cluster.sent if each.connection == self.connection)
        return any(isinstance(each, CloseConnection) for each in own)

    def take(self, api: str, version: int) -> Any:
        sent = self.cluster.sent
        first = next(
            each for each in sent if each.connection == self.connection and isinstance(each, SendFrame)
        )
        sent.remove(first)
        return read_response(api, version, first.frame)

    def ask(self, api: str, version: int, **fields: Any) -> Any:
        self.send(api, version, **fields)
        return self.take(api, version)

    def join(self, member_id: str = "", group_id: str = "g", **fields: Any) -> None:
        defaults: dict[str, Any] = {
            "session_timeout": 10_000,
            "rebalance_timeout": 10_000,
            "protocol_type": "consumer",
            "protocols": ({"name": "range", "metadata": b"\0\0"},),
        }
        self.send("join_group", 3, group_id=group_id, member_id=member_id, **(defaults | fields))

    def is_member(self, group_id: str = "g") -> str:
        """Become the only member of a Stable group, and return its id."""
        self.join(group_id=group_id)
        self.cluster.elapse(0)
        member_id: str = self.take("join_group", 3).member_id
        assignments = ({"member_id": member_id, "assignment": b"a"},)
        synced = self.ask(
            "sync_group",
            2,
            group_id=group_id,
            generation_id=1,
            member_id=member_id,
            assignments=assignments,
        )
        assert synced.error_code == 0
        return member_id

    def heartbeat(self, member_id: str, *, generation_id: int = 1, group_id: str = "g") -> int:
        fields = {"group_id": group_id, "generation_id": generation_id, "member_id": member_id}
        error: int = self.ask("heartbeat", 2, **fields).error_code
        return error

    def coordinator(self, key: str = "g", key_type: int = 0) -> int:
        node_id: int = self.ask("find_coordinator", 1, key=key, key_type=key_type).node_id
        return node_id

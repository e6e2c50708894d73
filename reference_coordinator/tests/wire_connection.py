"""What broker and cluster have in common for tests: frames in, frames out, and a clock that is set."""

from typing import Any, Generic, TypeVar
from uuid import UUID

from reference_coordinator.broker.cluster import Cluster
from reference_coordinator.broker.listener import CloseConnection, ConnectionId, Listener, Outgoing, SendFrame
from reference_coordinator.core.ids import Millis
from reference_coordinator.tests.wire_client import read_response, request_frame

ServedT = TypeVar("ServedT", bound=Listener | Cluster)


class Wire(Generic[ServedT]):
    """A broker or several, and everything that they ever sent."""

    initial_delay_ms = 0

    def __init__(self, served: ServedT) -> None:
        self.served = served
        self.now_ms = Millis(0)
        self.sent: list[Outgoing] = []

    def take(self, outgoing: tuple[Outgoing, ...]) -> None:
        """Have something sent."""
        self.sent.extend(outgoing)

    def elapse(self, duration_ms: int) -> None:
        """Let time pass, deadline by deadline."""
        end_ms = self.now_ms + duration_ms
        while (due := self.served.next_deadline()) is not None and due <= end_ms:
            self.now_ms = Millis(max(self.now_ms, due))
            self.take(self.served.advance(now_ms=self.now_ms))
        self.now_ms = Millis(end_ms)

    def resume_from_loading(self) -> None:
        """Finish a load that was paused."""
        self.take(self.served.resume_from_loading(now_ms=self.now_ms))


class Client:
    """A client with one connection."""

    def __init__(self, wire: Wire[Any], connection: ConnectionId) -> None:
        self.wire = wire
        self.connection = connection

    def send(self, api: str, version: int, **fields: Any) -> None:
        """Send a request."""
        self.send_frame(request_frame(api, version, **fields))

    def send_frame(self, frame: bytes) -> None:
        """Send any bytes as a frame."""
        self.wire.take(self.wire.served.received(self.connection, frame, now_ms=self.wire.now_ms))

    def frames(self) -> list[bytes]:
        """Return what came and was not taken."""
        return [each.frame for each in self._own() if isinstance(each, SendFrame)]

    def close_reason(self) -> str | None:
        """Return why the broker closed the connection, if it did."""
        return next((each.reason for each in self._own() if isinstance(each, CloseConnection)), None)

    @property
    def is_closed(self) -> bool:
        """Whether the broker closed the connection."""
        return self.close_reason() is not None

    def take(self, api: str, version: int) -> Any:
        """Take the first response that came."""
        first = next(each for each in self._own() if isinstance(each, SendFrame))
        self.wire.sent.remove(first)
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

    def joined(self, *, version: int = 3, **fields: Any) -> str:
        """Join as the first member of a group, and return the id."""
        self.join(version=version, **fields)
        self.wire.elapse(self.wire.initial_delay_ms)
        member_id: str = self.take("join_group", version).member_id
        return member_id

    def is_member(self, group_id: str = "g") -> str:
        """Become the only member of a Stable group, and return its id."""
        member_id = self.joined(group_id=group_id)
        assignments = ({"member_id": member_id, "assignment": b"a"},)
        fields = {"group_id": group_id, "generation_id": 1, "member_id": member_id}
        synced = self.ask("sync_group", 2, **fields, assignments=assignments)
        assert (synced.error_code, synced.assignment) == (0, b"a")
        return member_id

    def heartbeat(self, member_id: str = "", *, generation_id: int = 1, group_id: str = "g") -> int:
        """Send a heartbeat, and return the error."""
        fields = {"group_id": group_id, "generation_id": generation_id, "member_id": member_id}
        error: int = self.ask("heartbeat", 2, **fields).error_code
        return error

    def coordinator(self, key: str = "g", key_type: int = 0) -> int:
        """Ask for a coordinator."""
        node_id: int = self.ask("find_coordinator", 1, key=key, key_type=key_type).node_id
        return node_id

    def topic_id(self, name: str = "orders") -> UUID:
        """Ask for the id of a topic."""
        (topic,) = self.ask("metadata", 12, topics=({"name": name},)).topics
        assert isinstance(topic.topic_id, UUID)
        return topic.topic_id

    def send_commit(self, offset: int, *, group_id: str = "g") -> None:
        """Send an OffsetCommit of nobody for partition 0 of `orders`."""
        partition = {"partition_index": 0, "committed_offset": offset, "committed_metadata": ""}
        topics = ({"name": "orders", "partitions": (partition,)},)
        self.send("offset_commit", 5, group_id=group_id, generation_id_or_member_epoch=-1, topics=topics)

    def commit(self, offset: int, *, group_id: str = "g") -> int:
        """Commit for nobody, and return the error."""
        self.send_commit(offset, group_id=group_id)
        error: int = self.take("offset_commit", 5).topics[0].partitions[0].error_code
        return error

    def committed(self, *, group_id: str = "g", partition: int = 0, stable: bool = False) -> tuple[int, int]:
        """Fetch the offset of a partition of `orders`, and return it with the error."""
        topics = ({"name": "orders", "partition_indexes": (partition,)},)
        asked: dict[str, Any] = {"group_id": group_id, "topics": topics}
        if stable:
            asked["require_stable"] = True
        found = self.ask("offset_fetch", 7 if stable else 5, **asked)
        if found.error_code:
            return -1, found.error_code
        (fetched,) = found.topics[0].partitions
        return fetched.committed_offset, fetched.error_code

    def _own(self) -> list[Outgoing]:
        return [each for each in self.wire.sent if each.connection == self.connection]

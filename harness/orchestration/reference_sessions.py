"""Sessions that wrap the reference's, to find out which scripts affect each other on a shared broker."""

from collections.abc import Awaitable, Callable
from typing import Final

from typing_extensions import override

from harness.targets.base.delegated import DelegatedConnection, DelegatedSession
from harness.targets.base.dialogue import Dialogue, NotYet
from harness.targets.base.interface import BrokerSession, Connection, Frame
from harness.wire.codec import Fields

PACE_MS: Final = 7
"""The time that passes before a paced request: more than none, and less than any script waits for."""
_LOG: Final = "__consumer_offsets"
_LATEST: Final = -1
"""The timestamp with which ListOffsets requests the end of a log."""
_OTHER: Final = "kafka-conformance-other"
_SESSION_MS: Final = 1_800_000
"""The longest session timeout that Kafka grants by default: no script lasts as long."""


async def end_offsets(session: BrokerSession, partitions: int) -> list[tuple[str | None, int]]:
    """Return an error code and the end offset of each partition of the coordinator's log.

    Raises:
        NotYet: the broker does not answer.
    """
    connection = await session.connect()
    dialogue = Dialogue(connection)
    await dialogue.learn_versions()
    wanted: list[Fields] = [{"partition_index": each, "timestamp": _LATEST} for each in range(partitions)]
    topic: Fields = {"name": _LOG, "partitions": wanted}
    version = dialogue.version_of("ListOffsets", (5, 4, 3, 2))
    answer = await dialogue.ask("ListOffsets", version, {"replica_id": -1, "topics": [topic]})
    await connection.close()
    found = (each for row in answer.rows("topics") for each in row.rows("partitions"))
    return [(each.text("error_code"), each.number("offset")) for each in found]


class OtherGroup:
    """A group with one member that is unrelated to a script, and repeats the same requests."""

    def __init__(self, session: BrokerSession) -> None:
        self._session = session
        self._dialogue: Dialogue | None = None
        self._member: Fields = {}
        self._usual: tuple[str | None, ...] = ()
        self._disturbed = False

    async def join(self) -> None:
        """Form a stable group; raises NotYet if the configuration does not allow one."""
        self._dialogue = Dialogue(await self._session.connect())
        await self._dialogue.learn_versions()
        joining: Fields = {
            "group_id": _OTHER,
            "session_timeout_ms": _SESSION_MS,
            "rebalance_timeout_ms": _SESSION_MS,
            "member_id": "",
            "protocol_type": "consumer",
            "protocols": [{"name": "range", "metadata": b""}],
        }
        joined = await self._dialogue.ask("JoinGroup", 3, joining)
        self._member = {
            "group_id": _OTHER,
            "generation_id": joined.number("generation_id"),
            "member_id": joined.text("member_id"),
        }
        await self._dialogue.ask("SyncGroup", 2, {**self._member, "assignments": []})
        self._usual = await self._answers()

    async def look(self) -> None:
        """Repeat the requests, and remember if an answer differs from the usual one."""
        if self._disturbed:
            return
        try:
            self._disturbed = await self._answers() != self._usual
        except NotYet:
            self._disturbed = True

    async def is_disturbed(self) -> bool:
        """Return whether any answer differed from the usual one."""
        await self.look()
        return self._disturbed

    async def _answers(self) -> tuple[str | None, ...]:
        assert self._dialogue is not None
        before_ms = self._session.now_ms()
        beat = await self._dialogue.ask("Heartbeat", 3, self._member)
        version = self._dialogue.version_of("OffsetCommit", (7, 6, 5))
        partition: Fields = {"partition_index": 0, "committed_offset": 7}
        topics: list[Fields] = [{"name": "orders", "partitions": [partition]}]
        commit = await self._dialogue.ask(
            "OffsetCommit",
            version,
            {
                "group_id": _OTHER,
                "generation_id_or_member_epoch": self._member["generation_id"],
                "member_id": self._member["member_id"],
                "topics": topics,
            },
        )
        reported = [
            each.text("error_code") for row in commit.rows("topics") for each in row.rows("partitions")
        ]
        return (beat.text("error_code"), *reported, str(self._session.now_ms() - before_ms))


class Watched(DelegatedSession):
    """A broker session on which another group checks after each answer and wait that its own are as usual."""

    def __init__(self, session: BrokerSession, other: OtherGroup) -> None:
        super().__init__(session)
        self._other = other

    @override
    async def elapse(self, duration_ms: float) -> None:
        await super().elapse(duration_ms)
        await self._other.look()

    @override
    def connection(self, opened: Connection) -> Connection:
        return _LookingConnection(opened, self._other.look)


class _LookingConnection(DelegatedConnection):
    def __init__(self, connection: Connection, look: Callable[[], Awaitable[None]]) -> None:
        super().__init__(connection)
        self._look = look

    @override
    async def receive(self, *, timeout_ms: float) -> Frame:
        try:
            return await super().receive(timeout_ms=timeout_ms)
        finally:
            await self._look()


class AmongTopics(DelegatedSession):
    """A broker session on which another client creates a topic whenever time passes."""

    def __init__(self, session: BrokerSession) -> None:
        super().__init__(session)
        self._made = 0

    @override
    async def elapse(self, duration_ms: float) -> None:
        connection = await self._inner.connect()
        dialogue = Dialogue(connection)
        await dialogue.learn_versions()
        self._made += 1
        topic: Fields = {
            "name": f"{_OTHER}-{self._made}",
            "num_partitions": 1,
            "replication_factor": 1,
            "assignments": [],
            "configs": [],
        }
        await dialogue.ask("CreateTopics", 2, {"topics": [topic], "timeout_ms": PACE_MS})
        await connection.close()
        await super().elapse(duration_ms)


class Paced(DelegatedSession):
    """A broker session on which time passes before each request."""

    @override
    def connection(self, opened: Connection) -> Connection:
        return _PacedConnection(opened, self)


class _PacedConnection(DelegatedConnection):
    def __init__(self, connection: Connection, session: BrokerSession) -> None:
        super().__init__(connection)
        self._session = session

    @override
    async def send(self, payload: bytes) -> None:
        await self._session.elapse(PACE_MS)
        await super().send(payload)

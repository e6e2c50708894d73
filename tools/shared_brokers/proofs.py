"""What runs on the reference show of a script: whether it affects others, and what it leaves behind."""

import json
from collections.abc import Awaitable, Callable, Mapping
from enum import StrEnum
from functools import cache
from typing import Final

from typing_extensions import override

from harness.orchestration.reference_runs import PACE_MS, ReferenceRuns, conversation_digest
from harness.runner.applicable import why_not_applicable
from harness.runner.broker_actions import takes_log_away
from harness.runner.placing import num_partitions
from harness.scenario import Capability, Conversation, ask, expect, record, scenario
from harness.scenario.script import Elapse, Script
from harness.targets.base.clearing import clear_log
from harness.targets.base.delegated import DelegatedConnection, DelegatedSession
from harness.targets.base.dialogue import Dialogue, NotYet
from harness.targets.base.interface import BrokerSession, Connection, Frame, TargetError
from harness.wire.codec import Fields

_LOG: Final = "__consumer_offsets"
_LATEST: Final = -1
"""The timestamp with which ListOffsets requests the end of a log."""
_OTHER: Final = "kafka-conformance-other"
_SESSION_MS: Final = 1_800_000
"""The longest session timeout that Kafka grants by default: no script lasts as long."""
_CLEAR_MS: Final = 200.0


class Left(StrEnum):
    """The state of a broker on which a script has run, for the scripts after it."""

    CLEAN = "clean"
    """Like a new broker."""
    TO_CLEAR = "to clear"
    """Like a new broker, once its log is cleared."""
    SPOILT = "spoilt"
    """Unlike a new broker, even once its log is cleared."""


class Proofs(ReferenceRuns):
    """Runs of scripts on the reference in one profile, and of others beside and after them."""

    def __init__(self, profile: str) -> None:
        super().__init__(profile)
        self._digests: dict[tuple[str, str, str], str] = {}
        """Digests of conversations, by scenario id, configuration, and what else happens on the broker."""
        self._new: dict[tuple[str, bool], str] = {}
        """Digests of the probe's conversation on unused brokers, by configuration and `cleared`."""

    @override
    async def digest(
        self, script: Script, config: Mapping[str, str], wrapped: Callable[[BrokerSession], BrokerSession]
    ) -> str:
        key = (script.id, json.dumps(dict(config), sort_keys=True), wrapped.__name__)
        if key not in self._digests:
            self._digests[key] = await super().digest(script, config, wrapped)
        return self._digests[key]

    async def disturbs(self, script: Script, config: Mapping[str, str]) -> bool:
        """Return whether a script deletes the log, or changes the answers to another group on its broker."""
        return takes_log_away(script) or await self._disturbs_others(script, config)

    async def _disturbs_others(self, script: Script, config: Mapping[str, str]) -> bool:
        session = (await self.broker(config)).open_session(script.id)
        other = _OtherGroup(session)
        try:
            await other.join()
            await self.run(script, config, _Watched(session, other))
            return await other.is_disturbed()
        except (NotYet, TargetError):
            return True
        finally:
            await session.close()

    async def minds_topics(self, script: Script, config: Mapping[str, str]) -> bool:
        """Return whether a script's conversation changes if other clients create topics while it waits."""
        if not any(isinstance(step, Elapse) for step in script.steps):
            return False
        return await self.digest(script, config, _AmongTopics) != await self.trace(script, config)

    async def writes(self, script: Script, config: Mapping[str, str]) -> bool:
        """Return whether a script writes to the coordinator's log, or creates or deletes it."""
        broker = await self.broker(config)
        session = broker.open_session(script.id)
        partitions = num_partitions(broker.description) or 1
        try:
            before = await _end_offsets(session, partitions)
            await self.run(script, config, session)
            return await _end_offsets(session, partitions) != before
        except (NotYet, TargetError):
            return True
        finally:
            await session.close()

    async def left(self, script: Script, config: Mapping[str, str]) -> Left:
        """Return the state of a broker on which a script has run."""
        if takes_log_away(script) and not await self._disturbs_others(script, config):
            return Left.SPOILT
        for left in (Left.CLEAN, Left.TO_CLEAR):
            cleared = left is Left.TO_CLEAR
            key = (json.dumps(dict(config), sort_keys=True), cleared)
            if key not in self._new:
                self._new[key] = await self._after(None, config, cleared=cleared)
            if await self._after(script, config, cleared=cleared) == self._new[key]:
                return left
        return Left.SPOILT

    async def _after(self, script: Script | None, config: Mapping[str, str], *, cleared: bool) -> str:
        broker = await self.broker(config)
        partitions = num_partitions(broker.description) or 1
        with_consumers = _probe(partitions, consumers=True)
        lacks_consumers = why_not_applicable(with_consumers, self.target.capabilities, broker.description)
        probing = _probe(partitions, consumers=False) if lacks_consumers else with_consumers
        session = broker.open_session(probing.id)
        try:
            if script is not None:
                await self.run(script, config, session)
            if cleared:
                await clear_log(session, partitions=partitions, timeout_ms=_CLEAR_MS)
            return conversation_digest(await self.run(probing, config, session))
        except TargetError as error:
            return f"{script and script.id}: {error}"
        finally:
            await session.close()


@cache
def _probe(partitions: int, *, consumers: bool) -> Script:
    """Return the script that runs after another one, to find out whether the broker is as it was.

    Args:
        partitions: the number of partitions of `__consumer_offsets`; there is a group in each.
        consumers: whether one of the groups is a consumer group (KIP-848).
    """

    @scenario(
        "packing/probe/comes-back", source="GroupCoordinatorService#onElection", needs=(Capability.RESTART,)
    )
    def comes_back(conversation: Conversation) -> None:
        """Groups form and commit, and are there again after a restart."""
        ana, bob = conversation.stable_group("ana", "bob")
        apart = [conversation.group(f"apart-{each}", partition=each) for each in range(partitions)]
        for group in apart:
            ana.sends(
                ask.offset_commit(group_id=group, generation_id=-1, member_id="", topics={"orders": {0: 7}})
            )
            ana.receives(expect.response("OffsetCommit"))
        eve = conversation.member("eve") if consumers else None
        if eve is not None:
            eve.enters(group_id=conversation.group("consumers"))
        conversation.restarts_coordinator()
        for group in apart:
            ana.repeats(
                ask.offset_fetch(group_id=group, topics={"orders": (0,)}),
                until=expect.response("OffsetFetch", error_code="NONE"),
                within_ms=10_000,
            )
        for member in (ana, bob):
            member.sends(ask.heartbeat())
            member.receives(expect.heartbeat(error_code="NONE"))
        if eve is not None:
            eve.heartbeats(group_id=conversation.group("consumers"), owned=eve.assigned)
            conversation.member("fay").enters(group_id=conversation.group("consumers"))

    return record(comes_back)


async def _end_offsets(session: BrokerSession, partitions: int) -> list[tuple[str | None, int]]:
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


class _OtherGroup:
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


class _Watched(DelegatedSession):
    """A broker session on which another group checks after each answer and wait that its own are as usual."""

    def __init__(self, session: BrokerSession, other: _OtherGroup) -> None:
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


class _AmongTopics(DelegatedSession):
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

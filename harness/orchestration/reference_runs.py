"""Runs of single scripts on the reference, which show whether scripts may share a broker.

In virtual time a run takes milliseconds, and equal runs are equal to the byte. So the runs quickly show what
a real broker would take minutes to show: whether another configuration affects a script, whether the script
affects others, and what it leaves behind.
"""

import json
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final

from harness.orchestration.reference_sessions import (
    PACE_MS,
    AmongTopics,
    OtherGroup,
    Paced,
    Watched,
    end_offsets,
)
from harness.runner.applicable import why_not_applicable, why_not_served
from harness.runner.broker_actions import takes_log_away
from harness.runner.interpreter import Interpreter
from harness.runner.placing import group_ids, num_partitions
from harness.runner.recorder import EventPosition, Recorder
from harness.runner.sharing import asked_config
from harness.scenario import Capability, Conversation, ask, expect, record, scenario
from harness.scenario.bindings import Bindings
from harness.scenario.script import Script
from harness.targets.base.clearing import clear_log
from harness.targets.base.conformance import CHECK_INTERVAL
from harness.targets.base.dialogue import NotYet
from harness.targets.base.interface import Broker, BrokerSession, TargetError
from harness.targets.reference.target import ReferenceTarget
from harness.trace.canonical import Canonicaliser, member_prefixes
from harness.trace.events import Event, EventKind

_REPORTED: Final = (
    *("step", "kind", "actor", "connection", "api", "api_version"),
    *("elapsed_ms", "canonical", "permitted", "note"),
)
"""The fields of an event that depend neither on chance nor on when the conversation began."""
_CLEAR_MS: Final = 200.0
_RUN_ID: Final = "on-the-reference"


class Left(StrEnum):
    """The state of a broker on which a script has run, for the scripts after it."""

    CLEAN = "clean"
    """Like a new broker."""
    TO_CLEAR = "to clear"
    """Like a new broker, once its log is cleared."""
    SPOILT = "spoilt"
    """Unlike a new broker, even once its log is cleared."""


class ReferenceRuns:
    """Runs scripts on the reference in one profile."""

    def __init__(self, profile: str) -> None:
        self._target = ReferenceTarget(profile)
        self._brokers: dict[str, Broker] = {}
        self._new: dict[tuple[str, bool], str] = {}
        """Digests of the probe's conversation on unused brokers, by configuration and `cleared`."""

    async def is_served(self, script: Script) -> bool:
        """Return whether the profile serves the requests of a script, whatever else the script needs."""
        description = (await self._broker(asked_config(script))).description
        return why_not_served(script, description) is None

    async def trace(self, script: Script, config: Mapping[str, str]) -> str:
        """Return a digest of a script's conversation under a configuration, including times."""
        return await self._digest(script, config, lambda session: session)

    async def hurried_trace(self, script: Script, config: Mapping[str, str]) -> str:
        """Return a digest of the conversation where time passes and offsets expire before each request.

        On a real broker with a short interval, a sweep may come between any two requests; in virtual time, no
        time passes between them. If the configuration sets no interval, there is no sweep here either.
        """
        hurried = {**config, CHECK_INTERVAL: str(PACE_MS)} if CHECK_INTERVAL in config else config
        return await self._digest(script, hurried, Paced)

    async def disturbs(self, script: Script, config: Mapping[str, str]) -> bool:
        """Return whether a script deletes the log, or changes the answers to another group on its broker."""
        return takes_log_away(script) or await self._disturbs_others(script, config)

    async def _disturbs_others(self, script: Script, config: Mapping[str, str]) -> bool:
        session = (await self._broker(config)).open_session(script.id)
        other = OtherGroup(session)
        try:
            await other.join()
            await self._run(script, config, Watched(session, other))
            return await other.is_disturbed()
        except (NotYet, TargetError):
            return True
        finally:
            await session.close()

    async def trace_among_topics(self, script: Script, config: Mapping[str, str]) -> str:
        """Return a digest of the conversation where others create a topic whenever the script waits."""
        return await self._digest(script, config, AmongTopics)

    async def writes(self, script: Script, config: Mapping[str, str]) -> bool:
        """Return whether a script writes to the coordinator's log, or creates or deletes it."""
        broker = await self._broker(config)
        session = broker.open_session(script.id)
        partitions = num_partitions(broker.description) or 1
        try:
            before = await end_offsets(session, partitions)
            await self._run(script, config, session)
            return await end_offsets(session, partitions) != before
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
        broker = await self._broker(config)
        partitions = num_partitions(broker.description) or 1
        with_consumers = probe(partitions, consumers=True)
        lacks_consumers = why_not_applicable(with_consumers, self._target.capabilities, broker.description)
        probing = probe(partitions, consumers=False) if lacks_consumers else with_consumers
        session = broker.open_session(probing.id)
        try:
            if script is not None:
                await self._run(script, config, session)
            if cleared:
                await clear_log(session, partitions=partitions, timeout_ms=_CLEAR_MS)
            return _digest_of(await self._run(probing, config, session))
        except TargetError as error:
            return f"{script and script.id}: {error}"
        finally:
            await session.close()

    async def _digest(
        self, script: Script, config: Mapping[str, str], wrapped: Callable[[BrokerSession], BrokerSession]
    ) -> str:
        session = (await self._broker(config)).open_session(script.id)
        try:
            return _digest_of(await self._run(script, config, wrapped(session)))
        finally:
            await session.close()

    async def _broker(self, config: Mapping[str, str]) -> Broker:
        key = json.dumps(dict(config), sort_keys=True)
        if key not in self._brokers:
            self._brokers[key] = await self._target.start(
                broker_config=config, directory=Path(), progress=lambda _: None
            )
        return self._brokers[key]

    async def _run(self, script: Script, config: Mapping[str, str], session: BrokerSession) -> list[Event]:
        broker = await self._broker(config)
        partitions = num_partitions(broker.description)
        events: list[Event] = []
        reason = why_not_applicable(script, self._target.capabilities, broker.description)
        # If a script is not applicable, its groups may have no partition either.
        groups = {} if reason else group_ids(script, run_id=_RUN_ID, partitions=partitions)
        recorder = _recorder(script, groups, session, events)
        if reason is not None:
            recorder.note(EventKind.NOT_APPLICABLE, EventPosition(step=-1), reason)
            return events
        interpreter = Interpreter(
            script=script,
            session=session,
            recorder=recorder,
            bindings=Bindings(groups=groups),
            partitions=partitions,
            broker_failure=broker.failure,
        )
        try:
            await interpreter.run()
        except TargetError as error:
            recorder.note(EventKind.ABANDONED, EventPosition(step=-1), str(error))
        return events


def _recorder(
    script: Script, groups: Mapping[str, str], session: BrokerSession, events: list[Event]
) -> Recorder:
    prefixes = member_prefixes(
        (sheet.name, prefix)
        for sheet in script.actors
        for prefix in (sheet.client_id, sheet.group_instance_id)
    )
    return Recorder(
        run_id=_RUN_ID,
        target="reference",
        script=script,
        canonicaliser=Canonicaliser(groups={real: name for name, real in groups.items()}, actors=prefixes),
        write=events.append,
        now_ms=session.now_ms,
    )


def _digest_of(events: list[Event]) -> str:
    """Hash what a client could distinguish: everything except chance, and when the conversation began."""
    reported = [[getattr(each, name) for name in _REPORTED] for each in events]
    return sha256(json.dumps(reported).encode()).hexdigest()[:20]


@cache
def probe(partitions: int, *, consumers: bool) -> Script:
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

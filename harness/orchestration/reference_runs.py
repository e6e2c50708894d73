"""Runs of single scripts on the reference, which show whether another configuration affects a script.

In virtual time a run takes milliseconds, and equal runs are equal to the byte.
"""

import json
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Final

from typing_extensions import override

from harness.runner.applicable import why_not_applicable, why_not_served
from harness.runner.interpreter import Interpreter
from harness.runner.placing import group_ids, num_partitions
from harness.runner.recorder import EventPosition, Recorder
from harness.runner.sharing import asked_config
from harness.scenario.bindings import Bindings
from harness.scenario.script import Script
from harness.targets.base.conformance import CHECK_INTERVAL
from harness.targets.base.delegated import DelegatedConnection, DelegatedSession
from harness.targets.base.interface import Broker, BrokerSession, Connection, TargetError
from harness.targets.reference.target import ReferenceTarget
from harness.trace.canonical import Canonicaliser, member_prefixes
from harness.trace.events import Event, EventKind

_REPORTED: Final = (
    *("step", "kind", "actor", "connection", "api", "api_version"),
    *("elapsed_ms", "canonical", "permitted", "note"),
)
"""The fields of an event that depend neither on chance nor on when the conversation began."""
PACE_MS: Final = 7
"""The time that passes before a paced request: more than none, and less than any script waits for."""
_RUN_ID: Final = "on-the-reference"


class ReferenceRuns:
    """Runs scripts on the reference in one profile."""

    def __init__(self, profile: str) -> None:
        self.target = ReferenceTarget(profile)
        self._brokers: dict[str, Broker] = {}

    async def is_served(self, script: Script) -> bool:
        """Return whether the profile serves the requests of a script, whatever else the script needs."""
        description = (await self.broker(asked_config(script))).description
        return why_not_served(script, description) is None

    async def trace(self, script: Script, config: Mapping[str, str]) -> str:
        """Return a digest of a script's conversation under a configuration, including times."""
        return await self.digest(script, config, lambda session: session)

    async def hurried_trace(self, script: Script, config: Mapping[str, str]) -> str:
        """Return a digest of the conversation where time passes and offsets expire before each request.

        On a real broker with a short interval, a sweep may come between any two requests; in virtual time, no
        time passes between them. If the configuration sets no interval, there is no sweep here either.
        """
        hurried = {**config, CHECK_INTERVAL: str(PACE_MS)} if CHECK_INTERVAL in config else config
        return await self.digest(script, hurried, _Paced)

    async def digest(
        self, script: Script, config: Mapping[str, str], wrapped: Callable[[BrokerSession], BrokerSession]
    ) -> str:
        """Return a digest of the conversation in a session that wraps the reference's."""
        session = (await self.broker(config)).open_session(script.id)
        try:
            return digest_of(await self.run(script, config, wrapped(session)))
        finally:
            await session.close()

    async def broker(self, config: Mapping[str, str]) -> Broker:
        """Return the broker with a configuration; it is started when it is first asked for."""
        key = json.dumps(dict(config), sort_keys=True)
        if key not in self._brokers:
            self._brokers[key] = await self.target.start(
                broker_config=config, directory=Path(), progress=lambda _: None
            )
        return self._brokers[key]

    async def run(self, script: Script, config: Mapping[str, str], session: BrokerSession) -> list[Event]:
        """Run a script in a session, and return its events."""
        broker = await self.broker(config)
        partitions = num_partitions(broker.description)
        events: list[Event] = []
        reason = why_not_applicable(script, self.target.capabilities, broker.description)
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


def digest_of(events: list[Event]) -> str:
    """Hash what a client could distinguish: everything except chance, and when the conversation began."""
    reported = [[getattr(each, name) for name in _REPORTED] for each in events]
    return sha256(json.dumps(reported).encode()).hexdigest()[:20]


class _Paced(DelegatedSession):
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


async def is_alike(script: Script, config: Mapping[str, str], runs: ReferenceRuns) -> bool:
    """Return whether a script's conversation under a configuration equals the one under its own."""
    own = asked_config(script)
    if own == config:
        return True
    if await runs.trace(script, config) != await runs.trace(script, own):
        return False
    if CHECK_INTERVAL in own or CHECK_INTERVAL not in config:
        return True
    return await runs.hurried_trace(script, config) == await runs.hurried_trace(script, own)

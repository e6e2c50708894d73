"""Runs of single scripts on the reference: whether another configuration affects a script, and what is kept.

In virtual time a run takes milliseconds, and equal runs are equal to the byte. What runs showed is kept from
one process to the next.

The harness's own brokers let members of the newer group types join, be assigned and be fenced at once, and
scripts rely on this. External brokers have delays, and bounds on a group's configuration. Whether a script
depends on them is tried here too.
"""

import asyncio
import json
import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache
from hashlib import sha256
from importlib.metadata import version
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
from harness.targets.base.conformance import CHECK_INTERVAL, QUICK_CONSUMER_GROUPS
from harness.targets.base.delegated import DelegatedConnection, DelegatedSession
from harness.targets.base.interface import (
    Broker,
    BrokerDescription,
    BrokerSession,
    Connection,
    TargetError,
    closing,
)
from harness.targets.jars.cache import cache_directory
from harness.targets.reference.target import ReferenceTarget
from harness.trace.canonical import Canonicaliser, member_prefixes
from harness.trace.events import Event, EventKind
from harness.trace.schema import TraceError, json_object

_PACKAGE: Final = Path(__file__).resolve().parents[1]
_SOURCES: Final = (
    *(_PACKAGE / each for each in ("runner", "scenario", "targets", "trace", "wire")),
    _PACKAGE / "diff" / "alignment.py",
    *(_PACKAGE / "orchestration" / each for each in ("attributing.py", "reference_runs.py")),
    _PACKAGE.parent / "kio_extension",
    _PACKAGE.parent / "reference_coordinator",
)
"""The code that a run on the reference depends on, or what is concluded from such runs."""
_DIGEST_LENGTH: Final = 20


class KnownTexts(dict[str, str]):
    """Texts by key that are kept on this machine while the code stays the same.

    A damaged file counts as missing, and so does one that other code has written.
    """

    def __init__(self, file: Path, code: str) -> None:
        super().__init__(_read(file, code))
        self._file = file
        self._code = code
        self._count_before = len(self)

    def keep(self) -> None:
        """Write the texts to the file; if that fails, the next process finds them out again."""
        if len(self) == self._count_before:
            return
        content = {"code": self._code, "known": self, "digest": digest_of(self)}
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile("w", dir=self._file.parent, delete=False) as written:
                json.dump(content, written)
            Path(written.name).replace(self._file)
        except OSError:
            return


def cache_file(subject: str, name: str) -> Path:
    """Return the file of this machine's cache with what is known of a subject."""
    return cache_directory().parent / subject / f"{name}.json"


@cache
def code_digest() -> str:
    """Return a hash of all code that a run on the reference depends on."""
    found = (path for each in _SOURCES for path in ([each] if each.is_file() else sorted(each.rglob("*.*"))))
    files = (path for path in found if path.suffix in {".py", ".json"} and "tests" not in path.parts)
    return digest_of([version("kio"), *(path.read_text(encoding="utf-8") for path in files)])


def digest_of(content: Mapping[str, str] | Sequence[str]) -> str:
    """Return a hash of texts."""
    return sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:_DIGEST_LENGTH]


def _read(file: Path, code: str) -> dict[str, str]:
    try:
        content = json_object(file.read_bytes(), where=str(file))
        known = {str(key): str(text) for key, text in content["known"].items()}
        return known if (content["code"], content["digest"]) == (code, digest_of(known)) else {}
    except (OSError, TraceError, KeyError, AttributeError):
        return {}


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
        async with closing((await self.broker(config)).open_session(script.id)) as session:
            return conversation_digest(await self.run(script, config, wrapped(session)))

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


def conversation_digest(events: list[Event]) -> str:
    """Hash what a client could distinguish: everything except chance, and when the conversation began."""
    reported = [[getattr(each, name) for name in _REPORTED] for each in events]
    return sha256(json.dumps(reported).encode()).hexdigest()[:_DIGEST_LENGTH]


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


_USUAL: Final = {name: value for name, value in QUICK_CONSUMER_GROUPS.items() if not name.endswith(".enable")}
_PROTOCOLS: Final = frozenset({"ConsumerGroupHeartbeat", "ShareGroupHeartbeat", "StreamsGroupHeartbeat"})


async def with_needs(scripts: Sequence[Script], description: BrokerDescription) -> Sequence[Script]:
    """Return scripts that ask for usual settings where the broker's own make a difference."""
    reported = description.broker_config
    other = {name: reported[name] for name in _USUAL if reported.get(name, _USUAL[name]) != _USUAL[name]}
    if not other:
        return scripts
    # Hundreds of conversations in virtual time would delay the timers of this event loop.
    return await asyncio.to_thread(lambda: asyncio.run(_with_usual(scripts, description, other)))


async def _with_usual(
    scripts: Sequence[Script], description: BrokerDescription, other: Mapping[str, str]
) -> Sequence[Script]:
    try:
        runs = ReferenceRuns(description.profile)
    except TargetError:
        return scripts
    known = KnownTexts(cache_file("needs", description.profile), code_digest())
    found = []
    for each in scripts:
        minded: Collection[str] = ()
        if _PROTOCOLS.intersection(each.apis):
            key = digest_of([each.digest(), *sorted(f"{name}={value}" for name, value in other.items())])
            if key not in known:
                known[key] = " ".join(await _minded(each, other, runs))
            minded = known[key].split()
        usual = {name: _USUAL[name] for name in minded}
        found.append(replace(each, broker_config={**each.broker_config, **usual}) if minded else each)
    known.keep()
    return found


async def _minded(script: Script, other: Mapping[str, str], runs: ReferenceRuns) -> Collection[str]:
    """Return which settings make a difference: each that does so alone, or all if they only do together."""
    asked = asked_config(script)
    unasked = {name: value for name, value in other.items() if name not in asked}
    if await is_alike(script, {**asked, **unasked}, runs):
        return ()
    alone = [
        name for name, value in unasked.items() if not await is_alike(script, {**asked, name: value}, runs)
    ]
    return alone or tuple(unasked)

"""A whole run of client scripts: the targets in turn, then their references, and the judgement."""

import asyncio
import contextlib
import hashlib
import time
import traceback
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from harness.clients.clock import clock_ms
from harness.clients.confirming import Again, confirmed
from harness.clients.folder import ClientsFolder
from harness.clients.judge import judge
from harness.clients.libraries import ClientLibrary
from harness.clients.names import Names
from harness.clients.script_runner import PATIENCE_S, ClientEnvironment, ClientScriptRunner
from harness.clients.steps import ClientScript
from harness.clients.suitability import config_for, why_not
from harness.clients.tapped import Way, tapped
from harness.diff.expectations import SourcedEntry
from harness.results.client_results import (
    CLIENTS,
    FAILED,
    NOT_RUN,
    ClientObservation,
    ClientResult,
    ScriptOutcome,
    conversation,
    read_outcomes,
    read_violations,
)
from harness.results.replay_results import read_findings
from harness.runner.recorder import header_of
from harness.targets.base.ending import to_its_end
from harness.targets.base.interface import (
    Broker,
    BrokerAction,
    Capability,
    Lasting,
    Target,
    TargetError,
    closing,
)
from harness.targets.base.nonsense import blaming_target
from harness.targets.reference.tcp import ReferenceTcpTarget
from harness.trace.events import TARGET_LOST, TraceHeader
from harness.trace.files import point_latest, write_whole

Tell = Callable[[str, str], None]
"""Called with a target's name and what is going on there."""
JOBS: Final = 8
_REFERENCE: Final = "reference-tcp"
_BROKERS: Final = 3
"""The number of brokers of the reference that a cluster is compared with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientsPlan:
    """The parameters of a run of client scripts."""

    run_id: str
    scripts: tuple[ClientScript, ...]
    libraries: tuple[ClientLibrary, ...]
    targets: tuple[Target, ...]
    command: str
    out: Path
    compares: bool = True
    """Whether to run everything on the reference as well."""
    taps: bool = True
    """Whether to record the traffic between clients and brokers, and check it against the invariants."""
    confirms: bool = True
    """Whether scripts with unexpected results are run again."""
    pairs: frozenset[tuple[str, str]] | None = None
    """Pairs of script id and library name to run; None for all combinations."""
    jobs: int = JOBS
    patience_s: float = PATIENCE_S
    entries: tuple[SourcedEntry, ...] = ()
    """The known differences; scripts with an expected result are not run again."""
    beside: Path | None = None
    """The folder of a run of the wire suites that is to contain this run; None for a folder of its own."""

    @property
    def folder(self) -> ClientsFolder:
        """The folder of this run."""
        return ClientsFolder(self.out / self.run_id if self.beside is None else self.beside / CLIENTS)

    @property
    def runs(self) -> Sequence[tuple[ClientScript, ClientLibrary]]:
        """The scripts to run, each with its library."""
        return [
            (script, library)
            for script in self.scripts
            for library in self.libraries
            if self.pairs is None or (script.id, library.name) in self.pairs
        ]


async def drive(plan: ClientsPlan, tell: Tell) -> tuple[ClientResult, ...]:
    """Run all scripts on all targets, then on the references; return the judgements of the targets.

    Raises:
        TargetError: a target cannot be started or is lost; the observations up to then are on file.
    """
    folder = plan.folder
    folder.write_plan(
        run_id=plan.run_id,
        command=plan.command,
        targets=[target.name for target in plan.targets],
        libraries={each.name: each.version for each in plan.libraries},
        scripts=plan.scripts,
    )
    if plan.beside is None:
        point_latest(folder.path)
    with folder.ending(len(plan.scripts)):
        judgements = await _drive_all(plan, folder, tell)
        foreseen = folder.keep(judgements, plan.entries)
        if plan.confirms:
            judgements = await confirmed(judgements, _again(plan, folder, tell), foreseen)
            folder.keep(judgements, plan.entries)
        return judgements


def _again(plan: ClientsPlan, folder: ClientsFolder, tell: Tell) -> Again:
    async def again(number: int, due: Sequence[ClientResult]) -> Sequence[ClientResult]:
        specs = {each.spec for each in due}
        attempt = replace(
            plan,
            # Each attempt uses names of its own on the wire.
            run_id=f"{plan.run_id}.{number}",
            targets=tuple(target for target in plan.targets if target.spec in specs),
            pairs=frozenset((each.scenario_id, each.library) for each in due),
        )
        wanted = {each.place for each in due}
        again_folder = ClientsFolder(folder.attempt(number))
        try:
            judged = await _drive_all(attempt, again_folder, tell)
        except TargetError as error:
            tell(", ".join(sorted(specs)), Lasting(f"attempt {number} is left out: {error}"))
            return ()
        finally:
            again_folder.pack()
        return [each for each in judged if each.place in wanted]

    return again


async def _drive_all(plan: ClientsPlan, folder: ClientsFolder, tell: Tell) -> tuple[ClientResult, ...]:
    profiles: dict[str, str] = {}
    for target in plan.targets:
        profiles[target.name] = await _drive_target(plan, target, folder, tell)
    references = await _drive_references(plan, profiles, folder, tell)
    return tuple(
        verdict
        for target in plan.targets
        for verdict in _judged(plan, target, references[target.name], folder)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reference:
    """The reference that a target is compared with."""

    name: str | None
    """The name of the reference's results; None if there is none."""
    compared: str


async def _drive_references(
    plan: ClientsPlan, profiles: Mapping[str, str], folder: ClientsFolder, tell: Tell
) -> Mapping[str, _Reference]:
    driven: dict[str, _Reference] = {}
    for target in plan.targets:
        profile = profiles[target.name]
        if not plan.compares:
            driven[target.name] = _Reference(name=None, compared="not compared: nobody wanted it")
        elif target.name.startswith(_REFERENCE):
            driven[target.name] = _Reference(name=None, compared="not compared: it is the reference")
        else:
            is_cluster = Capability.CLUSTER in target.capabilities
            node_count = _BROKERS if is_cluster else 1
            reference = ReferenceTcpTarget(profile, profile_in_spec=True, node_count=node_count)
            known = {each.name for each in driven.values()}
            if reference.name not in known:
                await _drive_target(plan, reference, folder, tell)
            driven[target.name] = _Reference(name=reference.name, compared=reference.spec)
    return driven


def _judged(
    plan: ClientsPlan, target: Target, reference: _Reference, folder: ClientsFolder
) -> Sequence[ClientResult]:
    scripts = {script.id: script for script in plan.scripts}
    there = {} if reference.name is None else _by_run(folder, reference.name)
    (header,) = folder.read_headers(target.name)
    violations = read_violations(folder, target.name)
    replays = read_findings(folder.of_target(target.name))
    return [
        judge(
            scripts[script_id],
            outcome,
            header=header,
            reference=there.get((script_id, library)),
            compared=reference.compared,
            violations=[each for each in violations if each.scenario_id == conversation(script_id, library)],
            replays=[each for each in replays if each.conversation == conversation(script_id, library)],
        )
        for (script_id, library), outcome in sorted(_by_run(folder, target.name).items())
    ]


def _by_run(folder: ClientsFolder, target: str) -> Mapping[tuple[str, str], ScriptOutcome]:
    return {(each.script_id, each.library): each for each in read_outcomes(folder, target)}


def target_header(run_id: str, target: Target, broker: Broker) -> TraceHeader:
    """Return the header of a target whose broker is running, under the name that results have."""
    return replace(header_of(run_id, target.name, broker.description, 0.0), spec=target.spec)


async def _drive_target(plan: ClientsPlan, target: Target, folder: ClientsFolder, tell: Tell) -> str:
    """Run all scripts on a target; return the profile that it is compared with."""
    target.for_run(plan.run_id)
    with blaming_target():
        broker = await target.start(
            broker_config=config_for(target),
            directory=folder.make_logs(target.name),
            progress=lambda text: tell(target.name, text),
            broker_actions={action for script, _ in plan.runs for action in script.broker_actions},
        )
    try:
        description = broker.description
        if ":" not in description.bootstrap:
            raise TargetError(
                f"{target.spec} is {description.bootstrap}, where clients cannot meet; "
                f"the reference has an address as {_REFERENCE}"
            )
        folder.write_headers(target.name, [target_header(plan.run_id, target, broker)])
        directory = folder.of_target(target.name)
        async with way_to(plan, broker, directory, lambda text: tell(target.name, text)) as way:
            await _Drive(plan, target, broker, folder, tell, way).all()
        return description.profile
    finally:
        await to_its_end(broker.stop())


@contextlib.asynccontextmanager
async def way_to(
    plan: ClientsPlan, broker: Broker, directory: Path, tell: Callable[[str], None]
) -> AsyncIterator[Way]:
    """Yield the way for clients: through a tap, or straight to a broker that nobody else uses.

    Raises:
        TargetError: the tap could not be set up, or is off although it must protect others' data.
    """
    bootstrap = broker.description.bootstrap
    if plan.taps:
        async with tapped(broker, directory, run_id=plan.run_id, target=directory.name, tell=tell) as way:
            yield way
    elif broker.run_namespace is None:
        yield Way(address=lambda _: bootstrap, refusal=lambda _: None)
    else:
        raise TargetError(f"{bootstrap} has others' things, which the tap guards: leave --no-tap out")


def names_begin(broker: Broker) -> str:
    """Return the prefix of all names on an external broker; empty on our own."""
    return "" if broker.run_namespace is None else broker.run_namespace.namespace.prefix


@dataclass(frozen=True, slots=True)
class _Drive:
    """Runs all scripts on one broker: in parallel, then those with broker actions, one after the other."""

    plan: ClientsPlan
    target: Target
    broker: Broker
    folder: ClientsFolder
    tell: Tell
    way: Way

    async def all(self) -> None:
        """Run all scripts."""
        slots = asyncio.Semaphore(self.plan.jobs)

        async def run(script: ClientScript, library: ClientLibrary) -> None:
            async with slots:
                await self._carry_out(script, library)

        runs = self.plan.runs
        async with asyncio.TaskGroup() as group:
            for script, library in runs:
                if not script.broker_actions:
                    group.create_task(run(script, library))
        for script, library in runs:
            if script.broker_actions:
                await self._carry_out(script, library)
                await self._mend()

    async def _mend(self) -> None:
        """Bring all brokers back for the next script; if one does not come back, that script will show it."""
        try:
            await self.broker.mend()
        except TargetError as error:
            self.tell(self.target.name, f"a broker that was killed is not back: {error}")

    async def _carry_out(self, script: ClientScript, library: ClientLibrary) -> None:
        began_s = time.monotonic()
        ended, observations = await self._outcome(script, library)
        result = ScriptOutcome(
            script_id=script.id,
            library=library.name,
            ended=ended,
            observations=observations,
            duration_s=round(time.monotonic() - began_s, 3),
            clock_offset_ms=round(datetime.now(UTC).timestamp() * 1000 - clock_ms(), 3),
        )
        self.folder.append(self.target.name, result)
        self.tell(self.target.name, f"{script.id} with {library.name}: {ended}")

    async def _outcome(
        self, script: ClientScript, library: ClientLibrary
    ) -> tuple[str, tuple[ClientObservation, ...]]:
        """Run a script; return how it ended, and the observations."""
        if (lost := self.broker.failure()) is not None:
            return f"{TARGET_LOST}{lost}", ()
        if (lacking := why_not(script, library, self.target, self.broker.description.profile)) is not None:
            return f"{NOT_RUN}{lacking}", ()
        observations: tuple[ClientObservation, ...] = ()
        directory = self.folder.make_conversation_dir(self.target.name, script.id, library.name)
        try:
            runner = ClientScriptRunner(
                script=script,
                library=library,
                names=Names(names_begin(self.broker) + _prefix(self.plan.run_id, script, library)),
                place=self._place(script, library, directory),
            )
            ended, observations = await runner.run()
            refused = self.way.refusal(conversation(script.id, library.name))
            if refused is not None:
                return f"{NOT_RUN}{refused}", ()
        except Exception as error:  # noqa: BLE001 - a fault in one script must not end the others
            write_whole(directory / "harness.log", traceback.format_exc())
            ended = f"{FAILED}{error!r}"
        if (lost := self.broker.failure()) is not None:
            ended = f"{TARGET_LOST}{lost}"
        return ended, observations

    def _place(self, script: ClientScript, library: ClientLibrary, directory: Path) -> ClientEnvironment:
        async def carry_out(action: BrokerAction) -> None:
            async with closing(self.broker.open_session(script.id)) as session:
                await session.carry_out(action, {})

        # librdkafka is an optional extra, which a report does not need.
        from harness.clients.admin import Admin  # noqa: PLC0415 - see above

        bootstrap = self.way.address(conversation(script.id, library.name))
        return ClientEnvironment(
            bootstrap=bootstrap,
            # Its requests belong to the script's recording, whose replay goes by when topics came.
            admin=Admin(bootstrap),
            carry_out=carry_out,
            directory=directory,
            patience_s=self.plan.patience_s,
        )


def _prefix(run_id: str, script: ClientScript, library: ClientLibrary) -> str:
    """Return a prefix that makes a run's names unique, and is short enough to read in a broker's log."""
    said = f"{run_id}/{script.id}/{library.name}"
    slug = script.id.rpartition("/")[2]
    return f"{slug}.{hashlib.sha256(said.encode()).hexdigest()[:8]}."

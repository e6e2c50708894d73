"""A whole run of races: all targets in turn, each with a journal of its own."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from harness.races.catalogue import Race, has_race
from harness.races.drive import Driver, Lines
from harness.races.plan import cohorts
from harness.results.status import ENDED_COMPLETE
from harness.runner.recorder import header_of
from harness.scenario.fitting import INITIAL_DELAY
from harness.tap.journal import JOURNAL, Journal
from harness.tap.run import finish, run_header
from harness.targets.base.ending import to_its_end
from harness.targets.base.interface import Broker, ConnectionLost, Target, TargetError
from harness.targets.base.nonsense import blaming_target
from harness.targets.external.guard import NotOurs
from harness.targets.reference.oracle import oracle_for
from harness.targets.reference.profile import stored_specification
from harness.trace.embedded import broker_properties
from harness.trace.events import RunKind, TraceHeader
from harness.trace.files import RunFolder

Tell = Callable[[str, str], None]
"""Called with a target's name and its current activity."""
_SESSION: Final = "races"
_LOST: Final = "the broker is gone"


@dataclass(frozen=True, slots=True, kw_only=True)
class RacesPlan:
    """The races, targets and settings of a run."""

    run_id: str
    races: tuple[Race, ...]
    targets: tuple[Target, ...]
    round_count: int
    """The rounds of each race on each target."""
    seed: int
    command: str
    out: Path


async def drive(plan: RacesPlan, tell: Tell) -> RunFolder:
    """Run all rounds of a plan, one target after the other; return the folder with the journals.

    Raises:
        TargetError: a target cannot be started, or is lost; what was recorded until then is on file.
    """
    folder = RunFolder.create(plan.out, plan.run_id)
    names = tuple(target.name for target in plan.targets)
    folder.write_run(run_header(plan.run_id, names, RunKind.RACES, plan.command))
    try:
        for target in plan.targets:
            await _drive_target(plan, target, folder, tell)
    except BaseException:
        folder.pack()
        raise
    return finish(folder, ended=ENDED_COMPLETE).folder


async def _drive_target(plan: RacesPlan, target: Target, folder: RunFolder, tell: Tell) -> None:
    target.for_run(plan.run_id)
    logs = folder.logs(target.name)
    logs.mkdir(parents=True)
    with blaming_target():
        broker = await target.start(broker_config={}, directory=logs, progress=partial(tell, target.name))
    try:
        oracle = oracle_for(target, broker.description)
        described = header_of(plan.run_id, target.name, broker.description, 0.0)
        header = replace(described, spec=target.spec, profile=oracle.profile)
        folder.write_headers(target.name, [header])
        await _run_races(plan, target, broker, folder, tell, header)
    finally:
        await to_its_end(broker.stop())


async def _run_races(
    plan: RacesPlan, target: Target, broker: Broker, folder: RunFolder, tell: Tell, header: TraceHeader
) -> None:
    delay_ms = broker.description.broker_config.get(INITIAL_DELAY, "0")
    if broker.run_namespace is not None and delay_ms != "0":
        # Rounds do not wait that long, and the search for an order does not model this delay.
        raise TargetError(f"{target.spec} has {INITIAL_DELAY}={delay_ms}; races need 0")
    session = broker.open_session(_SESSION)
    journal = Journal(folder.of_target(target.name) / JOURNAL, broker.description.bootstrap)
    lines, names = Lines(session, journal), broker.run_namespace
    if names is None:
        driver = Driver(lines=lines, prefix=f"race-{plan.run_id}")
    else:
        home, lines.topics = names.layout.home_of(_SESSION).node_id, names.topics
        placed = partial(names.layout.name_at, home)
        driver = Driver(lines=lines, prefix=f"{names.namespace.prefix}race", placed=placed)
    where = f"the configuration of {target.spec}"
    spec = stored_specification(header.profile, broker_properties(header), where=where)
    try:
        for race in plan.races:
            if not has_race(race.name, consumer_groups=spec.has_consumer_groups):
                continue
            tell(target.name, f"{race.name}, {plan.round_count} rounds")
            await driver.run(cohorts(race, round_count=plan.round_count, seed=plan.seed))
    except ConnectionLost as error:
        raise TargetError(f"{target.spec}: {broker.failure() or _LOST}: {error}") from error
    except NotOurs as refused:
        raise TargetError(f"{target.spec}: {refused}") from refused
    finally:
        await session.close()

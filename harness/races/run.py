"""A whole run of races: all targets in turn; every history is on file before any is judged."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from harness.races.catalogue import Race, has_race
from harness.races.drive import Driver
from harness.races.folder import RacesFolder, RunRecord
from harness.races.history import History
from harness.races.judge import Verdict, judge
from harness.races.plan import cohorts
from harness.races.specification import ReferenceSpecification
from harness.runner.recorder import header_of
from harness.scenario.fitting import INITIAL_DELAY
from harness.targets.base.ending import to_its_end
from harness.targets.base.interface import Broker, BrokerSession, ConnectionLost, Target, TargetError
from harness.targets.base.nonsense import blaming_target
from harness.targets.external.guard import NotOurs
from harness.targets.reference.oracle import oracle_for
from harness.trace.embedded import broker_properties
from harness.trace.events import TraceHeader
from harness.trace.files import write_whole

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


async def drive(plan: RacesPlan, tell: Tell) -> RacesFolder:
    """Run all rounds of a plan, one target after the other; return the folder with the histories.

    Raises:
        TargetError: a target cannot be started, or is lost; what was recorded until then is on file.
    """
    folder = RacesFolder(plan.out / plan.run_id)
    folder.write_plan(
        RunRecord(
            run_id=plan.run_id,
            seed=plan.seed,
            round_count=plan.round_count,
            races=tuple(race.name for race in plan.races),
            command=plan.command,
        )
    )
    try:
        for target in plan.targets:
            await _drive_target(plan, target, folder, tell)
    finally:
        folder.pack()
    return folder


async def _drive_target(plan: RacesPlan, target: Target, folder: RacesFolder, tell: Tell) -> None:
    target.for_run(plan.run_id)
    logs = folder.logs(target.name)
    logs.mkdir(parents=True)
    with blaming_target():
        broker = await target.start(
            broker_config={},
            directory=logs,
            progress=lambda text: tell(target.name, text),
        )
    try:
        oracle = oracle_for(target, broker.description)
        described = header_of(plan.run_id, target.name, broker.description, 0.0)
        record = replace(described, spec=target.spec, profile=oracle.profile)
        folder.write_headers(target.name, [record])
        await _run_races(plan, target, broker, folder, tell, record)
    finally:
        await to_its_end(broker.stop())


def is_applicable(race: str, target: TraceHeader) -> bool:
    """Return whether a target has the features that a race needs."""
    specification = ReferenceSpecification(target.profile, broker_properties(target))
    return has_race(race, consumer_groups=specification.has_consumer_groups)


async def _run_races(
    plan: RacesPlan, target: Target, broker: Broker, folder: RacesFolder, tell: Tell, record: TraceHeader
) -> None:
    delay_ms = broker.description.broker_config.get(INITIAL_DELAY, "0")
    if broker.run_namespace is not None and delay_ms != "0":
        # Rounds do not wait that long, and the search for an order does not model this delay.
        raise TargetError(f"{target.spec} has {INITIAL_DELAY}={delay_ms}; races need 0")
    session = broker.open_session(_SESSION)
    driver = _driver(plan, broker, session, lambda history: folder.append(target.name, history))
    try:
        for race in plan.races:
            if not is_applicable(race.name, record):
                continue
            tell(target.name, f"{race.name}, {plan.round_count} rounds")
            await driver.run(cohorts(race, round_count=plan.round_count, seed=plan.seed))
    except ConnectionLost as error:
        raise TargetError(f"{target.spec}: {broker.failure() or _LOST}: {error}") from error
    except NotOurs as refused:
        raise TargetError(f"{target.spec}: {refused}") from refused
    finally:
        await session.close()


def _driver(
    plan: RacesPlan, broker: Broker, session: BrokerSession, record: Callable[[History], None]
) -> Driver:
    run_namespace = broker.run_namespace
    if run_namespace is None:
        return Driver(session=session, prefix=f"race-{plan.run_id}", record=record)
    home = run_namespace.layout.home_of(_SESSION).node_id
    return Driver(
        session=session,
        prefix=f"{run_namespace.namespace.prefix}race",
        record=record,
        topics=run_namespace.topics,
        placed=lambda name: run_namespace.layout.name_at(home, name),
    )


def judge_folder(folder: RacesFolder, tell: Tell) -> tuple[Verdict, ...]:
    """Judge the stored histories, also repeatedly, and store the judgement beside them.

    Raises:
        TraceError: it is not a folder of races, or one of its files is damaged.
        TargetError: the reference does not have the recorded profile.
    """
    folder.read_plan()
    verdicts: list[Verdict] = []
    for target in folder.all_headers():
        specification = ReferenceSpecification(target.profile, broker_properties(target))
        verdicts += judge(
            folder.histories(target.name),
            specification,
            target=target.spec,
            progress=partial(tell, target.name),
        )
    write_whole(folder.judgement_json, _to_json(verdicts))
    return tuple(verdicts)


def _to_json(verdicts: Sequence[Verdict]) -> str:
    return json.dumps([asdict(each) for each in verdicts], indent=2, ensure_ascii=False) + "\n"

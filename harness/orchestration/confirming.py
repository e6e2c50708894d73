"""Scenarios that are run again: all of them for `--repeat`, and those whose result is unexpected.

A difference that occurs again is attributed to the target. One that does not may be due to a race or to the
machine: it accuses nobody, and stays visible. One scenario is run again for all results of a cause, the
shortest; if it does not show the cause, the next one is. What is new and grave comes first, since time is
limited, and of that, what heads most results. On a broker that runs anyway, scenarios that wait long are run
beside the others, and those that restart the broker after them; the longest are run again before the drive
ends, since their waits alone would take longer than confirming may. Attempts are kept beside the target's
trace, numbered from 2, so that a stored run is judged by all of them again. References run in virtual time,
give the same result every time, and are not run again.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Final

from harness.capacity import machine
from harness.diff.alignment import BROKER_ENDED_WORDS
from harness.diff.check import CheckedRun, TargetTrace, with_attempt
from harness.diff.gravity import gravity
from harness.diff.judge import TargetInfo
from harness.diff.model import Judgement
from harness.diff.repeats import NO_FURTHER_ATTEMPT, Repeated, confirmed_causes, is_accusation, was_excused
from harness.diff.target_pattern import is_reference
from harness.orchestration.judging import JudgedTargets, as_driven, read_first_attempts, target_info
from harness.orchestration.on_cluster import Cluster
from harness.orchestration.packings import packings
from harness.orchestration.plan import RunPlan
from harness.orchestration.reviving import drives_of
from harness.runner.admission import Admission
from harness.runner.broker_actions import acts_on_broker
from harness.runner.drive import JOBS, Drive, DriveSinks, Unwatched, Watcher
from harness.runner.recorder import note_alone
from harness.runner.sharing import Packing
from harness.scenario.script import Script
from harness.targets.base.interface import Lasting, Target, TargetError
from harness.trace.events import TARGET_LOST, Event, EventKind
from harness.trace.files import EventWriter, RunFolder, attempt_name
from harness.verdict import Delta
from harness.workers import first_error

ATTEMPTS: Final = 3
"""How often a scenario is run in total, including the first time, before its result is an accusation."""
STARVED_ATTEMPTS: Final = 6
"""Likewise, where the machine was to blame each time: such attempts decide nothing."""
_LONG_MS: Final = 6_000
"""How long a scenario takes that others do not wait for: longer than for an answer that does not come."""
_AROUND_S: Final = 2.0
"""About how long it takes to set a broker up for scenarios, and to delete what they made."""
_FEW: Final = machine().jobs(per_core=2)
"""How many scenarios leave the machine calm. A broker that runs anyway is set up once for all of them."""
_SECOND: Final = 2
"""The number of the first further attempt."""
SHARE: Final = 0.2
"""The share of the drive's time that attempts may take, unless the user sets another limit."""
LEAST_S: Final = 20.0
"""The least time that attempts may take, in seconds, unless the user sets another limit.

The first attempts for all causes take of this time. On brokers that the run starts they are always made.
"""


@dataclass(slots=True, kw_only=True)
class Accused:
    """A result to be confirmed by further attempts."""

    target: Target
    script: Script
    as_driven: Script
    """The script as it was run: fitted to the settings of an external broker."""
    info: TargetInfo
    acts: bool
    """Whether it acts on the broker, so that others cannot use it meanwhile."""
    repeated: Repeated
    """All attempts so far."""
    oracle: TargetTrace | None
    cause: str
    """The cause of its finding; its own id for a conversation that broke off."""
    try_count: int
    """How often it was run, or was to be."""

    @property
    def key(self) -> tuple[str, str]:
        """Equal for results of one target that have one cause."""
        return (self.target.name, self.cause)

    def add(self, events: Sequence[Event]) -> None:
        """Judge the events of a further attempt, if there are any."""
        self.try_count += 1
        if events:
            self.repeated = with_attempt(self.repeated, self.as_driven, self.info, events, self.oracle)


@dataclass(slots=True, kw_only=True)
class Rerun:
    """Runs scenarios of a run again and leaves their traces beside the first ones."""

    plan: RunPlan
    folder: RunFolder
    watcher: Watcher
    cluster: Cluster | None = None
    """The cluster whose executors drive the targets; None if this machine does."""
    _lost: dict[str, str] = field(default_factory=dict, init=False)
    """By target name, why the target could not be started again."""
    _has_said: bool = field(default=False, init=False)
    _writers: dict[str, EventWriter] = field(default_factory=dict, init=False)
    """The open traces of attempts, by name."""

    async def repeat(self) -> bool:
        """Run every scenario as often as the plan says, target by target; return False if interrupted."""
        scripts, targets = tuple(self.plan.scripts.values()), tuple(self._real_targets())
        try:
            # `packings` runs its own event loops, so it cannot run in this one.
            packed = await asyncio.to_thread(packings, scripts, targets, merges=self.plan.merges_configs)
            for number in range(2, self.plan.repeat + 1):
                for target in (each for each in targets if each.name not in self._lost):
                    watcher = self._begin(target, number, len(scripts))
                    await self._run(target, scripts, number, watcher, [], packed.get(target.name))
        except asyncio.CancelledError:
            return False
        finally:
            self._close()
        return True

    async def confirm(
        self, judged: JudgedTargets, checked: CheckedRun, *, time_s: float
    ) -> tuple[JudgedTargets, bool]:
        """Run scenarios with unexpected results again, one for each cause.

        In the first round one scenario of every cause is run, all of a target together. After that they run
        alone, and a few at once on a broker that the run did not start: of each cause that was not shown
        again, the next scenario, and in the end those that showed it once and once did not. Rounds after the
        first end so many seconds from now; the first takes of them.

        Returns:
            All attempts, including the further ones; and False if the run was interrupted.
        """
        until_s = _now_s() + time_s
        accused = self._accused(judged, checked)
        if not accused:
            return judged, True
        why = f"the {time_s:.0f} s for it do not suffice"
        is_whole = True
        try:
            for lanes in lanes_of(accused):
                with first_error(Exception):
                    async with asyncio.TaskGroup() as tasks:
                        for lane in lanes:
                            tasks.create_task(self._confirm_lane(lane, accused, until_s))
        except asyncio.CancelledError:
            is_whole, why = False, "interrupted"
        self._leave(_due(accused, accused), why)
        self._close()
        again = {(one.target.name, one.script.id): one.repeated for one in accused}
        return {
            name: [again.get((name, one.scenario_id), one) for one in of_target]
            for name, of_target in judged.items()
        }, is_whole

    async def _confirm_lane(
        self, lane: Sequence[Accused], accused: Sequence[Accused], until_s: float
    ) -> None:
        """Run the results of a lane again, round after round, until none is due that can be in time."""
        await self._run_batches(_by_target(_timely(_due(lane, accused), until_s, first=True)))
        self._say_confirmed(accused)
        while due := _timely(_due(lane, accused), until_s):
            left = [each for each in due if each.target.name not in self._lost]
            if not left or not await self._run_batches(tuple(_few_at_once(left)), until_s):
                break
            self._say_confirmed(accused)

    def _say_confirmed(self, accused: Sequence[Accused]) -> None:
        """Say, once, which result is the first to be confirmed; reports come later."""
        confirmed = confirmed_causes(each.repeated for each in accused)
        found = next((each for each in accused if each.key in confirmed), None)
        if found is not None and not self._has_said:
            self._has_said = True
            text = Lasting(f"confirmed: {found.script.id} differs again")
            self.watcher.target_says(found.target.name, text)

    async def run_early(self, target: Target, script: Script) -> None:
        """Run a scenario again while its target is driven; keep nothing of an attempt that does not end well.

        A broker that ends meanwhile is the matter of the drive.
        """
        heard: list[Event] = []
        drive = self._drive(target, [script], _SECOND, Unwatched(), heard.append)
        try:
            lost = (await drive.run([script])).lost
        except TargetError:
            return
        if lost is None:
            with EventWriter(self.folder.events(attempt_name(target.name, _SECOND))) as writer:
                for event in heard:
                    writer.write(replace(event, run_id=self.plan.run_id))

    def _real_targets(self) -> Iterator[Target]:
        return (target for target in self.plan.targets if not is_reference(target.spec))

    def _accused(self, judged: JudgedTargets, checked: CheckedRun) -> Sequence[Accused]:
        """Return the results that accuse somebody, or that are open: first what is new, then by gravity."""
        targets = {target.name: target for target in self._real_targets()}
        chosen = [
            each
            for each in checked.judgements
            if each.target in targets and is_accusation(each) and TARGET_LOST not in each.reason
        ]
        oracles = self._oracles(chosen)
        attempts = {(name, one.scenario_id): one for name, of_target in judged.items() for one in of_target}
        heads = [one for one in checked.differences if one.ordinal == 0]
        findings = {(one.target, one.scenario_id): one for one in heads}
        counts = Counter((one.target, one.cause) for one in heads)

        scripts = self.plan.scripts

        def urgency(each: Judgement) -> tuple[bool, int, int, bool, float]:
            finding = findings.get((each.target, each.scenario_id))
            grave = 0 if finding is None else gravity(finding)
            count = 0 if finding is None else counts[finding.target, finding.cause]
            acts = acts_on_broker(scripts[each.scenario_id])
            return each.delta == Delta.SAME, grave, -count, acts, each.duration_ms

        chosen.sort(key=urgency)
        # What ended a broker did so twice already.
        ended = {(one.target, one.scenario_id) for one in heads if one.actual == BROKER_ENDED_WORDS}
        return [
            Accused(
                target=targets[each.target],
                script=scripts[each.scenario_id],
                as_driven=as_driven(self.folder, each.target, [scripts[each.scenario_id]])[0],
                acts=acts_on_broker(scripts[each.scenario_id]),
                info=target_info(self.folder, each.target),
                repeated=attempts[place],
                oracle=oracles.get(each.target),
                cause=findings[place].cause if place in findings else each.scenario_id,
                try_count=len(attempts[place].attempts),
            )
            for each in chosen
            if (place := (each.target, each.scenario_id)) not in ended
        ]

    def _oracles(self, chosen: Sequence[Judgement]) -> Mapping[str, TargetTrace]:
        """Return, by target, its reference's events in the chosen scenarios."""
        known = frozenset(self.folder.targets())
        oracles = {each.target: each.oracle for each in chosen if each.oracle and each.oracle in known}
        return {
            target: read_first_attempts(
                self.folder, oracle, {each.scenario_id for each in chosen if each.target == target}
            )
            for target, oracle in oracles.items()
        }

    async def _run_batches(self, batches: Sequence[Sequence[Accused]], until_s: float = inf) -> bool:
        """Run each batch once more; return whether there was time for all."""
        counts = Counter((each.target.name, each.try_count + 1) for batch in batches for each in batch)
        targets = {each.target.name: each.target for batch in batches for each in batch}
        watchers = {key: self._begin(targets[key[0]], key[1], count) for key, count in counts.items()}
        for batch in batches:
            target, number = batch[0].target, batch[0].try_count + 1
            if target.name in self._lost:
                continue
            timely = _timely(batch, until_s)
            if not timely:
                return False
            recorded: list[Event] = []
            try:
                scripts = tuple(each.script for each in timely)
                # A fault may occur only with the properties that the run gave its scenarios.
                configs = self.folder.read_broker_configs().get(target.name)
                packing = None if configs is None else Packing(configs=configs)
                watcher = watchers[target.name, number]
                jobs = JOBS if until_s == inf else _FEW
                await self._run(target, scripts, number, watcher, recorded, packing, jobs=jobs)
            finally:
                for one in timely:
                    one.add([event for event in recorded if event.scenario_id == one.script.id])
        return True

    def _begin(self, target: Target, number: int, count: int) -> "_AgainWatcher":
        watcher = _AgainWatcher(watcher=self.watcher, name=f"{target.name}, attempt {number}")
        self.watcher.drive_begins(watcher.name, count)
        return watcher

    async def _run(
        self,
        target: Target,
        scripts: Sequence[Script],
        number: int,
        watcher: "_AgainWatcher",
        recorded: list[Event],
        packing: Packing | None = None,
        *,
        jobs: int = JOBS,
    ) -> None:
        """Run some scripts with fresh brokers, and append their events to `recorded`.

        Without a packing, each script has a broker with the configuration that it asks for.
        """
        writer = self._writer(attempt_name(target.name, number))

        def write(event: Event) -> None:
            recorded.append(replace(event, run_id=self.plan.run_id))
            writer.write(recorded[-1])

        drive = self._drive(target, scripts, number, watcher, write, packing, jobs=jobs)
        try:
            lost = (await drives_of(target, drive, self.cluster)(scripts)).lost
        except TargetError as error:
            lost = str(error).partition("\n")[0]
        except Exception as error:  # noqa: BLE001 - a fault of the harness in an attempt loses no verdict
            lost = f"the harness failed: {error!r}"
        if lost is not None:
            self._lost[target.name] = lost

    def _drive(
        self,
        target: Target,
        scripts: Sequence[Script],
        number: int,
        watcher: Watcher,
        write: Callable[[Event], None],
        packing: Packing | None = None,
        *,
        jobs: int = JOBS,
    ) -> Drive:
        jobs = min(jobs, self.plan.limits.jobs)
        logs = self.folder.logs(target.name) / f"attempt-{number}"
        return Drive(
            # Each attempt has its own ids on the wire: a broker that still runs may remember others.
            run_id=f"{self.plan.run_id}.{number}",
            target=target,
            target_name=target.name,
            limits=replace(self.plan.limits, jobs=jobs),
            sinks=DriveSinks(
                write=write,
                broker_ready=lambda *_: None,
                logs=logs if len(scripts) > 1 else logs / scripts[0].id.replace("/", "."),
            ),
            watcher=watcher,
            base_config=self.plan.properties_of(target),
            packing=packing,
            admission=Admission(frozenset(), jobs=jobs),
        )

    def _writer(self, name: str) -> EventWriter:
        if name not in self._writers:
            self._writers[name] = EventWriter(self.folder.events(name))
        return self._writers[name]

    def _close(self) -> None:
        while self._writers:
            self._writers.popitem()[1].close()

    def _leave(self, accused: Sequence[Accused], why: str) -> None:
        """Record, with the reason, which results were not run again although that was due."""
        for one in accused:
            lost = self._lost.get(one.target.name)
            name = attempt_name(one.target.name, one.try_count + 1)
            one.repeated = replace(one.repeated, missing=f"{TARGET_LOST}{lost}" if lost else why)
            note_alone(
                one.script,
                EventKind.ABANDONED,
                f"{NO_FURTHER_ATTEMPT}{one.repeated.missing}",
                run_id=self.plan.run_id,
                target=one.target.name,
                write=self._writer(name).write,
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class _AgainWatcher:
    """Forwards the progress of a drive, under a name that contains the attempt's number."""

    watcher: Watcher
    name: str

    def target_says(self, target: str, text: str) -> None:
        """Forward a text that stays under the target's own name, so that it stands there once."""
        self.watcher.target_says(target if isinstance(text, Lasting) else self.name, text)

    def drive_begins(self, target: str, scenario_count: int) -> None:
        """Forward nothing: an attempt is driven in parts, and its total is known already."""

    def scenario_ended(self, target: str, scenario_id: str) -> None:
        del target
        self.watcher.scenario_ended(self.name, scenario_id)


def time_for_confirming(plan: RunPlan, drive_s: float) -> float:
    """Return how many seconds attempts may take, given the duration of the drive."""
    return max(LEAST_S, SHARE * drive_s) if plan.confirm_s is None else plan.confirm_s


def _now_s() -> float:
    return asyncio.get_running_loop().time()


def lanes_of(accused: Sequence[Accused]) -> Iterator[Sequence[Sequence[Accused]]]:
    """Yield, one after the other, lanes of results that may be run again beside each other.

    Brokers that the run starts take the machine, and so have one lane.
    """
    ours = [each for each in accused if not each.target.is_external]
    least_ms: dict[tuple[str, str], float] = {}
    lanes: dict[tuple[str, bool], list[Accused]] = {}
    acting: dict[str, list[Accused]] = {}
    for each in (one for one in accused if one.target.is_external):
        if each.acts:
            acting.setdefault(each.target.name, []).append(each)
        else:
            least = least_ms.setdefault(each.key, each.repeated.first.judgement.duration_ms)
            lanes.setdefault((each.target.name, least > _LONG_MS), []).append(each)
    yield [lane for lane in (ours, *lanes.values()) if lane]
    yield list(acting.values())


def _due(lane: Sequence[Accused], accused: Sequence[Accused]) -> Sequence[Accused]:
    """Return the result of a lane to run again for each cause: the first that was run least often.

    A cause that was shown again is settled. So is a result that went as it should after a starved attempt.
    """
    confirmed = confirmed_causes(each.repeated for each in accused)
    due: dict[tuple[str, str], Accused] = {}
    for each in lane:
        is_starved = all(one.starved for one in each.repeated.attempts)
        is_tried = each.try_count >= (STARVED_ATTEMPTS if is_starved else ATTEMPTS)
        is_done = each.key in confirmed or is_tried or was_excused(each.repeated)
        if not is_done and (each.key not in due or each.try_count < due[each.key].try_count):
            due[each.key] = each
    return tuple(due.values())


def _few_at_once(accused: Sequence[Accused]) -> Iterator[Sequence[Accused]]:
    """Yield what to run at once: each result alone, but several of a target that the run did not start."""
    for alike in _by_target(accused):
        size = 8 * _FEW if alike[0].target.is_external else 1
        yield from (alike[at : at + size] for at in range(0, len(alike), size))


def _by_target(accused: Sequence[Accused]) -> Sequence[Sequence[Accused]]:
    batches: dict[tuple[str, int], list[Accused]] = {}
    for each in accused:
        batches.setdefault((each.target.name, each.try_count), []).append(each)
    return tuple(batches.values())


def _timely(due: Sequence[Accused], until_s: float, *, first: bool = False) -> Sequence[Accused]:
    """Return the results that can be run again in time; all for a first attempt on brokers of the run."""
    left_s = until_s - _now_s() - _AROUND_S
    return [
        each
        for each in due
        if (first and not each.target.is_external)
        or each.repeated.first.judgement.duration_ms / 1000 < left_s
    ]

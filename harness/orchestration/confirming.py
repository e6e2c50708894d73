"""Scenarios that are run again: all of them for `--repeat`, and those whose result is unexpected.

A difference that occurs again is attributed to the target. One that does not may be due to a race or to the
machine: it accuses nobody, and stays visible. Attempts are kept beside the target's trace, numbered from 2,
so that a stored run is judged by all of them again. References run in virtual time, give the same result
every time, and are not run again.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import partial
from typing import Final

from harness.diff.check import CheckedRun, TargetTrace, set_against, with_attempt
from harness.diff.expectations import SourcedEntry
from harness.diff.judge import TargetInfo
from harness.diff.model import Judgement
from harness.diff.repeats import NO_FURTHER_ATTEMPT, Repeated, is_accusation
from harness.diff.starved import RunStarved
from harness.diff.target_pattern import is_reference
from harness.orchestration.judging import (
    JudgedTargets,
    imposed_settings,
    read_first_attempts,
    target_info,
)
from harness.orchestration.on_cluster import Cluster
from harness.orchestration.packings import packings
from harness.orchestration.plan import RunPlan
from harness.orchestration.starving import starved_runner
from harness.runner.admission import Admission
from harness.runner.drive import Drive, DriveSinks
from harness.runner.recorder import EventPosition, Recorder
from harness.runner.sharing import Packing
from harness.runner.watcher import Watcher
from harness.scenario.fitting import fitted
from harness.scenario.script import Script
from harness.targets.base.interface import Capability, Target, TargetError
from harness.trace.canonical import Canonicaliser
from harness.trace.events import TARGET_LOST, Event, EventKind
from harness.trace.files import EventWriter, RunFolder, attempt_name
from harness.verdict import Confirmation, Outcome

ATTEMPTS: Final = 3
"""How often a scenario is run in total, including the first time, before its result is an accusation."""
SHARE: Final = 0.2
"""The share of the drive's time in which attempts may begin, unless the user sets another limit."""
FIRST_CAUSES: Final = 3
"""How many results of different causes get all their attempts before any other result is run again."""
LEAST_S: Final = 60.0
"""The least time in which attempts may begin, in seconds, unless the user sets another limit.

On two busy cores an attempt takes up to 15 s, most of it a JVM's start. So the time is enough for two results
of different causes, each run three times in total. A run without unexpected results uses none of it.
"""


@dataclass(slots=True, kw_only=True)
class _Accused:
    """A result to be confirmed by further attempts."""

    target: Target
    script: Script
    as_driven: Script
    """The script as it was run: fitted to the settings of an external broker."""
    info: TargetInfo
    repeated: Repeated
    """All attempts so far."""
    oracle: TargetTrace | None
    run_starved: RunStarved | None
    judgement: Judgement
    """The judgement of all attempts so far."""

    @property
    def attempt_count(self) -> int:
        return len(self.repeated.attempts)

    @property
    def is_settled(self) -> bool:
        """Whether another attempt would change nothing."""
        return self.judgement.confirmation == Confirmation.CLEARED or self.attempt_count >= ATTEMPTS

    @property
    def differs(self) -> bool:
        """Whether the result is a difference, and not a conversation that broke off."""
        return self.judgement.outcome == Outcome.DIVERGES

    @property
    def is_confirmed(self) -> bool:
        return self.judgement.confirmation == Confirmation.CONFIRMED

    def add(self, events: Sequence[Event]) -> None:
        """Judge the events of a further attempt, if there are any."""
        if events:
            self.repeated = with_attempt(
                self.repeated, self.as_driven, self.info, events, self.oracle, self.run_starved
            )


@dataclass(slots=True, kw_only=True)
class Rerun:
    """Runs scenarios of a run again and leaves their traces beside the first ones."""

    plan: RunPlan
    folder: RunFolder
    watcher: Watcher
    entries: Sequence[SourcedEntry]
    """The known differences."""
    today: date
    """The date for judging the expiry of expectations."""
    cluster: Cluster | None = None
    """The cluster whose executors drive the targets; None if this machine does."""
    _lost: dict[str, str] = field(default_factory=dict, init=False)
    """By target name, why the target could not be started again."""
    _has_begun: bool = field(default=False, init=False)
    """Whether any unexpected result was run again."""

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
        return True

    async def confirm(
        self, judged: JudgedTargets, checked: CheckedRun, *, time_s: float
    ) -> tuple[JudgedTargets, bool]:
        """Run the scenarios with unexpected results again.

        Scenarios with differences are run one at a time. The first differences of distinct causes get all
        their attempts before any other, so that some accusations are certain even if time is short. Each of
        the other differences is run a second time before any is run a third time: two occurrences decide it.
        Conversations that broke off or were starved accuse nobody: they are first run again together, then
        alone.

        Args:
            judged: all attempts so far.
            checked: the results of these attempts.
            time_s: for how many seconds attempts at differences may begin, and after that attempts at
                conversations that broke off or were starved; the very first attempt always begins.

        Returns:
            All attempts, including the further ones; and False if the run was interrupted.
        """
        first, differing, others = self._accused(judged, checked)
        if not any((first, differing, others)):
            return judged, True
        accusing = (first[:FIRST_CAUSES], first[FIRST_CAUSES:], differing)
        is_whole = True
        try:
            until_s = _now_s() + time_s
            for accused in accusing:
                await self._show_again(accused, until_s)
            await self._show_again(others, _now_s() + time_s, together=True)
        except asyncio.CancelledError:
            is_whole = False
        why = f"the {time_s:.0f} s for it had passed" if is_whole else "interrupted"
        for accused in (*accusing, others):
            self._leave(accused, why)
        return _with_attempts(judged, [*first, *differing, *others]), is_whole

    async def _show_again(
        self, accused: Sequence[_Accused], until_s: float, *, together: bool = False
    ) -> None:
        for number in range(2, ATTEMPTS + 1):
            due = [each for each in accused if each.attempt_count == number - 1 and not each.is_settled]
            # A confirmed difference is decided already, so its further attempts come last.
            due.sort(key=lambda each: each.is_confirmed)
            batches = _by_target(due) if together and number == 2 else [[each] for each in due]
            if not await self._round(batches, number, until_s):
                return

    def _real_targets(self) -> Iterator[Target]:
        return (target for target in self.plan.targets if not is_reference(target.spec))

    def _accused(self, judged: JudgedTargets, checked: CheckedRun) -> tuple[Sequence[_Accused], ...]:
        """Choose what is run again: the first difference of each cause, other differences, and the rest."""
        targets = {target.name: target for target in self._real_targets()}
        chosen = [
            each
            for each in checked.judgements
            if each.target in targets and is_accusation(each) and TARGET_LOST not in each.reason
        ]
        measures = self._measures(chosen)
        attempts = {(name, one.scenario_id): one for name, of_target in judged.items() for one in of_target}
        causes = {(one.target, one.scenario_id): one.cause for one in checked.differences if one.ordinal == 0}
        reported: set[object] = set()
        first: list[_Accused] = []
        differing: list[_Accused] = []
        others: list[_Accused] = []
        for each in chosen:
            cause = (each.target, causes.get((each.target, each.scenario_id), each.scenario_id))
            oracle, run_starved = measures.get(each.target, (None, None))
            one = _Accused(
                target=targets[each.target],
                script=self.plan.scripts[each.scenario_id],
                as_driven=self._as_driven(each),
                info=target_info(self.folder, each.target),
                repeated=attempts[each.target, each.scenario_id],
                oracle=oracle,
                run_starved=run_starved,
                judgement=each,
            )
            if one.differs:
                # Results of the same cause most likely show the same fault.
                (differing if cause in reported else first).append(one)
                reported.add(cause)
            else:
                others.append(one)
        return first, differing, others

    def _measures(self, chosen: Sequence[Judgement]) -> Mapping[str, tuple[TargetTrace, RunStarved]]:
        """Return, by target, its reference's events in the chosen scenarios, and a function to starve it."""
        known = frozenset(self.folder.targets())
        oracles = {each.target: each.oracle for each in chosen if each.oracle and each.oracle in known}
        return {
            target: (
                read_first_attempts(
                    self.folder, oracle, {each.scenario_id for each in chosen if each.target == target}
                ),
                starved_runner(self.folder, oracle),
            )
            for target, oracle in oracles.items()
        }

    def _as_driven(self, one: Judgement) -> Script:
        settings = imposed_settings(self.folder, one.target)
        script = self.plan.scripts[one.scenario_id]
        return script if settings is None else fitted(script, settings)

    async def _round(self, batches: Sequence[Sequence[_Accused]], number: int, until_s: float) -> bool:
        """Run each batch once more; return whether there was time for all. The first batch always runs."""
        due = [each for batch in batches for each in batch]
        counts = Counter(each.target.name for each in due)
        targets = {each.target.name: each.target for each in due}
        watchers = {name: self._begin(targets[name], number, count) for name, count in counts.items()}
        for batch in batches:
            target = batch[0].target
            if target.name in self._lost:
                continue
            if self._has_begun and _now_s() >= until_s:
                return False
            self._has_begun = True
            recorded: list[Event] = []
            try:
                scripts = tuple(each.script for each in batch)
                packing = self._configs_of(target)
                await self._run(target, scripts, number, watchers[target.name], recorded, packing)
            finally:
                for one in batch:
                    one.add([event for event in recorded if event.scenario_id == one.script.id])
            for one in batch:
                one.judgement = self._judged_again(one)
        return True

    def _judged_again(self, one: _Accused) -> Judgement:
        """Judge all attempts so far, to find out whether and when another is due."""
        infos = {one.target.name: one.info}
        checked = set_against([one.repeated], infos, entries=self.entries, baseline=None, today=self.today)
        return checked.judgements[0]

    def _configs_of(self, target: Target) -> Packing | None:
        """Return the properties that the run gave its scenarios: a fault may occur only with them."""
        configs = self.folder.read_broker_configs().get(target.name)
        return None if configs is None else Packing(configs=configs)

    def _properties_of(self, target: Target) -> Mapping[str, str]:
        return self.plan.broker_properties if Capability.BROKER_CONFIG in target.capabilities else {}

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
    ) -> None:
        """Run some scripts with fresh brokers, and append their events to `recorded`.

        Without a packing, each script has a broker with the configuration that it asks for.
        """
        logs = self.folder.logs(target.name) / f"attempt-{number}"
        with EventWriter(self.folder.events(attempt_name(target.name, number))) as writer:

            def write(event: Event) -> None:
                recorded.append(replace(event, run_id=self.plan.run_id))
                writer.write(recorded[-1])

            drive = Drive(
                # Each attempt has its own ids on the wire: a broker that still runs may remember others.
                run_id=f"{self.plan.run_id}.{number}",
                target=target,
                target_name=target.name,
                limits=self.plan.limits,
                sinks=DriveSinks(
                    write=write,
                    broker_ready=lambda *_: None,
                    logs=logs if len(scripts) > 1 else logs / scripts[0].id.replace("/", "."),
                ),
                watcher=watcher,
                base_config=self._properties_of(target),
                packing=packing,
                admission=Admission(frozenset(), jobs=self.plan.limits.jobs),
            )
            try:
                drives = drive.run if self.cluster is None else partial(self.cluster.drive, drive)
                lost = (await drives(scripts)).lost
            except TargetError as error:
                lost = str(error).partition("\n")[0]
            if lost is not None:
                self._lost[target.name] = lost

    def _leave(self, accused: Sequence[_Accused], why: str) -> None:
        """Record, with the reason, which results were not run again as often as was due."""
        for one in accused:
            if one.is_settled:
                continue
            lost = self._lost.get(one.target.name)
            name = attempt_name(one.target.name, one.attempt_count + 1)
            with EventWriter(self.folder.events(name)) as writer:
                recorder = Recorder(
                    run_id=self.plan.run_id,
                    target=one.target.name,
                    script=one.script,
                    canonicaliser=Canonicaliser(groups={}),
                    write=writer.write,
                    now_ms=lambda: 0.0,
                )
                one.repeated = replace(one.repeated, missing=f"{TARGET_LOST}{lost}" if lost else why)
                note = f"{NO_FURTHER_ATTEMPT}{one.repeated.missing}"
                recorder.note(EventKind.ABANDONED, EventPosition(step=-1), note)


@dataclass(frozen=True, slots=True, kw_only=True)
class _AgainWatcher:
    """Forwards the progress of a drive, under a name that contains the attempt's number."""

    watcher: Watcher
    name: str

    def target_says(self, target: str, text: str) -> None:
        del target
        self.watcher.target_says(self.name, text)

    def drive_begins(self, target: str, scenario_count: int) -> None:
        """Forward nothing: an attempt is driven in parts, and its total is known already."""

    def scenario_ended(self, target: str, scenario_id: str) -> None:
        del target
        self.watcher.scenario_ended(self.name, scenario_id)


def time_for_confirming(plan: RunPlan, drive_s: float) -> float:
    """Return for how many seconds attempts of one kind may begin, given the duration of the drive."""
    return max(LEAST_S, SHARE * drive_s) if plan.confirm_s is None else plan.confirm_s


def _now_s() -> float:
    return asyncio.get_running_loop().time()


def _by_target(accused: Sequence[_Accused]) -> Sequence[Sequence[_Accused]]:
    """Group the results that are due into one batch for each target."""
    batches: dict[str, list[_Accused]] = {}
    for each in accused:
        batches.setdefault(each.target.name, []).append(each)
    return tuple(batches.values())


def _with_attempts(judged: JudgedTargets, accused: Sequence[_Accused]) -> JudgedTargets:
    """Replace the attempts at each scenario that was run again by all its attempts."""
    again = {(one.target.name, one.script.id): one.repeated for one in accused}
    return {
        name: [again.get((name, one.scenario_id), one) for one in of_target]
        for name, of_target in judged.items()
    }

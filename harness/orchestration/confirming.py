"""Scenarios run again: all of them for `--repeat`, and those whose result is unexpected.

What shows again is the target's doing. What does not may be a race, or the machine: then nobody is blamed,
and it stays visible. Attempts are kept beside the target's trace, under numbers from 2, so that a stored run
is judged by all of them again. References in virtual time do the same every time and are not run again.
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
from harness.diff.starved import Retell
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
from harness.orchestration.starving import reteller
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
"""How often a scenario is run in all, the first time included, before its result is an accusation."""
SHARE: Final = 0.2
"""Of the drive's time, for as long as nobody names another limit."""
FIRST_CAUSES: Final = 3
"""How many results of different causes are shown as often as is due before any other is run again."""
LEAST_S: Final = 60.0
"""However short the drive was, for as long as nobody names another limit.

On two busy cores an attempt takes up to 15 s, most of it a JVM's start: that is two results of different
causes, each shown three times. A run that is as expected takes no part of it.
"""


@dataclass(slots=True, kw_only=True)
class _Accused:
    """A result that is to show again."""

    target: Target
    script: Script
    as_driven: Script
    """The same, fitted to a broker of others."""
    info: TargetInfo
    repeated: Repeated
    """All attempts so far."""
    oracle: TargetTrace | None
    retell: Retell | None
    judgement: Judgement
    """What they come to."""

    @property
    def attempt_count(self) -> int:
        return len(self.repeated.attempts)

    @property
    def is_settled(self) -> bool:
        """Whether another attempt would change nothing."""
        return self.judgement.confirmation == Confirmation.CLEARED or self.attempt_count >= ATTEMPTS

    @property
    def differs(self) -> bool:
        """Whether it is a difference that is to show again, and not that a conversation broke off."""
        return self.judgement.outcome == Outcome.DIVERGES

    @property
    def is_confirmed(self) -> bool:
        return self.judgement.confirmation == Confirmation.CONFIRMED

    def add(self, events: Sequence[Event]) -> None:
        """Judge what was recorded of a further attempt, if anything was."""
        if events:
            self.repeated = with_attempt(
                self.repeated, self.as_driven, self.info, events, self.oracle, self.retell
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
    """On which expiry is judged."""
    cluster: Cluster | None = None
    """Whose executors drive; without it, this machine does."""
    _lost: dict[str, str] = field(default_factory=dict, init=False)
    """Why a target could not be had again, by its name."""
    _has_begun: bool = field(default=False, init=False)
    """Whether any unexpected result was run again."""

    async def repeat(self) -> bool:
        """Run everything as often as the plan says, target by target; tell whether nobody interrupted it."""
        scripts, targets = tuple(self.plan.scripts.values()), tuple(self._real_targets())
        try:
            # It has loops of its own, so it cannot be in this one.
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
        """Run what is unexpected again.

        Differences are run one scenario at a time. The first ones of different causes are run as often as is
        due before any other, so that some accusations are sure however short the time is. Of the rest, every
        result is run a second time before any is run a third time: what has shown twice is decided.
        What broke off or was starved accuses nobody: it is run again together, and alone only after that.

        Args:
            judged: every attempt so far.
            checked: what they came to.
            time_s: for how many seconds attempts may begin at what differed, and then for how many at what
                broke off or was starved; the first of all always does.

        Returns:
            All attempts, the further ones among them; and whether nobody interrupted it.
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
            # What has shown again needs no more to be decided on.
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
            oracle, retell = measures.get(each.target, (None, None))
            one = _Accused(
                target=targets[each.target],
                script=self.plan.scripts[each.scenario_id],
                as_driven=self._as_driven(each),
                info=target_info(self.folder, each.target),
                repeated=attempts[each.target, each.scenario_id],
                oracle=oracle,
                retell=retell,
                judgement=each,
            )
            if one.differs:
                # Most likely results of one cause show one fault.
                (differing if cause in reported else first).append(one)
                reported.add(cause)
            else:
                others.append(one)
        return first, differing, others

    def _measures(self, chosen: Sequence[Judgement]) -> Mapping[str, tuple[TargetTrace, Retell]]:
        """Return, by target, what its reference answered in some scenarios, and who tells it starved."""
        known = frozenset(self.folder.targets())
        oracles = {each.target: each.oracle for each in chosen if each.oracle and each.oracle in known}
        return {
            target: (
                read_first_attempts(
                    self.folder, oracle, {each.scenario_id for each in chosen if each.target == target}
                ),
                reteller(self.folder, oracle),
            )
            for target, oracle in oracles.items()
        }

    def _as_driven(self, one: Judgement) -> Script:
        settings = imposed_settings(self.folder, one.target)
        script = self.plan.scripts[one.scenario_id]
        return script if settings is None else fitted(script, settings)

    async def _round(self, batches: Sequence[Sequence[_Accused]], number: int, until_s: float) -> bool:
        """Run each batch once more, and tell whether there was time for all; a run's first always has it."""
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
        """Say what all attempts so far come to, to know whether and when another is due."""
        infos = {one.target.name: one.info}
        checked = set_against([one.repeated], infos, entries=self.entries, baseline=None, today=self.today)
        return checked.judgements[0]

    def _configs_of(self, target: Target) -> Packing | None:
        """Return the properties with which the run had its scenarios: a fault may show with them alone."""
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
        """Run some scripts with fresh brokers; `recorded` gets what is put on record.

        Without a packing each has a broker of the configuration that it asks for.
        """
        logs = self.folder.logs(target.name) / f"attempt-{number}"
        with EventWriter(self.folder.events(attempt_name(target.name, number))) as writer:

            def write(event: Event) -> None:
                recorded.append(replace(event, run_id=self.plan.run_id))
                writer.write(recorded[-1])

            drive = Drive(
                # On the wire no attempt has the ids of another: a broker that runs on may remember them.
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
        """Put on record what was not run again as often as was due."""
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
    """Passes on what a drive tells, under a name that says which attempt it is; how many come was told."""

    watcher: Watcher
    name: str

    def target_says(self, target: str, text: str) -> None:
        del target
        self.watcher.target_says(self.name, text)

    def drive_begins(self, target: str, scenario_count: int) -> None:
        """Tell nothing: an attempt is driven in parts, and its whole was told of."""

    def scenario_ended(self, target: str, scenario_id: str) -> None:
        del target
        self.watcher.scenario_ended(self.name, scenario_id)


def time_for_confirming(plan: RunPlan, drive_s: float) -> float:
    """Return for how many seconds attempts of a kind may begin, after a drive of some seconds."""
    return max(LEAST_S, SHARE * drive_s) if plan.confirm_s is None else plan.confirm_s


def _now_s() -> float:
    return asyncio.get_running_loop().time()


def _by_target(accused: Sequence[_Accused]) -> Sequence[Sequence[_Accused]]:
    """Put what is due into one batch for each target."""
    batches: dict[str, list[_Accused]] = {}
    for each in accused:
        batches.setdefault(each.target.name, []).append(each)
    return tuple(batches.values())


def _with_attempts(judged: JudgedTargets, accused: Sequence[_Accused]) -> JudgedTargets:
    """Put what was run again in the place of what was known of it."""
    again = {(one.target.name, one.script.id): one.repeated for one in accused}
    return {
        name: [again.get((name, one.scenario_id), one) for one in of_target]
        for name, of_target in judged.items()
    }

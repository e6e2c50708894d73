"""The first look at a run: the first unexpected difference is shown while the drive goes on.

Conversations are judged by their scripts alone as they end, until one shows a difference that no entry
expects. The judgement of the run, which knows the reference's answers too, finds that difference as well.
After that, only the longest conversations with external brokers are judged: once the drive has ended, there
is no time to run them again.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Final

from harness.diff.expectations import SourcedEntry, apply_expectations, known_causes
from harness.diff.gravity import headed
from harness.diff.judge import EXTERNAL, TargetInfo, judge
from harness.diff.model import Judgement
from harness.diff.repeats import is_accusation
from harness.diff.target_pattern import is_reference
from harness.orchestration.judging import broker_settings, read_expectations, target_info
from harness.orchestration.plan import RunPlan
from harness.report.model.phrases import shortened
from harness.runner.drive import Watcher
from harness.scenario.fitting import fitted
from harness.targets.base.interface import Lasting
from harness.trace.events import Event
from harness.trace.files import RunFolder
from harness.verdict import Outcome

_REASON_CHARACTERS: Final = 200
_LONGEST_MS: Final = 15_000
"""A scenario that takes longer would take most of the time for confirming."""


@dataclass(kw_only=True)
class FirstLook:
    """Watches a drive for another watcher, and shows it the first unexpected difference."""

    plan: RunPlan
    folder: RunFolder
    watcher: Watcher
    run_again: Callable[[str, str, float], None] = lambda _target, _scenario_id, _lasts_s: None
    """Called, once for each cause, with a long scenario on an external target that differs, and its time."""
    _is_done: bool = field(default=False, init=False)
    _events: dict[tuple[str, str], list[Event]] = field(default_factory=dict, init=False)
    """The events of conversations that have not ended, by target and scenario."""
    _infos: dict[str, TargetInfo] = field(default_factory=dict, init=False)
    _run_again: set[tuple[str, str]] = field(default_factory=set, init=False)
    """The targets and causes of what was run again."""

    @cached_property
    def _external(self) -> frozenset[str]:
        return frozenset(target.name for target in self.plan.targets if target.is_external)

    @cached_property
    def _entries(self) -> tuple[SourcedEntry, ...]:
        return read_expectations(self.plan.expectation_files, self.plan.catalogue)

    def hear(self, event: Event) -> None:
        """Keep an event until its conversation has ended; those of references are nobody's fault."""
        is_wanted = event.target in self._external or not self._is_done
        if is_wanted and not is_reference(event.target):
            self._events.setdefault((event.target, event.scenario_id), []).append(event)

    def target_says(self, target: str, text: str) -> None:
        """Forward what a target's slow start is doing."""
        self.watcher.target_says(target, text)

    def drive_begins(self, target: str, scenario_count: int) -> None:
        """Forward the number of scenarios that are about to run."""
        self.watcher.drive_begins(target, scenario_count)

    def scenario_ended(self, target: str, scenario_id: str) -> None:
        """Forward that a scenario has ended, and judge it."""
        self.watcher.scenario_ended(target, scenario_id)
        events = self._events.pop((target, scenario_id), None)
        if not events:
            return
        is_long = target in self._external and events[-1].at_ms > _LONGEST_MS
        accused = self._accused(target, scenario_id, events) if is_long or not self._is_done else None
        if accused is None:
            return
        if not self._is_done:
            self._is_done = True
            self._events = {place: of for place, of in self._events.items() if place[0] in self._external}
            reason = shortened(accused.reason, _REASON_CHARACTERS)
            found = f"first unexpected difference, not confirmed yet: {scenario_id}: {reason}"
            self.watcher.target_says(target, Lasting(found))
        cause = (target, accused.causes[0])
        if is_long and cause not in self._run_again:
            self._run_again.add(cause)
            self.run_again(target, scenario_id, events[-1].at_ms / 1000)

    def _accused(self, target: str, scenario_id: str, events: list[Event]) -> Judgement | None:
        """Return a conversation's judgement if it differs as nobody expects and no slow machine excuses."""
        if target not in self._infos:
            self._infos[target] = target_info(self.folder, target)
        info, script = self._infos[target], self.plan.scripts[scenario_id]
        if info.spec.startswith(EXTERNAL) and self.plan.against is None:
            script = fitted(script, broker_settings(self.folder, target))
        judged = judge(script, info, events, None)
        if judged.judgement.outcome != Outcome.DIVERGES or judged.starved is not None:
            return None
        today = datetime.now(UTC).date()
        unknown, _ = headed(judged.judgement, judged.differences, known_causes(self._entries, info))
        (judgement,) = apply_expectations([unknown], {target: info}, self._entries, today).judgements
        return judgement if is_accusation(judgement) else None

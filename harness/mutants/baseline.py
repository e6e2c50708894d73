"""What the unmutated reference does with each scenario, and which of its lines that takes."""

import sys
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import TYPE_CHECKING

from harness.diff.judge import TargetInfo, judge
from harness.mutants.dry_run import RUN_ID, UNMUTATED, DryRun, Hung
from harness.mutants.model import Kind, Mutant
from harness.mutants.source import Source
from harness.scenario.script import Script
from harness.targets.base.prepare import prepare
from harness.trace.events import Event
from harness.verdict import Outcome

if TYPE_CHECKING:
    from _typeshed import TraceFunction

ScenarioKey = tuple[str, str]
"""Profile and scenario id."""
Lines = Mapping[str, frozenset[int]]
"""Module to lines of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineResult:
    """One scenario in one profile, as it should be."""

    profile: str
    scenario: str
    outcome: str
    """An `Outcome`: one that does not conform measures nothing."""
    reason: str
    events: tuple[Event, ...]
    lines: Lines
    """What was executed in the conversation."""
    prepared: Lines
    """What was executed while the coordinator was made ready for it."""
    asked: frozenset[str]
    """The named behaviours that the reference asked its profile for."""


_Seen = defaultdict[str, set[int]]


class Witness:
    """Sees which lines of the reference are executed, and which of them only to make it ready."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._is_preparing = False
        self._modules = {str(source.path): source.name for source in sources}
        self._lines: _Seen = defaultdict(set)
        self._prepared: _Seen = defaultdict(set)
        self._asked: set[str] = set()

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch for as long as the block lasts."""
        self._lines, self._prepared, self._asked = defaultdict(set), defaultdict(set), set()
        sys.settrace(self._call)
        try:
            yield
        finally:
            sys.settrace(None)

    @property
    def lines(self) -> Lines:
        """What was executed in the last watch, other than to make the coordinator ready."""
        return {module: frozenset(lines) for module, lines in self._lines.items()}

    @property
    def prepared(self) -> Lines:
        """What was executed to make it ready."""
        return {module: frozenset(lines) for module, lines in self._prepared.items()}

    @property
    def asked(self) -> frozenset[str]:
        """The named behaviours that a profile was asked for."""
        return frozenset(self._asked)

    def _call(self, frame: FrameType, *_: object) -> "TraceFunction | None":
        if frame.f_code is prepare.__code__:
            self._is_preparing = True
            return self._end_of_preparation
        if frame.f_code.co_qualname == "Profile.has":
            self._asked.add(frame.f_locals["behaviour"].name)
        module = self._modules.get(frame.f_code.co_filename)
        return None if module is None else self._line_of(module)

    def _end_of_preparation(self, frame: FrameType, event: str, _: object) -> "TraceFunction":
        del frame
        self._is_preparing = event != "return"
        return self._end_of_preparation

    def _line_of(self, module: str) -> "TraceFunction":
        lines = (self._prepared if self._is_preparing else self._lines)[module]

        def line(frame: FrameType, event: str, _: object) -> "TraceFunction":
            if event == "line":
                lines.add(frame.f_lineno)
            return line

        return line


def measured(script: Script, profile: str, dry_run: DryRun, witness: Witness) -> BaselineResult:
    """Run a scenario on the unmutated reference."""
    try:
        with witness.watching():
            events = dry_run.run(script, profile)
    except Hung:
        return no_measure(profile, script, "it did not come to its end")
    except Exception as error:  # noqa: BLE001 - whatever ails the reference, it is no measure here
        return no_measure(profile, script, repr(error))
    info = TargetInfo(run_id=RUN_ID, target=UNMUTATED, spec="reference", profile=profile, oracle=None)
    judgement = judge(script, info, events, None).judgement
    return BaselineResult(
        profile=profile,
        scenario=script.id,
        outcome=judgement.outcome,
        reason=judgement.reason,
        events=events,
        lines=witness.lines,
        prepared=witness.prepared,
        asked=witness.asked,
    )


def no_measure(profile: str, script: Script, reason: str) -> BaselineResult:
    """Say of a scenario that it cannot measure anything."""
    return BaselineResult(
        profile=profile,
        scenario=script.id,
        outcome=Outcome.INDETERMINATE.value,
        reason=reason,
        events=(),
        lines={},
        prepared={},
        asked=frozenset(),
    )


@dataclass(frozen=True, slots=True)
class Baseline:
    """All that mutants are compared with."""

    measures: Mapping[ScenarioKey, BaselineResult]
    """Of the conversations that can measure something."""
    distinct: Mapping[ScenarioKey, BaselineResult]
    """Those without the ones that take the same lines to the same answers as in another profile."""

    def reaching(self, mutant: Mutant) -> tuple[ScenarioKey, ...]:
        """Return the conversations that execute what is wrong in a mutant, the shortest first.

        Where it is executed to make the coordinator ready, every conversation may show it; those come last.
        """
        concerned = (
            self.distinct
            if mutant.profile is None
            else {key: measure for key, measure in self.measures.items() if measure.profile == mutant.profile}
        )
        reaching = [each for each, measure in concerned.items() if _reaches(measure, mutant)]
        prepared = [each for each, measure in concerned.items() if _meets(measure.prepared, mutant)]
        return tuple(dict.fromkeys((*reaching, *prepared)))

    def decides_nothing(self, mutant: Mutant) -> bool:
        """Tell whether a behaviour is asked for, but never in the profile where a mutant switches it."""
        if mutant.kind is not Kind.BEHAVIOUR:
            return False
        asking = {one.profile for one in self.measures.values() if mutant.behaviour in one.asked}
        return bool(asking) and mutant.profile not in asking


def measured_baseline(measures: Collection[BaselineResult]) -> Baseline:
    """Make a baseline of the scenarios that conform."""
    fit = [one for one in measures if one.outcome == Outcome.CONFORMS]
    fit.sort(key=lambda one: sum(map(len, one.lines.values())))
    kinds = {_kind(one): one for one in reversed(fit)}
    distinct = {(one.profile, one.scenario) for one in kinds.values()}
    by_key = {(one.profile, one.scenario): one for one in fit}
    return Baseline(by_key, {key: measure for key, measure in by_key.items() if key in distinct})


def _kind(measure: BaselineResult) -> tuple[object, ...]:
    answers = tuple((event.step, event.kind, event.digest) for event in measure.events)
    return measure.scenario, frozenset(measure.lines.items()), answers


def _reaches(measure: BaselineResult, mutant: Mutant) -> bool:
    if mutant.kind is Kind.BEHAVIOUR:
        return mutant.behaviour in measure.asked
    return _meets(measure.lines, mutant)


def _meets(lines: Lines, mutant: Mutant) -> bool:
    return not lines.get(mutant.module, frozenset()).isdisjoint(mutant.lines)

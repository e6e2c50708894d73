"""The answers of the unmutated reference to each scenario, and the lines that it executes."""

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
"""Line numbers by module."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineResult:
    """The result of one scenario in one profile on the unmutated reference."""

    profile: str
    scenario: str
    outcome: str
    """An `Outcome`: a scenario that does not conform cannot be used."""
    reason: str
    events: tuple[Event, ...]
    lines: Lines
    """The lines that were executed in the conversation."""
    prepared: Lines
    """The lines that were executed while the coordinator was made ready for it."""
    asked: frozenset[str]
    """The named behaviours that the reference looked up in its profile."""


_Seen = defaultdict[str, set[int]]


class Witness:
    """Records which lines of the reference are executed, and which of them only to make it ready."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._is_preparing = False
        self._modules = {str(source.path): source.name for source in sources}
        self._lines: _Seen = defaultdict(set)
        self._prepared: _Seen = defaultdict(set)
        self._asked: set[str] = set()

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Record lines for the duration of the block."""
        self._lines, self._prepared, self._asked = defaultdict(set), defaultdict(set), set()
        sys.settrace(self._call)
        try:
            yield
        finally:
            sys.settrace(None)

    @property
    def lines(self) -> Lines:
        """The lines that were executed in the last block, other than to make the coordinator ready."""
        return {module: frozenset(lines) for module, lines in self._lines.items()}

    @property
    def prepared(self) -> Lines:
        """The lines that were executed to make the coordinator ready."""
        return {module: frozenset(lines) for module, lines in self._prepared.items()}

    @property
    def asked(self) -> frozenset[str]:
        """The named behaviours that were looked up in a profile."""
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
    """Return the result of a scenario that cannot be used, with the reason."""
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
    """The results with which mutants are compared."""

    measures: Mapping[ScenarioKey, BaselineResult]
    """The results of conversations that conform."""
    distinct: Mapping[ScenarioKey, BaselineResult]
    """These results without those that have the same lines and answers as in another profile."""

    def reaching(self, mutant: Mutant) -> tuple[ScenarioKey, ...]:
        """Return the conversations that execute a mutant's fault, the shortest first.

        Conversations that execute it only while the coordinator is made ready come last.
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
        """Return whether a mutant switches a behaviour in a profile in which it is never looked up."""
        if mutant.kind is not Kind.BEHAVIOUR:
            return False
        asking = {one.profile for one in self.measures.values() if mutant.behaviour in one.asked}
        return bool(asking) and mutant.profile not in asking


def measured_baseline(measures: Collection[BaselineResult]) -> Baseline:
    """Return a baseline of the scenarios that conform."""
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

"""What a run changed, compared with its baseline and with each target's previous run."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self, TypeAlias

from harness.diff.model import GOOD, Judgement
from harness.report.model.cause_groups import alike
from harness.report.model.gate_data import Decision, read_decision
from harness.report.model.phrases import result_address, says
from harness.report.model.run_data import Run
from harness.report.model.trend import History, read_rows, site_beside
from harness.results.baseline import BaselineResult, kept_baseline
from harness.spark.rows import RunDelta
from harness.verdict import Delta, Outcome

FLAKY: Final = ("Flaky", "F")
KNOWN: Final = ("In the baseline too", "K")
_WORDS: Final = {
    Delta.NEWLY_DIVERGING: ("New", "D"),
    Delta.CHANGED_SIGNATURE: ("Changed", "C"),
    Delta.SAME: KNOWN,
    Delta.NEWLY_CONFORMING: ("Newly conforming", "U"),
    Delta.ADDED: ("Added", "A"),
    Delta.REMOVED: ("Vanished", "R"),
}
"""The kinds of change, in the gate's terms, with the letters for them in the address."""
_ORDER: Final = (*list(_WORDS.values())[:2], FLAKY, *list(_WORDS.values())[2:])
"""In the order in which pages show them."""
_LINE_COUNT_MAX: Final = 400
"""The number of results in one section; the table has all."""


_Reported: TypeAlias = Mapping[tuple[str, str], tuple[str, str | None]]
"""By target and scenario id: a result in words, and the cause of its first difference."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One result that changed."""

    result: BaselineResult | RunDelta
    href: str
    what: str
    """The first difference or the reason, if this run has one."""
    cause: str | None
    """That of the first difference, if this run has one."""

    @property
    def weight(self) -> str:
        """How the gate weighed the result, if one decided."""
        reported = "" if isinstance(self.result, RunDelta) else self.result.weight
        return reported or ("passed" if self.result.outcome in GOOD else "does not count")

    @property
    def likeness(self) -> object:
        """A key that is equal for lines with the same change; without a cause, only within a scenario."""
        how = self.cause or (self.result.scenario_id, self.result.signature)
        return (self.result.prior_outcome, self.result.outcome, self.weight, how)


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """Results that changed in the same way."""

    title: str
    letter: str
    lines: tuple[tuple[Line, ...], ...]
    """Results with the same change are shown in the line of the first of them."""
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One run compared with another."""

    title: str
    href: str
    """The site of the earlier run; empty if it is not beside this one."""
    sections: tuple[Section, ...]
    by_gate: Decision | None = None
    """The gate's decision, if the gate made this comparison."""
    notes: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """How many results changed; a flaky result is shown in two sections and counted once."""
        return sum(section.count for section in self.sections if section.letter not in (FLAKY[1], KNOWN[1]))


_UNCHANGED: Final = Comparison(title="Since the runs before", href="", sections=())


@dataclass(frozen=True, slots=True, kw_only=True)
class Regression:
    """All comparisons that a page shows."""

    baselines: tuple[Comparison, ...]
    since: tuple[Comparison, ...]
    """Those with earlier runs of its targets, if there is any earlier run."""
    gated: Decision | None
    """The gate's decision on the run, if there is one."""

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """All comparisons."""
        return (*self.baselines, *self.since)

    @property
    def changed_count(self) -> int:
        """How many results changed: the most of any comparison."""
        return max((each.count for each in self.comparisons), default=0)

    @property
    def letters(self) -> tuple[tuple[str, str], ...]:
        """The kinds of change that occur, each with its letter."""
        found = {(section.title, section.letter) for each in self.comparisons for section in each.sections}
        return tuple(each for each in _ORDER if each in found)

    @classmethod
    def of(cls, run: Run, trend_dir: Path, history: History) -> Self:
        """Return what a run changed.

        Raises:
            ReportError: a table of the trend, or the run's data on a baseline, is damaged.
        """
        decision = read_decision(run.directory)
        reported = {(each.target, each.scenario_id): _reported(run, each) for each in run.results}
        since: Sequence[Comparison] = ()
        if len(history.runs) > 1:
            deltas = read_rows(trend_dir, "run_deltas", RunDelta)
            mine = [each for each in deltas if each.run_id == run.header.run_id]
            since = _by_prior(mine, history, reported) or (_UNCHANGED,)
        baselines = _against_baselines(run.directory, decision, reported)
        return cls(baselines=tuple(baselines), since=tuple(since), gated=decision)


def _by_prior(deltas: Iterable[RunDelta], history: History, reported: _Reported) -> Sequence[Comparison]:
    hrefs = {run.run_id: run.href for run in history.runs}
    priors: dict[str, list[RunDelta]] = defaultdict(list)
    for each in deltas:
        priors[each.prior_run_id].append(each)
    return [
        Comparison(title=f"Since {prior}", href=hrefs.get(prior, ""), sections=_sections(of, reported))
        for prior, of in sorted(priors.items(), reverse=True)
    ]


def _sections(results: Iterable[BaselineResult | RunDelta], reported: _Reported) -> tuple[Section, ...]:
    """Group results by the kind of their change; flaky ones are in a section of their own, too."""
    by_words: dict[tuple[str, str], list[Line]] = defaultdict(list)
    for each in results:
        what, cause = reported.get((each.target, each.scenario_id), ("", None))
        href = "" if each.outcome is None else result_address(each.scenario_id, each.target)
        line = Line(result=each, href=href, what=what, cause=cause)
        delta = Delta(each.delta)
        if delta is Delta.ADDED and each.outcome not in GOOD:
            delta = Delta.NEWLY_DIVERGING
        by_words[_WORDS[delta]].append(line)
        if isinstance(each, RunDelta) and each.is_flaky:
            by_words[FLAKY].append(line)
    return tuple(
        Section(
            title=title,
            letter=letter,
            lines=alike(lines[:_LINE_COUNT_MAX], lambda line: line.likeness),
            count=len(lines),
        )
        for title, letter in _ORDER
        if (lines := by_words.get((title, letter)))
    )


def _against_baselines(folder: Path, decision: Decision | None, reported: _Reported) -> Iterator[Comparison]:
    of_gate = decision.baseline if decision else None
    of_run = kept_baseline(folder)
    if of_run is not None and of_gate is not None and of_run.run_id == of_gate.run_id:
        of_run = None
    for baseline, by_gate in ((of_gate, decision), (of_run, None)):
        if baseline is not None:
            who = "The gate compared this run with it" if by_gate else "This run was judged beside it"
            pairs = (f"{here} stands in the place of its {there}." for here, there in baseline.pairs.items())
            yield Comparison(
                title=f"Against the baseline {baseline.run_id}",
                href=site_beside(folder, baseline.run_id),
                sections=_sections(baseline.results, reported),
                by_gate=by_gate,
                notes=(f"{who}, as {baseline.named_by} names it.", *pairs),
            )


def _reported(run: Run, judgement: Judgement) -> tuple[str, str | None]:
    finding = run.first_difference(judgement)
    if finding is None:
        return "" if judgement.outcome == Outcome.CONFORMS else judgement.reason, None
    return says(judgement, finding), finding.cause

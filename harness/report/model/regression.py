"""What a run changed, compared with its baseline and with each target's previous run."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self, TypeAlias

from harness.diff.model import GOOD, Judgement
from harness.report.model.cause_groups import alike
from harness.report.model.gate_data import Decision, read_decision
from harness.report.model.phrases import place, result_address
from harness.report.model.run_data import Run
from harness.report.model.trend import History, has_table, read_rows, site_beside
from harness.results.baseline import BaselineData, BaselineResult, kept_baseline
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
_RUN_COUNT_MAX: Final = 12
"""The number of runs whose changes a trend shows."""
_LINE_COUNT_MAX: Final = 400
"""The number of results in one section; the table has all."""


_Reported: TypeAlias = tuple[str, str | None]
"""A result in words, and the cause of its first difference."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One result that changed."""

    result: BaselineResult | RunDelta
    href: str
    what: str
    """The first difference or the reason, if this run has one."""
    cause: str | None = None
    """The cause of the first difference, if this run has one."""
    weight: str = ""
    """How the gate weighed the result, if one decided."""

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

    @classmethod
    def of(cls, title: str, letter: str, lines: Sequence[Line]) -> Self:
        """Return a section in which results with the same change share a line."""
        grouped = alike(lines[:_LINE_COUNT_MAX], lambda line: line.likeness)
        return cls(title=title, letter=letter, lines=grouped, count=len(lines))

    @property
    def untold_count(self) -> int:
        """The number of results without a line here."""
        return self.count - sum(map(len, self.lines))


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
    def tells_before(self) -> bool:
        """Whether earlier results are known."""
        lines = (line for section in self.sections for of in section.lines for line in of)
        return any(line.result.prior_outcome for line in lines)

    @property
    def count(self) -> int:
        """How many results changed; a flaky result is shown in two sections and counted once."""
        return sum(section.count for section in self.sections if section.letter not in (FLAKY[1], KNOWN[1]))

    @property
    def counts(self) -> str:
        """The number of results in each section, in words."""
        return ", ".join(f"{section.count} {section.title.lower()}" for section in self.sections)


_UNCHANGED: Final = Comparison(title="Since the runs before", href="", sections=())


@dataclass(frozen=True, slots=True, kw_only=True)
class Regression:
    """All comparisons that a page shows."""

    comparisons: tuple[Comparison, ...]
    has_trend: bool
    """Whether there is any earlier run."""
    has_baseline: bool
    gated: Decision | None
    """The gate's decision on the run, if there is one."""
    changed_count: int
    """How many results changed: for a run, the most of any comparison; for a trend, the sum of all."""

    @property
    def letters(self) -> tuple[tuple[str, str], ...]:
        """The kinds of change that occur, each with its letter."""
        found = {(section.title, section.letter) for each in self.comparisons for section in each.sections}
        return tuple(each for each in _ORDER if each in found)

    @classmethod
    def of(cls, run: Run, trend_dir: Path, history: History) -> Self:
        """Return what a run changed.

        Raises:
            ReportError: a table of the trend is damaged.
        """
        decision = read_decision(run.directory)
        baselines = tuple(_against_baselines(run, decision))
        has_trend = len(history.runs) > 1
        deltas = _deltas(trend_dir) if has_trend else {}
        mine = deltas.get(run.header.run_id, [])
        reported = {(each.target, each.scenario_id): _reported(run, each) for each in run.results}
        comparisons = [*baselines]
        if has_trend:
            comparisons += _by_prior(mine, history, reported, since="Since") or [_UNCHANGED]
        return cls(
            comparisons=tuple(comparisons),
            has_trend=has_trend,
            has_baseline=bool(baselines),
            gated=decision,
            changed_count=max((each.count for each in comparisons), default=0),
        )

    @classmethod
    def of_trend(cls, trend_dir: Path, history: History) -> Self:
        """Return what each of the newest runs changed.

        Raises:
            ReportError: a table of the trend is damaged.
        """
        deltas = _deltas(trend_dir)
        newest = [run.run_id for run in reversed(history.runs) if run.run_id in deltas]
        comparisons = [
            comparison
            for run_id in newest[:_RUN_COUNT_MAX]
            for comparison in _by_prior(deltas[run_id], history, {}, since=f"{run_id} since")
        ]
        return cls(
            comparisons=tuple(comparisons),
            has_trend=len(history.runs) > 1,
            has_baseline=False,
            gated=None,
            changed_count=sum(each.count for each in comparisons),
        )


def _deltas(trend_dir: Path) -> dict[str, list[RunDelta]]:
    found: dict[str, list[RunDelta]] = defaultdict(list)
    if has_table(trend_dir, "run_deltas"):
        for each in read_rows(trend_dir, "run_deltas", RunDelta):
            found[each.run_id].append(each)
    return found


def _by_prior(
    deltas: Iterable[RunDelta], history: History, reported: dict[tuple[str, str], _Reported], *, since: str
) -> list[Comparison]:
    """Return one run's changes, with one comparison for each previous run of its targets."""
    hrefs = {run.run_id: run.href for run in history.runs}
    priors: dict[str, list[Line]] = defaultdict(list)
    for each in deltas:
        href = result_address(each.scenario_id, each.target)
        if not reported:
            href = f"{hrefs.get(each.run_id, '')}{href}" if hrefs.get(each.run_id) else ""
        what, cause = reported.get((each.target, each.scenario_id), ("", None))
        line = Line(result=each, href=href if each.outcome else "", what=what, cause=cause)
        priors[each.prior_run_id].append(line)
    return [
        Comparison(title=f"{since} {prior}", href=hrefs.get(prior, ""), sections=_sections(changed))
        for prior, changed in sorted(priors.items(), reverse=True)
    ]


def _sections(lines: Iterable[Line]) -> tuple[Section, ...]:
    """Group results by the kind of their change; flaky ones are in a section of their own, too."""
    by_words: dict[tuple[str, str], list[Line]] = defaultdict(list)
    for each in lines:
        by_words[_words_of(each.result)].append(each)
        if isinstance(each.result, RunDelta) and each.result.is_flaky:
            by_words[FLAKY].append(each)
    return tuple(Section.of(*words, by_words[words]) for words in _ORDER if words in by_words)


def _words_of(result: BaselineResult | RunDelta) -> tuple[str, str]:
    """Return the kind of change of a result; one that was not run before is `New` if it is not good."""
    delta = Delta(result.delta)
    if delta is Delta.ADDED and result.outcome not in GOOD:
        delta = Delta.NEWLY_DIVERGING
    return _WORDS[delta]


def _against_baselines(run: Run, decision: Decision | None) -> Iterator[Comparison]:
    """Yield the comparisons of a run with the gate's baseline, and with the baseline of its judgements.

    Raises:
        ReportError: the run's data on either baseline is damaged.
    """
    of_gate = decision.baseline if decision else None
    of_run = kept_baseline(run.directory)
    if of_gate is not None:
        yield _against(run, of_gate, decision)
    if of_run is not None and (of_gate is None or of_gate.run_id != of_run.run_id):
        yield _against(run, of_run, None)


def _against(run: Run, baseline: BaselineData, decision: Decision | None) -> Comparison:
    here = {(each.target, each.scenario_id): each for each in run.results}
    lines = (
        _baseline_line(run, each, here.get((each.target, each.scenario_id))) for each in baseline.results
    )
    return Comparison(
        title=f"Against the baseline {baseline.run_id}",
        href=site_beside(run.directory, baseline.run_id),
        sections=_sections(lines),
        by_gate=decision,
        notes=tuple(_notes(baseline, decision)),
    )


def _baseline_line(run: Run, result: BaselineResult, judgement: Judgement | None) -> Line:
    what, cause = _reported(run, judgement) if judgement else ("", None)
    return Line(
        result=result,
        href=result_address(result.scenario_id, result.target) if judgement else "",
        what=what,
        cause=cause,
        weight=result.weight or ("passed" if result.outcome in GOOD else "does not count"),
    )


def _notes(baseline: BaselineData, decision: Decision | None) -> Iterator[str]:
    """Yield who named a baseline, and which targets its targets are paired with."""
    who = "The gate compared this run with it" if decision else "This run was judged beside it"
    yield f"{who}, as {baseline.named_by} names it."
    for here, there in baseline.pairs.items():
        yield f"{here} stands in the place of its {there}."


def _reported(run: Run, judgement: Judgement) -> _Reported:
    finding = run.first_difference(judgement)
    if finding is None:
        return "" if judgement.outcome == Outcome.CONFORMS else judgement.reason, None
    return f"{place(finding)}: {run.contrast(finding)}", finding.cause

"""What a run changed: against the run before of each target, and against the baseline that was named."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from harness.diff.model import Judgement
from harness.report.history import History
from harness.report.names import css_name, scenario_page, target_anchor
from harness.report.phrases import GLYPHS, contrast, place
from harness.report.run_data import Run
from harness.report.tables import has_table, read_rows
from harness.spark.trend_rows import RunDelta
from harness.verdict import Delta, Outcome

SECTIONS: Final = {
    Delta.NEWLY_DIVERGING: ("Newly diverging", "D"),
    Delta.CHANGED_SIGNATURE: ("Changed signature", "C"),
    Delta.NEWLY_CONFORMING: ("Newly conforming", "U"),
    Delta.ADDED: ("Added", "A"),
    Delta.REMOVED: ("Removed", "R"),
}
"""In the order in which a reader wants them, with the letters that stand for them in the address."""
FLAKY: Final = ("Flaky", "F")
_RUN_COUNT_MAX: Final = 12
"""Runs of which a trend tells what each changed."""
_LINE_COUNT_MAX: Final = 400
"""Results in one section; the table has all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """What a scenario came to, before or after."""

    glyph: str
    outcome: str
    style: str
    signature: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One result that is not what it was."""

    scenario_id: str
    target: str
    href: str
    before: Side | None
    after: Side | None
    what: str
    """The first difference or the reason, where this run has one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """Results that changed in the same way."""

    title: str
    letter: str
    lines: tuple[Line, ...]
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One run against another."""

    title: str
    href: str
    """The site of the earlier run; empty where it is not beside this one."""
    sections: tuple[Section, ...]

    @property
    def tells_before(self) -> bool:
        """Whether it is known what the results were."""
        return any(line.before for section in self.sections for line in section.lines)

    @property
    def count(self) -> int:
        """How many results are not what they were; one that is flaky is told twice and counted once."""
        return sum(section.count for section in self.sections if section.letter != FLAKY[1])


@dataclass(frozen=True, slots=True, kw_only=True)
class Regression:
    """All comparisons that a page shows."""

    comparisons: tuple[Comparison, ...]
    has_trend: bool
    """Whether there is an earlier run at all."""
    has_baseline: bool
    changed_count: int
    """Results that are not what they were; of what several comparisons tell, the most that one tells."""

    @property
    def letters(self) -> tuple[tuple[str, str], ...]:
        """The kinds of change that occur, each with its letter."""
        found = {section.letter for each in self.comparisons for section in each.sections}
        return tuple(words for words in (*SECTIONS.values(), FLAKY) if words[1] in found)

    @classmethod
    def of(cls, run: Run, trend_dir: Path, history: History) -> Self:
        """Tell what a run changed.

        Raises:
            ReportError: a table of the trend is damaged.
        """
        against_baseline = _against_baseline(run)
        has_trend = len(history.runs) > 1
        deltas = _deltas(trend_dir) if has_trend else {}
        mine = deltas.get(run.header.run_id, [])
        told = {(each.target, each.scenario_id): _told(run, each) for each in run.judgements}
        comparisons = [against_baseline] if against_baseline else []
        if has_trend:
            comparisons += _by_prior(mine, history, told, since="Since") or [_unchanged()]
        return cls(
            comparisons=tuple(comparisons),
            has_trend=has_trend,
            has_baseline=against_baseline is not None,
            changed_count=max((each.count for each in comparisons), default=0),
        )

    @classmethod
    def of_trend(cls, trend_dir: Path, history: History) -> Self:
        """Tell what each of the newest runs changed.

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
            changed_count=sum(each.count for each in comparisons),
        )


def _unchanged() -> Comparison:
    return Comparison(title="Since the runs before", href="", sections=())


def _deltas(trend_dir: Path) -> dict[str, list[RunDelta]]:
    found: dict[str, list[RunDelta]] = defaultdict(list)
    if has_table(trend_dir, "run_deltas"):
        for each in read_rows(trend_dir, "run_deltas", RunDelta):
            found[each.run_id].append(each)
    return found


def _by_prior(
    deltas: Iterable[RunDelta], history: History, told: dict[tuple[str, str], str], *, since: str
) -> list[Comparison]:
    """Tell the changes of one run, those of targets that last were in the same run together."""
    hrefs = {run.run_id: run.href for run in history.runs}
    priors: dict[str, list[tuple[Delta, bool, Line]]] = defaultdict(list)
    for each in deltas:
        href = _href(each.scenario_id, each.target)
        if not told:
            href = f"{hrefs.get(each.run_id, '')}{href}" if hrefs.get(each.run_id) else ""
        line = Line(
            scenario_id=each.scenario_id,
            target=each.target,
            href=href if each.outcome else "",
            before=_side(each.prior_outcome, each.prior_signature),
            after=_side(each.outcome, each.signature),
            what=told.get((each.target, each.scenario_id), ""),
        )
        priors[each.prior_run_id].append((Delta(each.delta), each.is_flaky, line))
    return [
        Comparison(title=f"{since} {prior}", href=hrefs.get(prior, ""), sections=_sections(changed))
        for prior, changed in sorted(priors.items(), reverse=True)
    ]


def _sections(changed: Iterable[tuple[Delta, bool, Line]]) -> tuple[Section, ...]:
    by_delta: dict[Delta, list[Line]] = defaultdict(list)
    flaky: list[Line] = []
    for delta, is_flaky, line in changed:
        by_delta[delta].append(line)
        if is_flaky:
            flaky.append(line)
    named = [(*words, by_delta[delta]) for delta, words in SECTIONS.items()]
    return tuple(
        Section(title=title, letter=letter, lines=tuple(lines[:_LINE_COUNT_MAX]), count=len(lines))
        for title, letter, lines in (*named[:3], (*FLAKY, flaky), *named[3:])
        if lines
    )


def _against_baseline(run: Run) -> Comparison | None:
    """Tell what is not as in the run that was named as baseline; None where none was named."""
    if all(each.delta == Delta.NO_BASELINE for each in run.judgements):
        return None
    changed = [
        (
            Delta(each.delta),
            False,
            Line(
                scenario_id=each.scenario_id,
                target=each.target,
                href=_href(each.scenario_id, each.target),
                before=None,
                after=_side(each.outcome, each.signature),
                what=_told(run, each),
            ),
        )
        for each in run.judgements
        if each.delta not in {Delta.NO_BASELINE, Delta.SAME}
    ]
    return Comparison(title="Against the baseline", href="", sections=_sections(changed))


def _told(run: Run, judgement: Judgement) -> str:
    finding = run.first_difference(judgement)
    if finding is None:
        return "" if judgement.outcome == Outcome.CONFORMS else judgement.reason
    return f"{place(finding)}: {contrast(finding)}"


def _href(scenario_id: str, target: str) -> str:
    return f"{scenario_page(scenario_id)}#{target_anchor(target)}"


def _side(outcome: str | None, signature: str | None) -> Side | None:
    if outcome is None:
        return None
    return Side(
        glyph=GLYPHS[Outcome(outcome)],
        outcome=outcome,
        style=css_name(outcome),
        signature=signature or "",
    )

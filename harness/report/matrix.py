"""What the index page shows, as values that a template can write down."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from harness.diff.model import Judgement
from harness.report.names import css_name, scenario_page, target_anchor
from harness.report.phrases import GLYPHS, contrast, place, repetition
from harness.report.run_data import Run
from harness.report.standing import NEEDS_ATTENTION, Standing, standing
from harness.spark.rows import LatencyQuantile, TargetSummary
from harness.verdict import Delta, Outcome

THREE_DIGITS_MS: Final = 100
"""From here on a duration is told in whole milliseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One scenario with one target."""

    glyph: str
    outcome: str
    expectation: str
    has_news: bool
    """Whether it is not as it was in the baseline run."""
    href: str
    title: str
    """What a pointer that rests on it is told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixRow:
    """One scenario with all targets."""

    scenario_id: str
    name: str
    """The last part of the id; the rest is the group's."""
    title: str
    href: str
    cells: tuple[Cell | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixGroup:
    """The scenarios whose ids begin alike, e.g. `classic/join`."""

    name: str
    rows: tuple[MatrixRow, ...]
    tallies: tuple[str, ...]
    """For each target `conforming/applicable`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attention:
    """A result that somebody has to look into."""

    standing: Standing
    outcome: str
    expectation: str
    glyph: str
    target: str
    scenario_id: str
    href: str
    reason: str
    place: str
    contrast: str
    reproduction: str


def matrix_groups(run: Run) -> tuple[MatrixGroup, ...]:
    """Lay out all results, a row a scenario, a column a target."""
    targets = [summary.target for summary in run.targets]
    rows = groupby(run.judgements, key=lambda each: each.scenario_id)
    by_scenario = [(scenario_id, tuple(judgements)) for scenario_id, judgements in rows]
    return tuple(
        _group(name, [judgements for _, judgements in members], targets)
        for name, members in groupby(by_scenario, key=lambda each: each[0].rpartition("/")[0])
    )


def _group(name: str, scenarios: Sequence[Sequence[Judgement]], targets: Sequence[str]) -> MatrixGroup:
    everything = [judgement for judgements in scenarios for judgement in judgements]
    return MatrixGroup(
        name=name,
        rows=tuple(_row(judgements, targets) for judgements in scenarios),
        tallies=tuple(_tally([each for each in everything if each.target == target]) for target in targets),
    )


def _tally(judgements: Sequence[Judgement]) -> str:
    outcomes = Counter(each.outcome for each in judgements)
    applicable = len(judgements) - outcomes[Outcome.NOT_APPLICABLE] - outcomes[Outcome.HARNESS_ERROR]
    return f"{outcomes[Outcome.CONFORMS]}/{applicable}"


def _row(judgements: Sequence[Judgement], targets: Sequence[str]) -> MatrixRow:
    by_target = {judgement.target: judgement for judgement in judgements}
    any_one = judgements[0]
    page = scenario_page(any_one.scenario_id)
    return MatrixRow(
        scenario_id=any_one.scenario_id,
        name=any_one.scenario_id.rpartition("/")[2],
        title=any_one.title,
        href=page,
        cells=tuple(_cell(by_target[name], page) if name in by_target else None for name in targets),
    )


def _cell(judgement: Judgement, page: str) -> Cell:
    parts = [f"{judgement.target}: {judgement.outcome}"]
    if standing(judgement) is not Standing.PASSED:
        parts.append(f"{judgement.expectation} — {judgement.reason}")
    has_news = judgement.delta not in {Delta.NO_BASELINE, Delta.SAME}
    if has_news:
        parts.append(f"since the baseline: {judgement.delta}")
    return Cell(
        glyph=GLYPHS[Outcome(judgement.outcome)],
        outcome=css_name(judgement.outcome),
        expectation=css_name(judgement.expectation),
        has_news=has_news,
        href=f"{page}#{target_anchor(judgement.target)}",
        title="\n".join(parts),
    )


def attention_list(run: Run) -> tuple[Attention, ...]:
    """List what somebody has to look into, the worst first."""
    concerning = [each for each in run.judgements if standing(each) in NEEDS_ATTENTION]
    concerning.sort(key=lambda each: NEEDS_ATTENTION.index(standing(each)))
    return tuple(_attention(run, judgement) for judgement in concerning)


def _attention(run: Run, judgement: Judgement) -> Attention:
    finding = run.first_difference(judgement)
    return Attention(
        standing=standing(judgement),
        outcome=css_name(judgement.outcome),
        expectation=css_name(judgement.expectation),
        glyph=GLYPHS[Outcome(judgement.outcome)],
        target=judgement.target,
        scenario_id=judgement.scenario_id,
        href=f"{scenario_page(judgement.scenario_id)}#{target_anchor(judgement.target)}",
        reason=judgement.reason,
        place=place(finding) if finding else "",
        contrast=contrast(finding) if finding else "",
        reproduction=repetition(run.target(judgement.target), judgement.scenario_id),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """A table with a column a target: row headings, and a text or nothing a cell."""

    rows: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]


def difference_grid(run: Run) -> Grid:
    """Count differences by API and class: findings, and in brackets with what follows from them."""
    found = {(each.api or "", each.difference_class, each.target): each for each in run.counts}
    keys = sorted({(api, difference_class) for api, difference_class, _ in found})

    def text(key: tuple[str, str], summary: TargetSummary) -> str:
        count = found.get((*key, summary.target))
        if count is None:
            return ""
        more = count.difference_count - count.finding_count
        return f"{count.finding_count} +{more}" if more else f"{count.finding_count}"

    return Grid(rows=tuple((key, tuple(text(key, summary) for summary in run.targets)) for key in keys))


def latency_grid(run: Run) -> Grid:
    """Show how long answers took: median and 95th percentile."""
    found = {(each.api, each.api_version, each.target): each for each in run.latencies}
    keys = sorted({(api, version) for api, version, _ in found})

    def text(latency: LatencyQuantile | None) -> str:
        return "" if latency is None else f"{_ms(latency.p50_ms)} · {_ms(latency.p95_ms)}"

    return Grid(
        rows=tuple(
            (
                (api, f"v{version}"),
                tuple(text(found.get((api, version, summary.target))) for summary in run.targets),
            )
            for api, version in keys
        )
    )


def error_code_grid(run: Run) -> Grid:
    """Count the error codes that targets answered, all versions of an API together."""
    totals: Counter[tuple[str, str, str]] = Counter()
    for each in run.error_codes:
        totals[each.api, each.error_code, each.target] += each.response_count
    keys = sorted({(api, error_code) for api, error_code, _ in totals})
    return Grid(
        rows=tuple(
            (key, tuple(_blank_zero(totals[(*key, summary.target)]) for summary in run.targets))
            for key in keys
        )
    )


def _blank_zero(count: int) -> str:
    return str(count) if count else ""


def _ms(duration_ms: float) -> str:
    return f"{duration_ms:.1f}" if duration_ms < THREE_DIGITS_MS else f"{duration_ms:.0f}"

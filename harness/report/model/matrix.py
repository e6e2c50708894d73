"""The content of the index page, as values that a template can render."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Final

from harness.diff.model import Judgement
from harness.report.model.codes import ABSENT, code
from harness.report.model.names import css_name, scenario_page, target_anchor
from harness.report.model.phrases import GLYPHS, place
from harness.report.model.run_data import Run
from harness.results.status import NEEDS_ATTENTION, ResultStatus, mark, shown, status_of
from harness.spark.rows import LatencyQuantile, TargetSummary
from harness.verdict import Delta, Outcome

_CELL_COUNT_MAX: Final = 2_000
"""Above this number, a script renders the visible part of the matrix."""
_COLUMN_COUNT_MAX: Final = 8
"""The number of targets, including references, that fit on a screen."""
_ALWAYS_SHOWN: Final = ("conforms", "not_applicable", "diverges", "unexpected")
_TARGET_COUNTS: Final = (
    *("conforms", "not_applicable", "lenient", "indeterminate", "diverges", "harness_error"),
    *("unexpected", "stale", "flaky"),
)
THREE_DIGITS_MS: Final = 100
"""From this value on, durations are shown in whole milliseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One scenario on one target."""

    glyph: str
    outcome: str
    expectation: str
    has_news: bool
    """Whether the result is not as in the baseline run."""
    href: str
    title: str
    """The cell's tooltip."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixRow:
    """One scenario on all targets."""

    scenario_id: str
    name: str
    """The last part of the id; the rest is the group's name."""
    title: str
    href: str
    codes: str
    """The results, one character each, in the order of targets."""
    cells: tuple[Cell | None, ...]
    """Empty if there are so many cells that a script renders them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixGroup:
    """The scenarios whose ids have the same beginning, e.g. `classic/join`."""

    name: str
    rows: tuple[MatrixRow, ...]
    tallies: tuple[str, ...]
    """For each target `conforming/applicable`; a dash if nothing is applicable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attention:
    """A result that needs attention."""

    status: ResultStatus
    shown: str
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


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionGroup:
    """Results that differ in the same way, most likely from one cause."""

    first: Attention
    others: tuple[Attention, ...]


def is_large(run: Run) -> bool:
    """Return whether there are so many results that a page with all of them would be slow."""
    return len(run.judgements) > _CELL_COUNT_MAX


def titles(run: Run) -> dict[str, list[str]]:
    """Return the cells' tooltips by scenario id; cells that passed and have no news have none."""
    targets = [summary.target for summary in run.targets]
    found: dict[str, list[str]] = {}
    for judgement in run.judgements:
        if status_of(judgement) is not ResultStatus.PASSED or _has_news(judgement):
            reported = found.setdefault(judgement.scenario_id, [""] * len(targets))
            reported[targets.index(judgement.target)] = _title(judgement)
    return found


def matrix_groups(run: Run) -> tuple[MatrixGroup, ...]:
    """Return all results, with a row for each scenario and a column for each target."""
    columns = {summary.target: target_anchor(summary.target) for summary in run.targets}
    return laid_out(run.judgements, columns, page=scenario_page, is_lazy=is_large(run))


def laid_out(
    judgements: Iterable[Judgement],
    columns: Mapping[str, str],
    *,
    page: Callable[[str], str],
    is_lazy: bool = False,
) -> tuple[MatrixGroup, ...]:
    """Return the matrix of results of scenarios or of client scripts.

    Args:
        judgements: the results, with those of a scenario adjacent.
        columns: targets to their anchors, in their order.
        page: returns the page of a scenario.
        is_lazy: whether a script renders the cells.
    """
    rows = groupby(judgements, key=lambda each: each.scenario_id)
    by_scenario = [
        (scenario_id.rpartition("/")[0], {each.target: each for each in members})
        for scenario_id, members in rows
    ]
    # In the order of ids, `a/b/c` comes between `a/a` and `a/d`, which are of one group.
    by_scenario.sort(key=itemgetter(0))
    return tuple(
        _group(name, [by_target for _, by_target in members], columns, page, is_lazy=is_lazy)
        for name, members in groupby(by_scenario, key=itemgetter(0))
    )


def _group(
    name: str,
    scenarios: Sequence[Mapping[str, Judgement]],
    columns: Mapping[str, str],
    page: Callable[[str], str],
    *,
    is_lazy: bool,
) -> MatrixGroup:
    return MatrixGroup(
        name=name,
        rows=tuple(_row(by_target, columns, page, is_lazy=is_lazy) for by_target in scenarios),
        tallies=tuple(
            _tally([by_target[target] for by_target in scenarios if target in by_target])
            for target in columns
        ),
    )


def _tally(judgements: Sequence[Judgement]) -> str:
    outcomes = Counter(each.outcome for each in judgements)
    applicable = len(judgements) - outcomes[Outcome.NOT_APPLICABLE] - outcomes[Outcome.HARNESS_ERROR]
    return f"{outcomes[Outcome.CONFORMS]}/{applicable}" if applicable else "—"


def _row(
    by_target: Mapping[str, Judgement],
    columns: Mapping[str, str],
    page: Callable[[str], str],
    *,
    is_lazy: bool,
) -> MatrixRow:
    any_one = next(iter(by_target.values()))
    in_order = [(by_target.get(target), anchor) for target, anchor in columns.items()]
    href = page(any_one.scenario_id)
    return MatrixRow(
        scenario_id=any_one.scenario_id,
        name=any_one.scenario_id.rpartition("/")[2],
        title=any_one.title,
        href=href,
        codes="".join(ABSENT if each is None else _code(each) for each, _ in in_order),
        cells=()
        if is_lazy
        else tuple(None if each is None else _cell(each, f"{href}#{anchor}") for each, anchor in in_order),
    )


def _code(judgement: Judgement) -> str:
    return code(judgement.outcome, mark(judgement), has_news=_has_news(judgement))


def _has_news(judgement: Judgement) -> bool:
    return judgement.delta not in {Delta.NO_BASELINE, Delta.SAME}


def _cell(judgement: Judgement, href: str) -> Cell:
    return Cell(
        glyph=GLYPHS[Outcome(judgement.outcome)],
        outcome=css_name(judgement.outcome),
        expectation=css_name(mark(judgement)),
        has_news=_has_news(judgement),
        href=href,
        title=_title(judgement),
    )


def _title(judgement: Judgement) -> str:
    parts = [f"{judgement.target}: {judgement.outcome}"]
    if status_of(judgement) is not ResultStatus.PASSED:
        parts.append(f"{mark(judgement)} — {judgement.reason}")
    if _has_news(judgement):
        parts.append(f"since the baseline: {judgement.delta}")
    return "\n".join(parts)


def attention_groups(run: Run) -> tuple[AttentionGroup, ...]:
    """Group the results that need attention by how they differ: the worst first, then the most frequent."""
    found: dict[tuple[object, ...], list[Attention]] = {}
    for judgement in run.judgements:
        if status_of(judgement) in NEEDS_ATTENTION:
            found.setdefault(_likeness(run, judgement), []).append(_attention(run, judgement))
    groups = [AttentionGroup(first=first, others=tuple(others)) for first, *others in found.values()]
    return tuple(
        sorted(groups, key=lambda each: (NEEDS_ATTENTION.index(each.first.status), -len(each.others)))
    )


def shows_references(run: Run) -> bool:
    """Return whether references' columns are initially visible: if there is room, or they need attention."""
    is_wide = len(run.targets) > _COLUMN_COUNT_MAX
    return not is_wide or any(
        status_of(each) in NEEDS_ATTENTION and each.target in run.references for each in run.judgements
    )


def target_counts(run: Run) -> tuple[str, ...]:
    """Return the names of the counts to show of targets: some always, others if they are not zero."""
    return tuple(
        name
        for name in _TARGET_COUNTS
        if name in _ALWAYS_SHOWN or any(getattr(summary, name) for summary in run.targets)
    )


def _likeness(run: Run, judgement: Judgement) -> tuple[object, ...]:
    """Return a key that is equal for results that differ in the same way, in any scenario."""
    finding = run.first_difference(judgement)
    if finding is None:
        return (status_of(judgement), judgement.reason)
    return (status_of(judgement), finding.cause)


def _attention(run: Run, judgement: Judgement) -> Attention:
    finding = run.first_difference(judgement)
    return Attention(
        status=status_of(judgement),
        shown=shown(judgement),
        outcome=css_name(judgement.outcome),
        expectation=css_name(mark(judgement)),
        glyph=GLYPHS[Outcome(judgement.outcome)],
        target=judgement.target,
        scenario_id=judgement.scenario_id,
        href=f"{scenario_page(judgement.scenario_id)}#{target_anchor(judgement.target)}",
        reason=judgement.reason,
        place=place(finding) if finding else "",
        contrast=run.contrast(finding) if finding else "",
        reproduction=run.repetition(judgement),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """A table with a column for each target: row headings, and cells with text or empty."""

    rows: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]


def difference_grid(run: Run) -> Grid:
    """Return the counts of differences by API and class: findings, followed by `+` their consequences."""
    found = {(each.api or "", each.difference_class, each.target): each for each in run.counts}
    keys = sorted({(api, difference_class) for api, difference_class, _ in found})

    def text(key: tuple[str, str], summary: TargetSummary) -> str:
        count = found.get((*key, summary.target))
        if count is None:
            return ""
        more = count.difference_count - count.finding_count
        return f"{_blank_zero(count.finding_count)} {f'+{more}' if more else ''}".strip()

    return Grid(
        rows=tuple((key, tuple(text(key, summary) for summary in run.measured_first)) for key in keys)
    )


def latency_grid(run: Run) -> Grid:
    """Return the answer times by API and version: median and 95th percentile."""
    found = {(each.api, each.api_version, each.target): each for each in run.latencies}
    keys = sorted({(api, version) for api, version, _ in found})

    def text(latency: LatencyQuantile | None) -> str:
        return "" if latency is None else f"{_ms(latency.p50_ms)} · {_ms(latency.p95_ms)}"

    return Grid(
        rows=tuple(
            (
                (api, f"v{version}"),
                tuple(text(found.get((api, version, summary.target))) for summary in run.measured_first),
            )
            for api, version in keys
        )
    )


def error_code_grid(run: Run) -> Grid:
    """Return the counts of error codes in targets' answers, for all versions of an API together."""
    totals: Counter[tuple[str, str, str]] = Counter()
    for each in run.error_codes:
        totals[each.api, each.error_code, each.target] += each.response_count
    keys = sorted({(api, error_code) for api, error_code, _ in totals})
    return Grid(
        rows=tuple(
            (key, tuple(_blank_zero(totals[(*key, summary.target)]) for summary in run.measured_first))
            for key in keys
        )
    )


def _blank_zero(count: int) -> str:
    return str(count) if count else ""


def _ms(duration_ms: float) -> str:
    return f"{duration_ms:.1f}" if duration_ms < THREE_DIGITS_MS else f"{duration_ms:.0f}"

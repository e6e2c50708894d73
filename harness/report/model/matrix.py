"""The matrix of results, one character each, and the other figures of the index page, for a template."""

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Final, NamedTuple, TypeAlias

from harness.diff.judge import CLAIM_IS_TRUE
from harness.diff.model import Judgement
from harness.report.model.phrases import GLYPHS, css_name, result_address
from harness.report.model.run_data import Run
from harness.results.status import MARKS, NEEDS_ATTENTION, ResultStatus, mark, status_of
from harness.tables import read_table
from harness.verdict import COMPARABLE, OUTCOME_ORDER, RIGHT, Delta, Outcome

_BEGINNINGS: Final = read_table("harness.results", "areas.toml", dict[str, tuple[str, ...]])
AREAS: Final = tuple(_BEGINNINGS)
"""All areas, in the order in which they are shown."""
OTHERS: Final = "others"


def area_of(scenario_id: str) -> str:
    """Return the area that a scenario is about; scenarios of other suites are in one of their own."""
    fitting = (
        (len(begin), area)
        for area, begins in _BEGINNINGS.items()
        for begin in begins
        if scenario_id.startswith(begin)
    )
    return max(fitting, default=(0, OTHERS))[1]


def claims_by_area(judgements: Iterable[Judgement]) -> Mapping[str, str]:
    """Return how many claims are true of those that one target's results tried, e.g. `3/4`, by area."""
    true, tried = Counter[str](), Counter[str]()
    for each in judgements:
        if each.outcome in COMPARABLE:
            area = area_of(each.scenario_id)
            tried[area] += 1
            true[area] += each.outcome in RIGHT or CLAIM_IS_TRUE in each.reason
    return {area: f"{true[area]}/{tried[area]}" for area in (*AREAS, OTHERS) if tried[area]}


_COLUMN_COUNT_MAX: Final = 8
"""The number of targets, including references, that fit on a screen."""
_REASON_COUNT_MAX: Final = 40
"""The number of reasons for not being applicable that are listed."""


class MatrixRow(NamedTuple):
    """One scenario on all targets."""

    scenario_id: str
    title: str
    worst: str
    """The worst result, for a page too narrow for all of them."""
    codes: str
    """The results, one character each, in the order of targets."""


MatrixGroup: TypeAlias = tuple[str, Sequence[str], Sequence[MatrixRow]]
"""How the ids of some scenarios begin, e.g. `classic/join`, a tally for each target, and the scenarios.

A tally is `conforming/applicable`, or a dash if nothing is applicable.
"""


def titles(judgements: Iterable[Judgement], targets: Sequence[str]) -> dict[str, list[str]]:
    """Return the cells' tooltips by scenario id; cells that passed and have no news have none."""
    found: dict[str, list[str]] = {}
    for judgement in judgements:
        if status_of(judgement) is not ResultStatus.PASSED or _has_news(judgement):
            reported = found.setdefault(judgement.scenario_id, [""] * len(targets))
            reported[targets.index(judgement.target)] = _title(judgement)
    return found


def laid_out(judgements: Iterable[Judgement], targets: Sequence[str]) -> tuple[MatrixGroup, ...]:
    """Return the matrix of results, those of a scenario or client script adjacent, a column a target."""
    groups: dict[str, list[dict[str, Judgement]]] = defaultdict(list)
    for scenario_id, members in groupby(judgements, key=lambda each: each.scenario_id):
        groups[scenario_id.rpartition("/")[0]].append({each.target: each for each in members})
    return tuple(
        (
            name,
            [_tally([of[target] for of in scenarios if target in of]) for target in targets],
            [_row(of, targets) for of in scenarios],
        )
        for name, scenarios in sorted(groups.items())
    )


def _tally(judgements: Sequence[Judgement]) -> str:
    outcomes = Counter(each.outcome for each in judgements)
    applicable = len(judgements) - outcomes[Outcome.NOT_APPLICABLE] - outcomes[Outcome.HARNESS_ERROR]
    return f"{outcomes[Outcome.CONFORMS]}/{applicable}" if applicable else "—"


def _row(by_target: Mapping[str, Judgement], targets: Sequence[str]) -> MatrixRow:
    worst = max(by_target.values(), key=_badness)
    return MatrixRow(
        scenario_id=worst.scenario_id,
        title=worst.title,
        worst=_code(worst),
        codes="".join(_code(by_target[name]) if name in by_target else ABSENT for name in targets),
    )


def _badness(judgement: Judgement) -> tuple[bool, bool, int]:
    outcome = Outcome(judgement.outcome)
    # What is not applicable is no result.
    is_result = outcome is not Outcome.NOT_APPLICABLE
    return status_of(judgement) in NEEDS_ATTENTION, is_result, OUTCOME_ORDER.index(outcome)


def _code(judgement: Judgement) -> str:
    return code(judgement.outcome, mark(judgement), has_news=_has_news(judgement))


def _has_news(judgement: Judgement) -> bool:
    return judgement.delta not in {Delta.NO_BASELINE, Delta.SAME}


def _title(judgement: Judgement) -> str:
    parts = [f"{judgement.target}: {judgement.outcome}"]
    if status_of(judgement) is not ResultStatus.PASSED:
        parts.append(f"{mark(judgement)} — {judgement.reason}")
    if _has_news(judgement):
        parts.append(f"since the baseline: {judgement.delta}")
    return "\n".join(parts)


def shows_references(run: Run) -> bool:
    """Return whether references' columns are initially visible: if there is room, or they need attention."""
    of_references = (each for each in run.judgements if each.target in run.references)
    is_narrow = len(run.targets) <= _COLUMN_COUNT_MAX
    return is_narrow or any(status_of(each) in NEEDS_ATTENTION for each in of_references)


Grid: TypeAlias = Sequence[tuple[str, Sequence[str]]]
"""Row headings, each with the texts of cells: a column for each target, judged targets first."""


def area_grid(run: Run) -> Grid:
    """Return, by area of the protocol, how many claims are true of those that were tried."""
    claims = [
        claims_by_area(each for each in run.judgements if each.target == summary.target)
        for summary in run.measured_first
    ]
    tried = set().union(*claims)
    return [(area, [of.get(area, "") for of in claims]) for area in (*AREAS, OTHERS) if area in tried]


def reason_grid(run: Run) -> Grid:
    """Return why scenarios are not applicable, with the number of them, the most frequent reason first."""
    reasons = [each for each in run.judgements if each.outcome == Outcome.NOT_APPLICABLE]
    counts = Counter((each.reason, each.target) for each in reasons)
    return [
        (reason, [str(counts[reason, each.target] or "") for each in run.measured_first])
        for reason, _ in Counter(each.reason for each in reasons).most_common(_REASON_COUNT_MAX)
    ]


ABSENT: Final = "."
"""The character for a missing result."""
_OUTCOMES: Final = tuple(Outcome)
_LETTERS: Final = "abcdefghijklmnopqrstuvwx"
"""Four letters for each outcome, one for each mark; a capital one if the result differs from the baseline."""


def code(outcome: str, marked: str, *, has_news: bool = False) -> str:
    """Return the character of a result with a mark from `harness.results.status.mark`."""
    place = _OUTCOMES.index(Outcome(outcome)) * len(MARKS)
    letter = _LETTERS[place + MARKS.index(marked)]
    return letter.upper() if has_news else letter


def legend() -> dict[str, object]:
    """Return what a script needs to read the characters."""
    return {
        "letters": _LETTERS,
        "outcomes": [css_name(outcome) for outcome in _OUTCOMES],
        "expectations": [css_name(marked) for marked in MARKS],
        "glyphs": [GLYPHS[outcome] for outcome in _OUTCOMES],
    }


class Neighbours(NamedTuple):
    """The previous and next scenario to look at: addresses, empty at the ends."""

    previous: str
    next: str


def neighbours(run: Run) -> Mapping[str, Neighbours]:
    """Return the previous and next scenario to look at, for each scenario."""
    hrefs: dict[str, str] = {}
    for each in run.judgements:
        if status_of(each) in NEEDS_ATTENTION:
            hrefs.setdefault(each.scenario_id, result_address(each.scenario_id, each.target))
    ids = sorted(hrefs)
    around = ["", *(hrefs[each] for each in ids), ""]
    return {
        each.scenario_id: Neighbours(
            around[bisect_left(ids, each.scenario_id)], around[bisect_right(ids, each.scenario_id) + 1]
        )
        for each in run.judgements
    }

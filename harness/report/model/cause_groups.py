"""The results that need attention, by the cause of their differences: what people read first of a run."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, TypeVar

from harness.diff.model import Difference, Judgement
from harness.report.model.losses import is_lost
from harness.report.model.run_data import Run
from harness.results.answer_impact import Effect, effect_of
from harness.results.status import NEEDS_ATTENTION, status_of

_EFFECTS: Final = tuple(Effect)
ItemT = TypeVar("ItemT")


@dataclass(frozen=True, slots=True, kw_only=True)
class CauseGroup:
    """Results of one status that have a difference of one cause; a result of several causes is in several."""

    judgements: tuple[Judgement, ...]
    """At least one; those that the cause heads come first."""
    difference: Difference | None
    """The first one's difference of that cause; None for results without a difference, grouped by reason."""

    @property
    def first(self) -> Judgement:
        """The result that stands for all."""
        return self.judgements[0]

    @property
    def others(self) -> tuple[Judgement, ...]:
        """The other results."""
        return self.judgements[1:]


def cause_groups(run: Run, *, has_lost: bool = True) -> tuple[CauseGroup, ...]:
    """Group the results that need attention: the worst first, also for clients, then the most frequent.

    Args:
        run: the run.
        has_lost: whether results that a lost target cut short are among them.
    """
    found: dict[tuple[object, ...], list[tuple[bool, Judgement, Difference | None]]] = {}
    for judgement in run.judgements:
        if status_of(judgement) in NEEDS_ATTENTION and (has_lost or not is_lost(judgement)):
            for is_heading, key, difference in _causes(run, judgement):
                found.setdefault(key, []).append((not is_heading, judgement, difference))
    groups = []
    for of_cause in found.values():
        of_cause.sort(key=lambda each: each[0])
        judgements = tuple(judgement for _, judgement, _ in of_cause)
        groups.append(CauseGroup(judgements=judgements, difference=of_cause[0][2]))
    return tuple(sorted(groups, key=_rank))


def alike(items: Iterable[ItemT], key: Callable[[ItemT], object]) -> tuple[tuple[ItemT, ...], ...]:
    """Group items by a key, in the order of their first; one whose key is None is alone."""
    found: dict[object, list[ItemT]] = {}
    for place, each in enumerate(items):
        found.setdefault(key(each) or (place,), []).append(each)
    return tuple(map(tuple, found.values()))


def _rank(group: CauseGroup) -> tuple[int, int, int]:
    worst = _EFFECTS.index(effect_of(group.difference))
    return NEEDS_ATTENTION.index(status_of(group.first)), worst, -len(group.judgements)


def judgements_shown(run: Run) -> tuple[Judgement, ...]:
    """Return the results that other programs get: a reference's only if it needs attention, or is alone."""
    is_alone = len(run.references) == len(run.targets)
    return tuple(
        each
        for each in run.judgements
        if is_alone or each.target not in run.references or status_of(each) in NEEDS_ATTENTION
    )


def _causes(run: Run, judgement: Judgement) -> Iterator[tuple[bool, tuple[object, ...], Difference | None]]:
    """Yield the causes of a result: whether it is the heading, a key, and the first difference of it."""
    differences = run.differences.get((judgement.target, judgement.scenario_id), ())
    if not differences:
        yield True, (status_of(judgement), judgement.reason), None
        return
    heading, *others = differences
    own = {each.cause: each for each in reversed(others) if not (each.is_consequence or each.is_lenient)}
    for cause, difference in {**own, heading.cause: heading}.items():
        yield difference is heading, (status_of(judgement), cause), difference

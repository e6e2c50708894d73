"""What sums a run up: its verdict, the targets that were lost, and the results that need attention.

The latter are grouped by the cause of their differences: what people read first of a run.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final, TypeVar

from harness.diff.alignment import BROKER_ENDED_WORDS
from harness.diff.model import Difference, Judgement
from harness.diff.target_pattern import is_reference
from harness.report.model.phrases import counted, headline
from harness.report.model.run_data import Run
from harness.results.client_impact import Effect, effect_of
from harness.results.client_results import ClientResult
from harness.results.status import NEEDS_ATTENTION, ResultStatus, status_of
from harness.trace.events import TARGET_LOST
from harness.trace.files import RunFolder

REMEDY: Final = "Remedy: mend the cause, check that it can be reached, and run again"

_SUSPECTS_SHOWN: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """A target that was lost."""

    target: str
    result_count: int
    """The number of scenarios that the loss cut short."""
    cause: str
    suspects: tuple[str, ...] = ()
    """What scenarios did last before it, the most suspicious first."""

    @property
    def last_words(self) -> tuple[str, ...]:
        """What may have ended it, a line each."""
        more = len(self.suspects) - _SUSPECTS_SHOWN
        shown = tuple(f"suspect: {each}" for each in self.suspects[:_SUSPECTS_SHOWN])
        return (*shown, f"and {counted(more, 'more suspect')}") if more > 0 else shown

    def __str__(self) -> str:
        cut = counted(self.result_count, "scenario")
        return f"{self.target} was lost, which cut {cut} short: {self.cause}"


def is_lost(judgement: Judgement) -> bool:
    """Return whether a result only says that its target was lost."""
    return status_of(judgement) is ResultStatus.INDETERMINATE and TARGET_LOST in judgement.reason


def losses(run: Run) -> tuple[Loss, ...]:
    """Return the targets whose loss cut scenarios short, in the order of their first result."""
    suspects = RunFolder(run.directory).read_suspects()
    lost: dict[str, list[Judgement]] = defaultdict(list)
    for each in filter(is_lost, run.results):
        lost[each.on if isinstance(each, ClientResult) else each.target].append(each)
    return tuple(
        Loss(
            target=target,
            result_count=len(cut),
            cause=cut[0].reason.partition(TARGET_LOST)[2].strip(),
            suspects=tuple(suspects.get(target, ())),
        )
        for target, cut in lost.items()
    )


def verdict_line(run: Run) -> str:
    """Return one sentence that summarises a run; results of lost targets do not count as expected."""
    footers = (run.footer, run.clients.footer if run.clients else None)
    has_lost = any(each is not None and each.ended.startswith(TARGET_LOST) for each in footers)
    count = len(losses(run)) or int(has_lost)
    standings = Counter(status_of(each) for each in run.results if not is_lost(each))
    if not count:
        return headline(standings)
    lost = f"{counted(count, 'target')} lost"
    if any(standings[each] for each in NEEDS_ATTENTION):
        return f"{headline(standings)}, and no verdict on others: {lost}"
    return f"no verdict: {lost}"


def has_verdict(run: Run) -> bool:
    """Return whether a target other than a reference has a verdict, or all targets are references."""
    others = {each.target for each in run.targets if not is_reference(each.spec)}
    return not others or any(each.target in others and not is_lost(each) for each in run.judgements)


_EFFECTS: Final = tuple(Effect)
ItemT = TypeVar("ItemT")


@dataclass(frozen=True, slots=True, kw_only=True)
class CauseGroup:
    """Results of one status that have a difference of one cause; a result of several causes is in several."""

    judgements: tuple[Judgement, ...]
    """At least one; those that the cause heads come first, of these what was shown most often."""
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
    """Group the results that need attention: what ended a broker, the worst, the most frequent first.

    Results that a lost target cut short are among them if `has_lost`.
    """
    found: dict[tuple[object, ...], list[tuple[bool, Judgement, Difference | None]]] = defaultdict(list)
    for judgement in run.results:
        if status_of(judgement) in NEEDS_ATTENTION and (has_lost or not is_lost(judgement)):
            for is_heading, key, difference in _causes(run, judgement):
                found[key].append((not is_heading, judgement, difference))
    groups = []
    for of_cause in found.values():
        of_cause.sort(key=lambda each: (each[0], -each[1].shown_count))
        judgements = tuple(judgement for _, judgement, _ in of_cause)
        groups.append(CauseGroup(judgements=judgements, difference=of_cause[0][2]))
    return tuple(sorted(groups, key=_rank))


def alike(items: Iterable[ItemT], key: Callable[[ItemT], object]) -> tuple[tuple[ItemT, ...], ...]:
    """Group items by a key, in the order of their first; one whose key is None is alone."""
    found: dict[object, list[ItemT]] = {}
    for place, each in enumerate(items):
        found.setdefault(key(each) or (place,), []).append(each)
    return tuple(map(tuple, found.values()))


def _rank(group: CauseGroup) -> tuple[int, bool, int, int]:
    worst = _EFFECTS.index(effect_of(group.difference))
    goes_on = group.difference is None or group.difference.actual != BROKER_ENDED_WORDS
    return NEEDS_ATTENTION.index(status_of(group.first)), goes_on, worst, -len(group.judgements)


def differences_by_cause(run: Run) -> Sequence[Sequence[Difference]]:
    """Return the differences of each cause, those of the cause with the most findings first."""
    found = alike(chain.from_iterable(run.differences.values()), lambda each: each.cause)
    return sorted(found, key=lambda of: (-sum(not each.is_consequence for each in of), of[0].cause))


def judgements_shown(run: Run) -> tuple[Judgement, ...]:
    """Return the results that other programs get: a reference's only if it needs attention, or is alone."""
    is_alone = len(run.references) == len(run.targets)
    return tuple(
        each
        for each in run.results
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

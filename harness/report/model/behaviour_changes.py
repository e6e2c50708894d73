"""Changes from one target of a run to the next, read from the run's record.

A scenario has changed if two targets answer it differently, except by chance. It is chance if neither answer
differs from its oracle's, and both oracles answered the same.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from harness.diff.alignment import AlignedEvents
from harness.diff.model import Attribution, Difference, Judgement
from harness.diff.target_pattern import is_reference
from harness.report.model.steps import Answers, StepTable
from harness.trace.events import Event
from harness.trace.files import RunFolder, read_records
from harness.verdict import COMPARABLE, RIGHT, Expectation


@dataclass(frozen=True, slots=True, kw_only=True)
class BehaviourChange:
    """A scenario that two neighbouring targets answer differently.

    Neighbours are consecutive targets in the order in which the run names them, leaving out references and
    targets on which the scenario could not run.
    """

    scenario_id: str
    from_target: str
    to_target: str
    before: Event | None
    after: Event | None
    """The first answers that differ; None if the conversation had ended by then."""
    step_count: int
    """The number of answers in the whole conversation that differ."""
    from_outcome: str
    to_outcome: str
    is_explained: bool
    """Whether each of the two targets does as its oracle does, or as an expectation entry lists."""
    behaviours: tuple[str, ...]
    """Named behaviours that the change is attributed to; none if not examined, or if none was found."""
    sources: tuple[str, ...]
    """Where Kafka decides each of these behaviours."""

    @property
    def answer(self) -> Event:
        """The first answer that differs, or the one that is missing later on."""
        found = self.before or self.after
        assert found is not None, "one of the two answered"
        return found


def behaviour_changes(
    folder: RunFolder,
    judgements: Sequence[Judgement],
    differences: Mapping[tuple[str, str], Sequence[Difference]],
    steps: StepTable,
) -> Iterator[BehaviourChange]:
    """Yield the changes of a run, by scenario id, then in the order of targets.

    Args:
        folder: the run's folder.
        judgements: all results of the run.
        differences: by target and scenario id.
        steps: the run's events.
    """
    specs = {target: folder.read_headers(target)[0].spec for target in folder.targets()}
    named = folder.read_run().targets
    places = {name: at for at, name in enumerate(named) if name in specs and not is_reference(specs[name])}
    judged: dict[str, list[Judgement]] = defaultdict(list)
    for each in judgements:
        if each.target in places and each.outcome in COMPARABLE:
            judged[each.scenario_id].append(each)
    causes = _causes(folder)
    for scenario_id, found in sorted(judged.items()):
        answers = steps.answers(scenario_id) if len(found) > 1 else {}
        for one, other in pairwise(sorted(found, key=lambda each: places[each.target])):
            astray = {
                difference.step
                for each in (one, other)
                for difference in differences.get((each.target, scenario_id), ())
            }
            sides = answers.get(one.target, {}), answers.get(other.target, {})
            if unlike := _unlike(sides[0], sides[1], astray):
                named_causes = sorted(causes[scenario_id, one.oracle, other.oracle])
                yield _change(one, other, unlike, named_causes)


def _unlike(ours: Answers, theirs: Answers, astray: set[int]) -> list[tuple[AlignedEvents | None, ...]]:
    """Return the answers of two targets that differ other than by chance, in the order of steps.

    Args:
        ours: one target's answers, each beside its oracle's.
        theirs: the other target's.
        astray: the steps at which either target differs from its oracle.
    """
    places = sorted(ours.keys() | theirs.keys(), key=lambda place: place[:2])
    pairs = ((ours.get(place), theirs.get(place)) for place in places)
    return [(one, other) for one, other in pairs if _has_changed(one, other, astray)]


def _has_changed(one: AlignedEvents | None, other: AlignedEvents | None, astray: set[int]) -> bool:
    if one is None or other is None or one.event is None or other.event is None:
        return True
    if one.event.kind != other.event.kind:
        return True
    measures = [(each.other or each.event).digest for each in (one, other) if each.event]
    is_by_chance = measures[0] == measures[1] and one.step not in astray
    return one.event.digest != other.event.digest and not is_by_chance


def _change(
    one: Judgement,
    other: Judgement,
    unlike: Sequence[tuple[AlignedEvents | None, ...]],
    named: Sequence[tuple[str, str]],
) -> BehaviourChange:
    before, after = (None if each is None else each.event for each in unlike[0])
    return BehaviourChange(
        scenario_id=one.scenario_id,
        from_target=one.target,
        to_target=other.target,
        before=before,
        after=after,
        step_count=len(unlike),
        from_outcome=one.outcome,
        to_outcome=other.outcome,
        is_explained=all(
            each.outcome in RIGHT or each.expectation == Expectation.EXPECTED for each in (one, other)
        ),
        behaviours=tuple(name for name, _ in named),
        sources=tuple(source for _, source in named),
    )


def _causes(folder: RunFolder) -> Mapping[tuple[str, str | None, str | None], set[tuple[str, str]]]:
    """Return behaviours, and where Kafka decides them, by scenario and pair of references."""
    found: dict[tuple[str, str | None, str | None], set[tuple[str, str]]] = defaultdict(set)
    for each in read_records(Attribution, folder.attributions) if folder.attributions.exists() else ():
        named = zip(each.behaviours, each.sources, strict=True)
        found[each.scenario_id, each.from_oracle, each.to_oracle].update(named)
    return found

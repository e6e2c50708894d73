"""Find the first difference between two conversations of one script, and the behaviours that cause it."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from harness.diff.alignment import AnswerPosition, aligned
from harness.diff.compare import against_reference
from harness.diff.model import Difference
from harness.diff.raw_difference import difference_at
from harness.orchestration.attributing import Attributor, Heard
from harness.scenario.script import Script
from harness.search.shrinking import minimal, one_by_one
from harness.search.sides import Side
from harness.targets.reference.variants import COORDINATOR, AskedTarget, VariantTarget, variant_of
from harness.trace.events import Event, EventKind
from harness.verdict import DifferenceClass

_FAILS: Final = "the reference fails: "


class Explainer:
    """Exchanges behaviours of references, and caches the references made this way."""

    def __init__(self) -> None:
        self._sides: dict[str, Side] = {}
        self._attributor = Attributor(hear=self._heard, unequal=_unlike_steps)

    def side(self, target: VariantTarget) -> Side:
        """Return a reference as a side; equal references share one side."""
        if target.key not in self._sides:
            self._sides[target.key] = Side(AskedTarget(target.profile))
        return self._sides[target.key]

    async def explain(self, script: Script, one: VariantTarget, other: VariantTarget) -> tuple[str, ...]:
        """Return behaviours that make two references agree when one takes them from the other.

        None of them can be left out. If there are none, no behaviours account for the difference.

        Args:
            script: the script that they answer differently.
            one: the reference that is given behaviours.
            other: the other reference.
        """

        async def agrees(names: Sequence[str]) -> bool:
            reported = await self.side(variant_of(one, names, other)).run(script)
            return found_difference(reported, await self.side(other).run(script)) is None

        steps = (await self._attributor.steps([script], one, other))[script.id]
        changed = {script.id: range(steps[0].step, len(script.steps))} if steps else {}
        causes = await self._attributor.causes(
            {script.id: script}, changed, one, other, later_max=len(script.steps)
        )
        found = {name for _, names in causes.get(script.id, ()) for name in names}
        # What comes first is left out first: of several that will do, the first in the alphabet stays.
        names = sorted(found, key=lambda name: (name == COORDINATOR, name), reverse=True)
        return await minimal(names, one_by_one(agrees)) if await agrees(names) else ()

    async def _heard(self, target: VariantTarget, scripts: Sequence[Script]) -> Heard[Sequence[Event]]:
        side = self.side(target)
        assert isinstance(side.target, AskedTarget)
        return {each.id: (await side.run(each), side.target.asked_in(each.id)) for each in scripts}


def _unlike_steps(events: Sequence[Event], others: Sequence[Event]) -> frozenset[AnswerPosition]:
    """Return the steps at which a client can distinguish two conversations, as positions of answers."""
    return frozenset((each.step, 0, None, None) for each in _differences(events, others))


def first_difference(
    events: Sequence[Event], others: Sequence[Event], *, of_one_release: bool = False
) -> Difference | None:
    """Return the first difference between two conversations; None if a client could not distinguish them.

    Args:
        events: the events of one conversation.
        others: those of the other.
        of_one_release: whether both sides are the same release, so that texts for people must be alike, too,
            and so must the values that the reference permits.
    """
    return min(
        _differences(events, others, of_one_release=of_one_release), key=lambda each: each.step, default=None
    )


def _differences(
    events: Sequence[Event], others: Sequence[Event], *, of_one_release: bool = False
) -> Sequence[Difference]:
    if _traits(events) == _traits(others) and not (of_one_release and _permitted(events, others)):
        return ()
    found = [*against_reference(events, others), *_timing(events, others), *_failures(events, others)]
    if of_one_release:
        return found + _permitted(events, others)
    return [each for each in found if not each.is_lenient]


def found_difference(
    events: Sequence[Event], others: Sequence[Event], *, of_one_release: bool = False
) -> Difference | None:
    """Return the first difference, or a failure that both references have alike, since none may fail.

    A failure of both tells nothing of a fault of one release.
    """
    found = first_difference(events, others, of_one_release=of_one_release)
    failed = None if of_one_release else _failure(events)
    if found is not None or failed is None:
        return found
    return _failed(failed, expected="an answer", actual=_failure_text(failed))


def has_failed(events: Sequence[Event]) -> bool:
    """Return whether the reference failed in a conversation."""
    return _failure(events) is not None


def is_failure(text: str) -> bool:
    """Return whether the text of one side of a difference is a failure of a reference."""
    return text.startswith(_FAILS)


def _traits(events: Sequence[Event]) -> list[tuple[object, ...]]:
    return [(each.step, each.kind, each.digest, each.elapsed_ms) for each in events]


def _timing(events: Sequence[Event], others: Sequence[Event]) -> list[Difference]:
    """Return the equal answers that came at different times, which in virtual time is not by chance."""
    return [
        difference_at(
            event,
            DifferenceClass.TIMING,
            expected=f"after {other.elapsed_ms:g} ms",
            actual=f"after {event.elapsed_ms:g} ms",
        )
        for event, other in _both_answered(events, others)
        if event.elapsed_ms is not None
        and other.elapsed_ms is not None
        and event.elapsed_ms != other.elapsed_ms
    ]


def _permitted(events: Sequence[Event], others: Sequence[Event]) -> list[Difference]:
    """Return the answers to which the two sides permit different values."""
    return [
        difference_at(
            event,
            DifferenceClass.FIELD_VALUE,
            expected=f"permitted: {other.permitted}",
            actual=f"permitted: {event.permitted}",
        )
        for event, other in _both_answered(events, others)
        if event.permitted != other.permitted
    ]


def _both_answered(events: Sequence[Event], others: Sequence[Event]) -> Iterator[tuple[Event, Event]]:
    """Yield the responses of both sides to the same request."""
    for pair in aligned(events, others):
        event, other = pair.event, pair.other
        if event is not None and other is not None and event.kind == other.kind == EventKind.RESPONSE:
            yield event, other


def _failures(events: Sequence[Event], others: Sequence[Event]) -> list[Difference]:
    """Return a difference if only one reference failed, or both failed differently."""
    ours, theirs = _failure(events), _failure(others)
    failed = ours or theirs
    if failed is None or (ours is not None and theirs is not None and ours.note == theirs.note):
        return []
    return [_failed(failed, expected=_failure_text(theirs), actual=_failure_text(ours))]


def _failed(event: Event, *, expected: str, actual: str) -> Difference:
    nowhere = replace(event, sequence=-1, api_version=None)
    return difference_at(nowhere, DifferenceClass.LIVENESS, expected=expected, actual=actual)


def _failure(events: Sequence[Event]) -> Event | None:
    return next((each for each in events if each.kind == EventKind.HARNESS_ERROR), None)


def _failure_text(event: Event | None) -> str:
    return "an answer" if event is None else f"{_FAILS}{event.note}"

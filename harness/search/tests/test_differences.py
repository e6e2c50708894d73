"""Between releases some values may differ; a reference with a fault has to be alike in all."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

from harness.search.differences import Explainer, first_difference, found_difference, has_failed
from harness.search.moves import Ask, script_of
from harness.search.sides import Side
from harness.search.tests.made_findings import reference_of
from harness.targets.base.interface import TargetError
from harness.targets.reference.target import reference_profile
from harness.targets.reference.variants import VariantTarget, flipped
from harness.trace.events import Event, EventKind

_SCRIPT = script_of([Ask(actor="ana", api="ListGroups")], script_id="search/x", broker_config={})


def _events(change: Callable[[Event], Event] = lambda event: event) -> tuple[Event, ...]:
    events = asyncio.run(Side(reference_of()).run(_SCRIPT))
    return tuple(change(each) if each.kind == EventKind.RESPONSE else each for each in events)


def _saying(text: str) -> tuple[Event, ...]:
    canonical = f'{{"error_message": "{text}"}}'
    return _events(lambda event: replace(event, canonical=canonical, digest=text))


def test_a_text_for_people_differs_only_within_one_release() -> None:
    one, other = _saying("a"), _saying("b")

    assert first_difference(one, other) is None
    found = first_difference(one, other, of_one_release=True)
    assert found is not None
    assert found.field == "error_message"


def test_what_is_permitted_differs_only_within_one_release() -> None:
    permitted = '[{"field": "groups", "any_of": [[]]}]'
    one, other = _events(), _events(lambda event: replace(event, permitted=permitted))

    assert first_difference(one, other) is None
    assert first_difference(one, other, of_one_release=True) is not None


def test_a_failure_of_both_tells_nothing_of_a_fault() -> None:
    class Unready(VariantTarget):
        async def start(self, **_order: object) -> None:  # type: ignore[override] # it never starts
            raise TargetError("it is not ready")

    events = asyncio.run(Side(Unready(reference_profile("4.4"))).run(_SCRIPT))

    assert has_failed(events)
    assert found_difference(events, events) is not None
    assert found_difference(events, events, of_one_release=True) is None
    assert found_difference(_events(), events, of_one_release=True) is not None


def test_two_differences_are_explained_by_two_behaviours_together() -> None:
    commit = {"generation_id": -1, "member_id": "", "topics": {"orders": {0: 5}}}
    moves = [
        Ask(actor="ana", api="OffsetCommit", arguments=commit),
        Ask(actor="ana", api="ListGroups", arguments={"version": 4, "states_filter": (" Empty",)}),
        Ask(actor="ana", api="OffsetFetch", arguments={"topics": {"orders": (0, 0)}}),
    ]
    script = script_of(moves, script_id="search/x", broker_config={})
    behaviours = ("duplicate_partitions_answered_each", "states_filter_trimmed")
    one = reference_of()
    other = flipped(flipped(one, behaviours[0]), behaviours[1])

    for sides in ((one, other), (other, one)):
        found = asyncio.run(Explainer().explain(script, *sides))
        assert sorted(found) == [*behaviours]

"""Every scenario that is said to show a behaviour has another conversation where only that is another."""

import asyncio
from collections.abc import Iterator
from itertools import pairwise

import pytest

from harness.orchestration.attributing import recorded, seen_in
from harness.scenario.behaviours import Shown, load_behaviours
from harness.targets.reference.behaviours import behaviour_sheets
from harness.targets.reference.target import reference_profile
from harness.targets.reference.variants import VariantTarget, reference_of, variant_of
from harness.tests.completed_runs import catalogue
from reference_coordinator.profile.behaviour import Behaviour
from reference_coordinator.profile.consumer_behaviours import OF_ASSIGNORS, OF_CONSUMER_GROUPS
from reference_coordinator.profile.streams_behaviours import OF_STREAMS_GROUPS

RELEASES = (
    *("2.4", "2.5.0", "2.5", "2.6.0", "2.6", "2.8.0", "2.8", "3.0", "3.2", "3.3", "3.4.0", "3.4"),
    *("3.5", "3.6.0", "3.6", "3.7.0", "3.7", "3.9", "4.0.0", "4.0", "4.1.0", "4.1", "4.2", "4.3.0", "4.3"),
    "4.4",
)
SHOWN = [(name, each) for name, shown in load_behaviours().items() for each in shown.shown_by]


def bases_and_others(behaviour: Behaviour) -> Iterator[tuple[str, str]]:
    """Each release, with a neighbour that differs in the behaviour."""
    has = {release: reference_profile(release).has(behaviour) for release in RELEASES}
    for one, other in pairwise(RELEASES):
        if has[one] != has[other]:
            yield from ((one, other), (other, one))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "scenario_id"), SHOWN)
def test_a_scenario_shows_a_behaviour(name: str, scenario_id: str) -> None:
    script = catalogue()[scenario_id]

    def seen(target: VariantTarget) -> object:
        return seen_in(asyncio.run(recorded(target, [script]))[scenario_id])

    behaviour = Behaviour[name.upper()]
    assert any(
        seen(reference_of(base)) != seen(variant_of(reference_of(base), {name}, reference_of(other)))
        for base, other in bases_and_others(behaviour)
    )


def test_every_behaviour_of_consumer_groups_is_shown_or_says_why_not() -> None:
    shown = load_behaviours()

    assert {
        row.behaviour.name.lower() for row in (*OF_CONSUMER_GROUPS, *OF_ASSIGNORS, *OF_STREAMS_GROUPS)
    } <= shown.keys()
    assert shown.keys() <= {sheet.name for sheet in behaviour_sheets()}


def test_a_behaviour_without_a_scenario_says_why() -> None:
    with pytest.raises(ValueError, match="name scenarios"):
        Shown()
    with pytest.raises(ValueError, match="name scenarios"):
        Shown(shown_by=("a",), not_shown="b")
    assert Shown(not_shown="nobody looks").text() == "no scenario, for nobody looks"


def test_a_suites_package_need_not_say_which_scenarios_show_behaviours() -> None:
    assert load_behaviours("harness") == {}

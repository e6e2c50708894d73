"""The mutants that a search finds are counted, and the others named."""

import pytest

from harness.mutants.model import Fate, Trial
from harness.tests.found_by_search import Sought, profile_of, report, sought, sought_here

_STEPS = 100


def _trial(fate: Fate = Fate.KILLED, profile: str | None = None, reached_by: tuple[str, ...] = ()) -> Trial:
    return Trial(
        mutant="behaviours:STATES_FILTER_TRIMMED:switched:4.4",
        module="behaviours",
        function="STATES_FILTER_TRIMMED",
        kind="behaviour",
        fault="switched",
        first_line=0,
        before="",
        after="",
        fate=fate,
        equivalent=None,
        profile=profile,
        scenario=None,
        how=None,
        run_count=0,
        reached=0,
        reached_by=reached_by,
        took_ms=0.0,
    )


@pytest.mark.slow
def test_a_mutant_that_the_first_conversations_meet_is_found() -> None:
    trial = _trial()

    found = sought(trial, lambda each: sought_here(each, "4.4", seed=1, limit_s=20), 20)

    assert found.is_found
    assert found.shrunk


def test_a_mutant_is_searched_for_in_the_profile_in_which_it_can_be_seen() -> None:
    assert profile_of(_trial(profile="2.8", reached_by=("3.9 classic/join/first",))) == "2.8"
    assert profile_of(_trial(Fate.SURVIVED, reached_by=("3.9 classic/join/first",))) == "3.9"
    assert profile_of(_trial(Fate.NOT_COVERED)) == "4.4"


def test_what_scenarios_kill_and_what_they_do_not_is_counted_apart() -> None:
    results = (
        Sought(mutant="one", is_killed=True, steps=_STEPS, shrunk=4),
        Sought(mutant="two", is_killed=True, steps=_STEPS),
        Sought(mutant="three", is_killed=False),
    )

    lines = [*report(results, equivalent=2)]

    assert "mutants that scenarios kill: 1 of 2 found" in lines
    assert "  not found in 100 steps: two" in lines
    assert "mutants that no scenario kills: 0 of 1 found" in lines
    assert "  never ended: three" in lines
    assert lines[-1] == "listed as equivalent, and left out: 2"

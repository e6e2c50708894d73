from harness.mutants.baseline import BaselineResult, Lines, measured_baseline
from harness.mutants.model import Edit, Kind, Mutant
from harness.mutants.source import source_of
from harness.verdict import Outcome

JOIN = source_of("groups.classic.join")
SHORT: Lines = {"groups.classic.join": frozenset((1, 2))}
LONG: Lines = {"groups.classic.join": frozenset((1, 2, 3))}


def measure(profile: str, scenario: str, lines: Lines, outcome: Outcome = Outcome.CONFORMS) -> BaselineResult:
    return BaselineResult(
        profile=profile,
        scenario=scenario,
        outcome=outcome.value,
        reason="",
        events=(),
        lines=lines,
        prepared={},
        asked=frozenset(("PENDING_SYNC_EXPIRES",)),
    )


def mutant(*lines: int, profile: str | None = None) -> Mutant:
    return Mutant(
        id="one",
        module="groups.classic.join",
        function="f",
        kind=Kind.GUARD if profile is None else Kind.BEHAVIOUR,
        fault="test-negated",
        lines=range(lines[0], lines[-1] + 1) if lines else range(0),
        before="",
        after="",
        behaviour=None if profile is None else "PENDING_SYNC_EXPIRES",
        profile=profile,
        source=JOIN,
        compiled="f",
        edit=Edit(parent=JOIN.tree, attribute="body", nodes=()),
    )


def test_a_mutant_is_reached_by_who_executes_its_lines_the_shortest_first() -> None:
    stick = measured_baseline([measure("4.4", "long", LONG), measure("4.4", "short", SHORT)])
    assert stick.reaching(mutant(2)) == (("4.4", "short"), ("4.4", "long"))
    assert stick.reaching(mutant(3)) == (("4.4", "long"),)


def test_of_profiles_that_do_the_same_one_is_enough() -> None:
    stick = measured_baseline(
        [measure("4.4", "a", SHORT), measure("3.9", "a", SHORT), measure("2.4", "a", LONG)]
    )
    assert stick.reaching(mutant(1)) == (("4.4", "a"), ("2.4", "a"))


def test_a_behaviour_is_tried_in_its_own_profile_whatever_others_do() -> None:
    stick = measured_baseline([measure("4.4", "a", SHORT), measure("3.9", "a", SHORT)])
    assert stick.reaching(mutant(profile="3.9")) == (("3.9", "a"),)


def test_who_does_not_conform_measures_nothing() -> None:
    assert measured_baseline([measure("4.4", "a", SHORT, Outcome.DIVERGES)]).reaching(mutant(1)) == ()

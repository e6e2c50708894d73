"""Known faults that a search finds are told from those that it does not."""

from harness.tests.faults_by_search import Sought, line, sought
from harness.tests.test_historical_bugs import ANSWERED, Bug


def _bug(number: str) -> Bug:
    return next(each for each in ANSWERED if each.number == number)


def test_a_fault_that_the_first_conversations_meet_is_found() -> None:
    bug = _bug("KAFKA-10239")

    (found,) = sought(bug.affected, bug.fixed, [bug], seed=1, limit_s=20)

    assert found.shrunk
    assert line(found).startswith("KAFKA-10239 (2.5.0, 2.5.1): found, ")


def test_a_search_that_has_had_its_time_says_how_far_it_came() -> None:
    bug = _bug("KAFKA-19862")

    (missed,) = sought(bug.affected, bug.fixed, [bug], seed=1, limit_s=0)

    assert missed.shrunk is None
    assert missed.steps
    text = line(Sought(bug=bug, steps=90, took_s=1.4, shrunk=None))
    assert text == "KAFKA-19862 (4.1.1, 4.1.2): not found in 90 steps, 1 s"

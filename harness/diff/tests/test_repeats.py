"""What several attempts at one scenario come to together."""

from collections.abc import Sequence

import pytest

from harness.diff.judge import Judged
from harness.diff.model import Attempt
from harness.diff.repeats import Repeated, weigh
from harness.tests.report_run import JAVA, difference, judgement
from harness.verdict import STARVED, Confirmation, DifferenceClass, Expectation, Outcome

SCENARIO = "classic/heartbeat/while-completing"


def diverging(step: int = 3, field: str = "error_code", actual: str = "NONE", **more: object) -> Judged:
    found = difference(SCENARIO, JAVA, step=step, field=field, actual=actual)
    judged = judgement(SCENARIO, JAVA, "diverges", signature=found.signature, reason=f"at {step}", **more)
    return Judged(judgement=judged, differences=(found,))


def plain(outcome: str = "conforms", **more: object) -> Judged:
    return Judged(judgement=judgement(SCENARIO, JAVA, outcome, **more))


KNOWN = diverging(step=9, expectation=Expectation.EXPECTED.value)
STARVING = plain("indeterminate", reason=f"step 3: {STARVED}138 ms late, 412 ms kept from running")
BROKEN_OFF = plain("indeterminate", reason="abandoned at step 3")


def weighed(*attempts: Judged, missing: str | None = None) -> tuple[Judged, tuple[Attempt, ...]]:
    return weigh(Repeated(attempts=attempts, missing=missing))


def reported(attempts: Sequence[Judged], missing: str | None = None) -> tuple[str, str, int, int, int]:
    found = weighed(*attempts, missing=missing)[0].judgement
    return (found.outcome, found.confirmation, found.shown_count, found.attempt_count, found.attempt)


@pytest.mark.parametrize(
    ("attempts", "expected"),
    [
        ([diverging()], (Outcome.DIVERGES, Confirmation.NOT_REPEATED, 1, 1, 1)),
        ([diverging()] * 3, (Outcome.DIVERGES, Confirmation.CONFIRMED, 3, 3, 1)),
        ([diverging(), plain(), diverging()], (Outcome.DIVERGES, Confirmation.CONFIRMED, 2, 3, 1)),
        ([diverging(), plain(), plain()], (Outcome.DIVERGES, Confirmation.FLAKY, 1, 3, 1)),
        ([diverging(), plain("lenient")], (Outcome.DIVERGES, Confirmation.FLAKY, 1, 2, 1)),
        ([diverging(), BROKEN_OFF, BROKEN_OFF], (Outcome.DIVERGES, Confirmation.UNCONFIRMED, 1, 3, 1)),
        ([BROKEN_OFF] * 3, (Outcome.INDETERMINATE, Confirmation.CONFIRMED, 3, 3, 1)),
        ([BROKEN_OFF, plain(), plain()], (Outcome.INDETERMINATE, Confirmation.FLAKY, 1, 3, 1)),
        ([BROKEN_OFF, diverging(), diverging()], (Outcome.DIVERGES, Confirmation.CONFIRMED, 2, 3, 2)),
        ([STARVING, plain()], (Outcome.CONFORMS, Confirmation.CLEARED, 1, 2, 2)),
        ([STARVING, STARVING, plain()], (Outcome.CONFORMS, Confirmation.CLEARED, 1, 3, 3)),
        ([STARVING] * 3, (Outcome.INDETERMINATE, Confirmation.CONFIRMED, 3, 3, 1)),
        ([STARVING, diverging(), diverging()], (Outcome.DIVERGES, Confirmation.CONFIRMED, 2, 3, 2)),
        ([STARVING, KNOWN], (Outcome.DIVERGES, Confirmation.CLEARED, 1, 2, 2)),
        ([plain()] * 5, (Outcome.CONFORMS, Confirmation.NOT_REPEATED, 5, 5, 1)),
        ([plain(), plain(), diverging()], (Outcome.DIVERGES, Confirmation.FLAKY, 1, 3, 3)),
        ([KNOWN, KNOWN, diverging()], (Outcome.DIVERGES, Confirmation.FLAKY, 1, 3, 3)),
        (
            [diverging(), plain("harness error"), plain()],
            (Outcome.HARNESS_ERROR, Confirmation.NOT_REPEATED, 1, 3, 2),
        ),
    ],
)
def test_the_worst_attempt_rules_and_says_how_often_it_showed(
    attempts: Sequence[Judged], expected: tuple[str, str, int, int, int]
) -> None:
    assert reported(attempts) == expected


def test_attempts_that_never_go_as_they_should_are_no_flake() -> None:
    found = weighed(diverging(3), diverging(5), diverging(7))[0].judgement
    assert found.confirmation == Confirmation.CONFIRMED
    assert found.reason == "at 3; shown 1 of 3; no attempt went as it should"


def test_other_values_in_the_same_field_are_the_same() -> None:
    one, other = diverging(actual="NONE"), diverging(actual="UNKNOWN_MEMBER_ID")
    assert reported([one, other])[1:3] == (Confirmation.CONFIRMED, 2)


def test_another_place_in_a_list_is_the_same_and_another_list_is_not() -> None:
    first = diverging(field="members[0].assignment")
    assert reported([first, diverging(field="members[1].assignment"), plain()])[1:3] == (
        Confirmation.CONFIRMED,
        2,
    )
    assert reported([first, diverging(field="topics[0].assignment"), plain()])[1:3] == (Confirmation.FLAKY, 1)


@pytest.mark.parametrize("other", [{"step": 4}, {"field": "leader"}])
def test_another_step_or_field_is_another_difference(other: dict[str, object]) -> None:
    assert reported([diverging(), diverging(**other), plain()])[1:3] == (Confirmation.FLAKY, 1)  # type: ignore[arg-type] # names of parameters


def test_another_class_of_difference_is_another_difference() -> None:
    late = difference(SCENARIO, JAVA, difference_class=DifferenceClass.TIMING.value, field="error_code")
    other = Judged(judgement=judgement(SCENARIO, JAVA, "diverges"), differences=(late,))
    assert reported([diverging(), other, plain()])[1:3] == (Confirmation.FLAKY, 1)


def test_what_shows_more_often_rules() -> None:
    assert reported([diverging(3), diverging(5), diverging(5), plain()])[2:] == (2, 4, 2)


def test_what_was_due_and_not_made_says_why() -> None:
    found, attempts = weighed(diverging(), missing="the 4 s for it had passed")
    assert found.judgement.confirmation == Confirmation.UNCONFIRMED
    assert found.judgement.reason == "at 3; no further attempt: the 4 s for it had passed"
    assert [each.was_run for each in attempts] == [True, False]


def test_what_was_starved_at_first_says_so() -> None:
    found = weighed(STARVING, plain(reason="as it should"))[0].judgement
    assert found.reason == f"as it should; starved at first [{STARVING.judgement.reason}]"


def test_differences_are_those_of_the_ruling_attempt() -> None:
    found, attempts = weighed(plain(), diverging(7))
    assert [each.step for each in found.differences] == [7]
    assert [each.shows for each in attempts] == [False, True]

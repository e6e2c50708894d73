"""Who may have ended a broker: the last that was sent to it comes first."""

from collections.abc import Sequence
from dataclasses import replace

from harness.runner.suspects import ENDED_COUNT, LastWords
from harness.runner.tests.test_drive import scripts_named
from harness.tests.made_events import BARE
from harness.trace.events import TARGET_LOST, EventKind


def heard(*lines: tuple[str, EventKind, str | None]) -> Sequence[str]:
    """Return who is suspicious once scenarios, a second after each other, had these events."""
    now_s = 0.0
    last_words = LastWords(clock=lambda: now_s)
    (script,) = scripts_named("one")
    for name, kind, note in lines:
        now_s += 1
        event = replace(BARE, kind=kind.value, step=0, note=note)
        last_words.hear(replace(script, id=name), event)
    return [str(each) for each in last_words.suspects()]


def test_requests_without_an_answer_come_before_answered_ones_and_the_newest_first() -> None:
    first, second, third = heard(
        ("answered", EventKind.REQUEST, None),
        ("old", EventKind.REQUEST, None),
        ("killer", EventKind.REQUEST, None),
        ("answered", EventKind.RESPONSE, None),
        ("old", EventKind.CLOSED, None),
        ("old", EventKind.ABANDONED, f"{TARGET_LOST}connection refused"),
    )
    assert first.startswith("killer, step 0 (ana sends Heartbeat v4")
    assert first.endswith("sent 2000 ms before, not answered")
    assert second.startswith("old, ")
    assert third.startswith("answered, ")
    assert third.endswith("response 1000 ms before")


def test_what_is_sent_once_the_broker_is_found_gone_is_not_suspicious() -> None:
    (only,) = heard(
        ("killer", EventKind.REQUEST, None),
        ("killer", EventKind.CLOSED, None),
        ("killer", EventKind.ABANDONED, f"{TARGET_LOST}connection refused"),
        ("late", EventKind.REQUEST, None),
    )
    assert only.startswith("killer, ")


def test_who_is_answered_by_a_close_just_before_the_end_does_not_date_it() -> None:
    first, second = heard(
        ("closed", EventKind.REQUEST, None),
        ("closed", EventKind.CLOSED, None),
        ("other", EventKind.REQUEST, None),
        ("other", EventKind.RESPONSE, None),
        ("killer", EventKind.REQUEST, None),
        ("closed", EventKind.ABANDONED, f"{TARGET_LOST}connection refused"),
    )[:2]
    assert first.startswith("killer, step 0 (ana sends Heartbeat v4")
    assert first.endswith("sent 1000 ms after, not answered")
    assert second.startswith("closed, ")


def test_a_close_that_a_broker_outlived_is_not_its_end() -> None:
    asks_on = ("closed", EventKind.REQUEST, None)
    for between in ([asks_on], [("other", EventKind.SILENCE, None)] * 12):
        first, *_ = heard(
            ("closed", EventKind.REQUEST, None),
            ("closed", EventKind.CLOSED, None),
            *between,
            ("killer", EventKind.REQUEST, None),
            ("closed", EventKind.ABANDONED, f"{TARGET_LOST}connection refused"),
        )
        assert first.startswith("killer, ")


def test_only_the_last_answers_are_suspicious() -> None:
    kinds = (EventKind.REQUEST, EventKind.RESPONSE)
    lines = [(f"n{number}", each, None) for number in range(20) for each in kinds]
    found = heard(*lines, ("n0", EventKind.ABANDONED, f"{TARGET_LOST}it is gone"))
    assert [each.partition(",")[0] for each in found] == [f"n{n}" for n in range(19, 19 - ENDED_COUNT, -1)]

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference_coordinator.core.ids import Millis
from reference_coordinator.core.timers import Timers


def fired(timers: Timers[str, str], now_ms: int) -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    while (due := timers.pop_due(Millis(now_ms))) is not None:
        found.append((due.at_ms, due.deadline))
    return found


Step = tuple[str, int | None]
"""A key, and when its deadline is; none if it is cancelled."""


def after(*steps: Step) -> Timers[str, str]:
    """Timers on which so much was done; a deadline names its step."""
    timers: Timers[str, str] = Timers()
    for number, (key, at_ms) in enumerate(steps, 1):
        if at_ms is None:
            timers.cancel(key)
        else:
            timers.schedule(key, at_ms, f"{key}{number}")
    return timers


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([("late", 20), ("early", 10)], [(10, "early2"), (20, "late1")]),
        ([("c", 10), ("a", 10), ("b", 10)], [(10, "c1"), (10, "a2"), (10, "b3")]),
        ([("key", 10), ("key", 20)], [(20, "key2")]),
        ([("a", 10), ("b", 10), ("a", 10)], [(10, "b2"), (10, "a3")]),
        ([("key", 10), ("key", None), ("no such key", None)], []),
        ([("key", 10), ("key", 30), ("key", 20)], [(20, "key3")]),
        ([("key", 10), ("key", None), ("key", 5)], [(5, "key3")]),
    ],
    ids=[
        "in the order of their times",
        "ties in scheduling order",
        "of one key the last counts",
        "rescheduled to a new place among ties",
        "cancelled",
        "moved away and back",
        "free again after it was cancelled",
    ],
)
def test_deadlines_fire(steps: list[Step], expected: list[tuple[int, str]]) -> None:
    timers = after(*steps)

    assert timers.next_deadline() == (expected[0][0] if expected else None)
    assert fired(timers, 9) == [each for each in expected if each[0] < 10]
    assert fired(timers, 100) == [each for each in expected if each[0] >= 10]


def test_the_next_deadline_ignores_what_was_replaced() -> None:
    timers = after(("key", 10), ("key", 50), ("other", 30))

    assert timers.next_deadline() == 30
    assert timers.deadline_of("key") == "key2"


@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.one_of(st.none(), st.integers(min_value=0, max_value=6))),
        max_size=30,
    )
)
def test_what_fires_is_what_was_scheduled_last_by_time_then_by_turn(
    inputs: list[tuple[str, int | None]],
) -> None:
    timers: Timers[str, str] = Timers()
    expected: dict[str, tuple[int, int]] = {}
    for turn, (key, at_ms) in enumerate(inputs):
        if at_ms is None:
            timers.cancel(key)
            expected.pop(key, None)
        else:
            timers.schedule(key, at_ms, key)
            expected[key] = (at_ms, turn)
        assert timers.next_deadline() == min((at for at, _ in expected.values()), default=None)

    in_order = sorted(expected, key=lambda key: expected[key])
    assert fired(timers, 100) == [(expected[key][0], key) for key in in_order]

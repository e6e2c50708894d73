from hypothesis import given
from hypothesis import strategies as st

from reference_coordinator.core.ids import Millis
from reference_coordinator.core.timers import Timers


def fired(timers: Timers[str, str], now_ms: int) -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    while (due := timers.pop_due(Millis(now_ms))) is not None:
        found.append((due.at_ms, due.deadline))
    return found


def test_deadlines_fire_in_the_order_of_their_times() -> None:
    timers: Timers[str, str] = Timers()
    timers.schedule("late", 20, "second")
    timers.schedule("early", 10, "first")

    assert fired(timers, 30) == [(10, "first"), (20, "second")]


def test_ties_fire_in_scheduling_order() -> None:
    timers: Timers[str, str] = Timers()
    for name in ("c", "a", "b"):
        timers.schedule(name, 10, name)

    assert [name for _, name in fired(timers, 10)] == ["c", "a", "b"]


def test_a_key_has_one_deadline_and_the_last_one_counts() -> None:
    timers: Timers[str, str] = Timers()
    timers.schedule("key", 10, "old")
    timers.schedule("key", 20, "new")

    assert fired(timers, 10) == []
    assert fired(timers, 20) == [(20, "new")]


def test_rescheduling_takes_a_new_place_among_ties() -> None:
    timers: Timers[str, str] = Timers()
    timers.schedule("a", 10, "a")
    timers.schedule("b", 10, "b")
    timers.schedule("a", 10, "a")

    assert [name for _, name in fired(timers, 10)] == ["b", "a"]


def test_a_cancelled_deadline_never_fires() -> None:
    timers: Timers[str, str] = Timers()
    timers.schedule("key", 10, "deadline")
    timers.cancel("key")
    timers.cancel("no such key")

    assert timers.next_deadline() is None
    assert fired(timers, 100) == []


def test_the_next_deadline_ignores_what_was_replaced() -> None:
    timers: Timers[str, str] = Timers()
    timers.schedule("key", 10, "old")
    timers.schedule("key", 50, "new")
    timers.schedule("other", 30, "other")

    assert timers.next_deadline() == 30
    assert timers.deadline_of("key") == "new"


def test_nothing_fires_before_its_time() -> None:
    timers: Timers[str, str] = Timers()
    timers.schedule("key", 10, "deadline")

    assert timers.pop_due(Millis(9)) is None
    assert fired(timers, 10) == [(10, "deadline")]


def test_a_deadline_that_moves_away_fires_at_its_new_time_and_once() -> None:
    timers: Timers[str, str] = Timers()
    for at_ms in (10, 30, 20):
        timers.schedule("key", at_ms, f"at {at_ms}")

    assert timers.next_deadline() == 20
    assert fired(timers, 100) == [(20, "at 20")]


def test_a_key_that_was_cancelled_is_free_for_another_deadline() -> None:
    timers: Timers[str, str] = Timers()
    timers.schedule("key", 10, "old")
    timers.cancel("key")
    timers.schedule("key", 5, "new")

    assert fired(timers, 100) == [(5, "new")]


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

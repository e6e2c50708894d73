from reference_coordinator.ids import Millis
from reference_coordinator.timers import Timers


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

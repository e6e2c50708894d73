"""Which brokers are up together, and when they begin."""

import asyncio
from collections.abc import Sequence

import pytest

from harness import capacity
from harness.runner.rounds import LongestFirst, Rounds, Turn, divided
from harness.runner.sharing import BrokerGroup, Cohort
from harness.scenario import Conversation, ask, record, scenario
from harness.tests.patience import NOW_OR_NEVER_S


@pytest.mark.parametrize(
    ("brokers", "slots", "rounds"),
    [
        ([("a", 2), ("b", 2), ("c", 1), ("d", 1)], 3, [["a"], ["b", "c"], ["d"]]),
        ([("a", 1), ("large", 9), ("b", 1)], 4, [["a"], ["large"], ["b"]]),
        ([(number, 0) for number in range(9)], 1, [list(range(9))]),
    ],
    ids=["no more than slots", "larger than the machine", "without processes"],
)
def test_a_round_has_as_many_brokers_as_there_are_slots(
    brokers: list[tuple[object, int]], slots: int, rounds: list[list[object]]
) -> None:
    assert divided(brokers, slots=slots) == rounds


async def _journal_of(turns: Sequence[Turn | None], *, failing: int | None = None) -> list[str]:
    journal: list[str] = []

    async def live(number: int, turn: Turn) -> None:
        try:
            await turn.begin()
            journal.append(f"start {number}")
            await asyncio.sleep(0)
            if number != failing:
                await turn.all_ready()
                journal.append(f"run {number}")
                await asyncio.sleep(0)
        finally:
            journal.append(f"end {number}")
            turn.end()

    async with asyncio.timeout(NOW_OR_NEVER_S), asyncio.TaskGroup() as tasks:
        for number, turn in enumerate(turns):
            assert turn is not None
            tasks.create_task(live(number, turn))
    return journal


async def test_a_broker_of_many_short_cohorts_comes_with_those_that_take_as_long() -> None:
    capacity._BROKER_SLOTS[asyncio.get_running_loop()] = capacity.Slots(2)
    short, long = _lasting(1), _lasting(3)
    several = BrokerGroup(cohorts=[*short.cohorts] * 3)
    rounds = Rounds(frozenset({"one"}))
    short_ones = [_lasting(2), _lasting(2)]
    turns = await rounds.turns("one", [*short_ones, several, long], processes=1)
    places = [turn.round for turn in turns if turn is not None]
    assert places[2] is places[3]
    assert places[0] is places[1]
    assert places[0] is not places[2]


async def _turns(slots: int, count: int = 4) -> Sequence[Turn | None]:
    capacity._BROKER_SLOTS[asyncio.get_running_loop()] = capacity.Slots(slots)
    rounds = Rounds(frozenset({"one", "other"}))
    wanted = [BrokerGroup() for _ in range(count - 1)]
    first = asyncio.create_task(rounds.turns("one", wanted, processes=1))
    await asyncio.sleep(0)
    assert not first.done(), "the other target has not said yet what it needs"
    second = await rounds.turns("other", [BrokerGroup()], processes=1)
    return [*await first, *second]


def test_brokers_that_would_fill_half_of_a_last_round_are_left_over() -> None:
    assert asyncio.run(_turns(2, count=3))[2] is None
    assert None not in asyncio.run(_turns(3, count=5))
    assert None not in asyncio.run(_turns(9, count=3)), "the first round is for all that there are"


async def _journal_of_two_at_once(failing: int | None = None) -> list[str]:
    return await _journal_of(await _turns(2), failing=failing)


def test_nothing_runs_before_all_brokers_of_its_round_are_ready() -> None:
    journal = asyncio.run(_journal_of_two_at_once())

    assert set(journal[:2]) == {"start 0", "start 1"}
    assert set(journal[2:4]) == {"run 0", "run 1"}
    assert journal.index("start 2") > journal.index("end 1")


def test_nobody_waits_for_a_broker_that_failed_to_start() -> None:
    assert {"run 1", "run 2"} <= set(asyncio.run(_journal_of_two_at_once(failing=0)))


async def test_the_longest_begin_first_and_no_more_than_there_are_slots() -> None:
    order: list[int] = []
    running = 0
    slots = LongestFirst(2)

    async def live(seconds: int) -> None:
        nonlocal running
        async with slots.taken(seconds):
            running += 1
            assert running <= 2
            order.append(seconds)
            await asyncio.sleep(0)
            running -= 1

    lasting = (1, 5, 3, 4, 2)
    async with asyncio.timeout(NOW_OR_NEVER_S), asyncio.TaskGroup() as tasks:
        for seconds in lasting:
            tasks.create_task(live(seconds))
    assert order == [5, 4, 3, 2, 1]


async def test_who_stops_waiting_takes_no_slot_with_it() -> None:
    slots = LongestFirst(1)

    async def live() -> None:
        async with slots.taken(1):
            await asyncio.sleep(3600)

    first, second = asyncio.create_task(live()), asyncio.create_task(live())
    await asyncio.sleep(0.01)
    second.cancel()
    first.cancel()
    await asyncio.wait([first, second])
    async with asyncio.timeout(NOW_OR_NEVER_S), slots.taken(1):
        pass


async def test_a_slot_that_is_lent_lets_another_run_and_its_owner_goes_on_without_waiting() -> None:
    slots, order = LongestFirst(1), list[str]()

    async def other(name: str) -> None:
        async with slots.taken(1):
            order.append(name)

    async with asyncio.timeout(NOW_OR_NEVER_S), asyncio.TaskGroup() as tasks:
        async with slots.taken(1):
            with slots.lent():
                await tasks.create_task(other("meanwhile"))
            after = tasks.create_task(other("after"))
            await asyncio.sleep(0)
            order.append("owner")
        await after
    assert order == ["meanwhile", "owner", "after"]


def _lasting(seconds: int) -> BrokerGroup:
    def waits(conversation: Conversation) -> None:
        """Time passes."""
        conversation.actor("ana").asks(ask.heartbeat(member_id="m", generation_id=1), error_code="NONE")
        conversation.elapses(seconds * 1000)

    script = record(scenario("made/waits/on", source="A#b")(waits))
    return BrokerGroup(cohorts=[Cohort(scripts=[script])])

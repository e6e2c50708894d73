"""Leaving out what a difference does not need."""

import asyncio
from collections.abc import Sequence

from harness.search.by_field import AS_FIELDS
from harness.search.moves import Ask, Wait, script_of
from harness.search.shrinking import Candidate, minimal, one_by_one, shrunk


def test_what_is_left_has_nothing_that_could_go() -> None:
    needed = {3, 17, 18, 40}

    async def still(items: Sequence[int]) -> bool:
        return needed <= set(items)

    assert asyncio.run(minimal(range(50), one_by_one(still))) == (3, 17, 18, 40)


def test_nothing_is_left_where_nothing_is_needed() -> None:
    async def still(items: Sequence[int]) -> bool:
        return len(items) < 10

    assert asyncio.run(minimal(range(9), one_by_one(still))) == ()


def test_moves_go_and_the_rest_gets_plainer() -> None:
    moves = (
        Ask(actor="ana", api="ListGroups"),
        Wait(duration_ms=47_000),
        Ask(actor="bob", api="Heartbeat", arguments={"version": 3, "member_id": "nobody"}),
    )

    async def still(candidate: Candidate) -> bool:
        """Need a wait of 2 s or more, and a heartbeat of nobody behind it."""
        waited_ms = 0
        for move in candidate.moves:
            if isinstance(move, Wait):
                waited_ms += move.duration_ms
            elif isinstance(move, Ask) and move.arguments.get("member_id") == "nobody":
                return waited_ms >= 2_000
        return False

    first = Candidate(moves=moves, broker_config={"group.max.size": "2"})
    found = asyncio.run(shrunk(first, one_by_one(still)))

    assert found.moves == (
        Wait(duration_ms=5_000),
        Ask(actor="bob", api="Heartbeat", arguments={"member_id": "nobody"}),
    )
    assert found.broker_config == {}


def test_time_passes_once_where_it_passed_twice() -> None:
    async def still(candidate: Candidate) -> bool:
        return sum(each.duration_ms for each in candidate.moves if isinstance(each, Wait)) > 29_000

    waits = (Wait(duration_ms=20_000), Wait(duration_ms=10_000))
    found = asyncio.run(shrunk(Candidate(moves=waits, broker_config={}), one_by_one(still)))

    assert found.moves == (Wait(duration_ms=30_000),)


def test_a_number_that_has_only_to_be_wrong_need_not_be_learnt() -> None:
    moves = (
        Ask(actor="ana", api="JoinGroup"),
        Ask(actor="bob", api="JoinGroup"),
        Ask(actor="ana", api="Heartbeat"),
    )

    async def still(candidate: Candidate) -> bool:
        """Need a heartbeat of a generation that is not the last one that somebody joined."""
        joined = [each for each in candidate.moves[:-1] if isinstance(each, Ask) and each.api == "JoinGroup"]
        last = candidate.moves[-1]
        is_wrong = isinstance(last, Ask) and last.arguments.get("generation_id") == 99
        return bool(joined) and (len(joined) > 1 or is_wrong)

    found = asyncio.run(shrunk(Candidate(moves=moves, broker_config={}), one_by_one(still)))

    assert len(found.moves) == 2


def test_fields_stay_fields_while_they_get_fewer() -> None:
    arguments = {"version": 8, "topics": (), "group_id": "other", AS_FIELDS: True}
    moves = (Ask(actor="ana", api="OffsetFetch", arguments=arguments),)

    async def still(candidate: Candidate) -> bool:
        script_of(candidate.moves, script_id="search/x", broker_config={})
        return bool(candidate.moves)

    found = asyncio.run(shrunk(Candidate(moves=moves, broker_config={}), one_by_one(still)))

    assert found.moves == (Ask(actor="ana", api="OffsetFetch", arguments={AS_FIELDS: True}),)

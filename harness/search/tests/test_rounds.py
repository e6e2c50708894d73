"""Rounds are made ahead in a process of its own, and the reference's answers come with them."""

import asyncio
import multiprocessing

import pytest

from harness.runner.sharing import broker_groups
from harness.scenario.script import Control, DoToBroker, Send
from harness.search.corpus import Corpus
from harness.search.hunt import common_versions
from harness.search.rounds import Round, RoundMaker, RoundOrder, RoundsAhead
from harness.search.sides import Side
from harness.search.steering import STEPS_EACH, Steering
from harness.search.tempo import APPENDING, REAL, RESTARTING, Tempo
from harness.search.tests.made_findings import reference_of
from harness.targets.base.interface import BrokerAction, TargetError
from harness.targets.reference.variants import VariantTarget, flipped

pytestmark = pytest.mark.slow


def _order(
    begun: int = 0, *, reference: VariantTarget | None = None, count: int = 4, tempo: Tempo = REAL
) -> RoundOrder:
    reference = reference or reference_of()
    side = Side(reference)
    return RoundOrder(
        reference=reference,
        base_config={},
        versions=asyncio.run(common_versions(side, side)),
        configs=({},),
        seed=5,
        begun=begun,
        count=count,
        tempo=tempo,
    )


def _moves(one: Round) -> list[object]:
    return [each.moves for each in one.conversations.values()]


def test_rounds_of_another_process_are_those_of_this_one() -> None:
    here = RoundMaker(Steering(Corpus()))
    orders = [_order(), _order(4)]

    async def ahead() -> list[Round]:
        rounds = RoundsAhead(Steering(Corpus()))
        try:
            await rounds.start()
            for order in orders:
                rounds.order(order)
            assert (rounds.round_count, rounds.expected_steps) == (2, 8 * STEPS_EACH)
            return [await rounds.taken() for _ in orders]
        finally:
            await rounds.stop()

    there = asyncio.run(ahead())

    assert [_moves(each) for each in there] == [_moves(here(each)) for each in orders]
    assert [*there[1].conversations] == ["5/4", "5/5", "5/6", "5/7"]
    assert multiprocessing.active_children() == []


def _unlike(made: Round, reference: VariantTarget) -> int:
    """Return in how many conversations a reference answers otherwise than the round says."""
    side = Side(reference)
    return sum(
        not each.is_answered_by(asyncio.run(side.run(each.script))) for each in made.conversations.values()
    )


def test_the_reference_of_each_order_answers() -> None:
    plain = reference_of()
    other = flipped(plain, "duplicate_partitions_answered_each")
    maker = RoundMaker(Steering(None))

    of_plain, of_other = maker(_order(count=100)), maker(_order(reference=other, count=100))

    assert _unlike(of_plain, plain) == _unlike(of_other, other) == 0
    assert _unlike(of_plain, other) > 0
    assert _unlike(of_other, plain) > 0
    assert not any(each.has_failed for each in of_plain.conversations.values())


@pytest.mark.parametrize(("tempo", "actions"), [(RESTARTING, 1), (APPENDING, 2)])
def test_all_conversations_of_a_round_restart_the_coordinator_once_and_together(
    tempo: Tempo, actions: int
) -> None:
    made = RoundMaker(Steering(Corpus()))(_order(count=60, tempo=tempo))

    scripts = [each.script for each in made.conversations.values()]
    (together,) = broker_groups(scripts, reference_of().capabilities)
    assert len(together.scripts) == len(scripts) == 60
    assert together.does_something
    for script in scripts:
        done = [step for step in script.steps if isinstance(step, Control)]
        assert len(done) == actions
        assert isinstance(done[-1], DoToBroker)
        assert done[-1].lever == BrokerAction.RESTART
        # Something is asked of the group that was loaded.
        assert len(script.steps) > script.steps.index(done[-1]) + 3
    asked = {step.api for script in scripts for step in script.steps if isinstance(step, Send)}
    assert {"JoinGroup", "ConsumerGroupHeartbeat", "StreamsGroupHeartbeat"} <= asked
    assert not {"ShareGroupHeartbeat", "InitProducerId", "TxnOffsetCommit"} & asked


def test_a_killed_process_is_reported() -> None:
    order = _order(count=100_000)

    async def killed() -> None:
        rounds = RoundsAhead(Steering(None))
        try:
            await rounds.start()
            rounds.order(order)
            await asyncio.sleep(0.1)
            for each in multiprocessing.active_children():
                each.kill()
            await rounds.taken()
        finally:
            await rounds.stop()

    with pytest.raises(TargetError, match="no more conversations can be made"):
        asyncio.run(killed())

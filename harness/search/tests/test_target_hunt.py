"""A target's differences are found, shown again, shrunk on the target, explained and written.

The target is a reference with a fault, which is driven as any other target is.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from typing_extensions import override

from harness.diff.model import Difference
from harness.scenario.script import Script
from harness.search.comparison import Comparison, Heard
from harness.search.driven import DrivenTarget
from harness.search.hunt import Cluster, Harvest, scripted
from harness.search.made import Made
from harness.search.shrinking import Candidate
from harness.search.target_hunt import TargetHunt, TargetOrder
from harness.search.tests.made_findings import DIFFERENCE, reference_of
from harness.targets.base.interface import Broker, BrokerSession, Capability, Target
from harness.targets.reference.target import ReferenceBroker, ReferenceTarget, reference_profile
from harness.targets.reference.variants import VariantTarget, flipped

pytestmark = pytest.mark.slow


def _hunt(
    folder: Path, target: Target, against: Target | None = None, *, steps: int, seed: int = 3
) -> tuple[TargetHunt, list[Cluster]]:
    driven = [
        None if each is None else DrivenTarget(each, run_id="test", logs=folder / f"{number}", jobs=64)
        for number, each in enumerate((target, against))
    ]
    assert driven[0] is not None
    order = TargetOrder(target=driven[0], against=driven[1], steps=steps, seed=seed, batch=20)
    hunt = TargetHunt(order, lambda _harvest, _cluster: None, lambda _: None)
    asyncio.run(hunt.run())
    return hunt, hunt.harvest.clusters


def test_a_target_that_is_as_its_reference_differs_in_nothing(tmp_path: Path) -> None:
    hunt, found = _hunt(tmp_path, reference_of(), steps=100)

    assert hunt.harvest.steps >= 100
    assert found == []
    assert (hunt.losses.flaky, hunt.losses.broken_off, hunt.losses.lost) == ({}, {}, None)


def test_a_fault_of_a_target_is_shrunk_on_it_and_named(tmp_path: Path) -> None:
    target = flipped(reference_of(), "duplicate_partitions_answered_each")

    hunt, found = _hunt(tmp_path, target, steps=3_000, seed=4)

    assert [each.behaviours for each in found] == [("duplicate_partitions_answered_each",)]
    assert len(found[0].script.steps) <= 4
    ours, others = hunt.traces(found[0])
    assert len(ours) == len(others)


def test_what_was_found_before_an_interrupt_is_reported_and_stays(tmp_path: Path) -> None:
    reported: list[Cluster] = []

    def tell(_harvest: Harvest, cluster: Cluster | None) -> None:
        if cluster is not None:
            reported.append(cluster)
            task = asyncio.current_task()
            assert task is not None
            task.cancel()

    target = flipped(reference_of(), "duplicate_partitions_answered_each")
    driven = DrivenTarget(target, run_id="test", logs=tmp_path, jobs=64)
    order = TargetOrder(target=driven, against=None, steps=3_000, seed=3, batch=5)
    hunt = TargetHunt(order, tell, lambda _: None)
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(hunt.run())

    assert hunt.harvest.clusters == reported
    assert len(reported) == 1
    assert all(hunt.traces(reported[0]))


def test_two_targets_are_compared_and_their_difference_is_named(tmp_path: Path) -> None:
    hunt, found = _hunt(tmp_path, reference_of(), reference_of("4.0"), steps=300)

    assert found
    assert all(each.is_explained for each in found)
    assert hunt.losses.lost is None


class _Moody(VariantTarget):
    """A reference that has another behaviour in the conversations of its first drive only."""

    @override
    async def start(self, **order: object) -> Broker:
        broker = await super().start(**order)  # type: ignore[arg-type] # as said
        other = await flipped(reference_of(), "duplicate_partitions_answered_each").start(**order)  # type: ignore[arg-type] # likewise
        opened, sessions = broker.open_session, 0

        def open_session(scenario_id: str) -> BrokerSession:
            nonlocal sessions
            sessions += 1
            return (other.open_session if sessions <= _FIRST_DRIVE else opened)(scenario_id)

        broker.open_session = open_session  # type: ignore[method-assign] # for this test
        return broker


_FIRST_DRIVE = 40


def test_the_events_of_a_difference_that_does_not_show_again_are_kept(tmp_path: Path) -> None:
    driven = DrivenTarget(_Moody(reference_profile("4.4")), run_id="test", logs=tmp_path, jobs=64)
    order = TargetOrder(target=driven, against=None, steps=1_561, seed=3, batch=_FIRST_DRIVE)
    kept: dict[str, Heard] = {}

    def keep(seed: str, _script: Script, heard: Heard) -> None:
        kept[seed] = heard

    hunt = TargetHunt(order, lambda *_: None, lambda _: None, keep)
    asyncio.run(hunt.run())

    assert hunt.harvest.clusters == []
    assert sum(hunt.losses.flaky.values()) == len(kept) > 0
    assert all(ours != others for ours, others in kept.values())


class _Mortal(VariantTarget):
    """A reference of which the broker is gone after some conversations."""

    @override
    async def start(self, **order: object) -> Broker:
        broker = await super().start(**order)  # type: ignore[arg-type] # as said
        sessions = 0
        opened = broker.open_session

        def open_session(scenario_id: str) -> BrokerSession:
            nonlocal sessions
            sessions += 1
            return opened(scenario_id)

        broker.open_session = open_session  # type: ignore[method-assign] # for this test
        broker.failure = lambda: "it fell over" if sessions > 30 else None  # type: ignore[method-assign] # likewise
        return broker


def test_a_target_that_dies_ends_the_search(tmp_path: Path) -> None:
    hunt, _ = _hunt(tmp_path, _Mortal(reference_profile("4.4")), steps=100_000)

    assert hunt.losses.lost == "it fell over"
    assert hunt.harvest.conversations < 100


class _Counted(VariantTarget):
    """A reference that counts how often a broker of it is started."""

    starts = 0

    @override
    async def start(self, **order: object) -> Broker:
        type(self).starts += 1
        return await super().start(**order)  # type: ignore[arg-type] # as said


async def test_a_broker_that_had_many_conversations_is_renewed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.search.driven._KEPT_FOR_MAX", 30)
    driven = DrivenTarget(_Counted(reference_profile("4.4")), run_id="test", logs=tmp_path, jobs=64)
    starts, before = [], _Counted.starts
    await driven.begin(lambda _: None)
    for first in (0, 20, 40):
        await driven.run([_made(number).script for number in range(first, first + 20)])
        starts.append(_Counted.starts - before)
    await driven.stop()

    assert starts == [1, 2, 3]


async def test_a_broker_that_ends_between_two_drives_is_lost_and_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driven = DrivenTarget(_Counted(reference_profile("4.4")), run_id="test", logs=tmp_path, jobs=64)
    script, lost, before = _made(0).script, [], _Counted.starts
    how = "it ended with signal SIGKILL\nand the end of its log"
    await driven.begin(lambda _: None)
    await driven.run([script])
    lost.append(driven.lost)
    monkeypatch.setattr(ReferenceBroker, "failure", lambda _: how)
    assert await driven.run([script]) == {script.id: ()}
    lost.append(driven.lost)
    await driven.stop()

    assert lost == [None, "it ended with signal SIGKILL"]
    assert _Counted.starts - before == 1


@pytest.mark.parametrize(
    ("lacking", "restarts"),
    [({Capability.CLUSTER}, True), (set(), False), ({Capability.CLUSTER, Capability.RESTART}, False)],
)
async def test_a_coordinator_restarts_in_one_round_of_five_where_no_other_broker_takes_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lacking: set[Capability], *, restarts: bool
) -> None:
    monkeypatch.setattr(ReferenceTarget, "capabilities", reference_of().capabilities - lacking)
    driven = DrivenTarget(reference_of(), run_id="test", logs=tmp_path, jobs=64)
    comparison = Comparison(driven, None)
    await comparison.begin(lambda _: None)
    orders = [comparison.round_order(seed=1, begun=number, count=1) for number in range(100)]
    await comparison.stop()
    restarting = [each for each in orders if each.tempo.restarts]

    assert 10 < len(restarting) < 30 if restarts else not restarting
    # How long conversations wait for each other before a restart hangs on the machine, so nothing may be due.
    configs = [config for each in restarting for config in each.configs]
    assert not [each for each in configs if "group.initial.rebalance.delay.ms" in each]


def test_a_lost_target_is_not_started_to_ask_for_topic_ids(tmp_path: Path) -> None:
    driven = DrivenTarget(_Counted(reference_profile("4.4")), run_id="test", logs=tmp_path, jobs=64)
    driven.lost, before = "it fell over", _Counted.starts

    assert asyncio.run(driven.topic_ids(_made(0).script)) == {}
    assert _Counted.starts == before


def _made(number: int) -> Made:
    script = scripted(Candidate(moves=(), broker_config={}))
    assert script is not None
    return Made(
        moves=(),
        script=replace(script, id=f"search/made/{number}"),
        tape=(),
        answers=(),
        has_failed=False,
        costs_the_log=False,
        reached={},
    )


class _CostlyTogether:
    """A comparison in which one conversation changes the answers to all that run with it."""

    def __init__(self, costly: int) -> None:
        self._costly = f"search/made/{costly}"
        self._is_spoilt = False

    async def run_made(self, made: Sequence[Made]) -> Mapping[str, Heard]:
        self._is_spoilt = any(each.script.id == self._costly for each in made)
        return {each.script.id: ((), ()) for each in made}

    async def quick_difference(self, _script: Script, _heard: Heard) -> Difference | None:
        return _DIFFERENCE if self._is_spoilt else None


_DIFFERENCE = replace(DIFFERENCE, api="OffsetFetch", actual='"NOT_COORDINATOR"')


@pytest.mark.parametrize(("costly", "looked_into"), [(0, ["3/0"]), (41, ["3/41"]), (99, [])])
def test_a_conversation_that_costs_others_their_log_is_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, costly: int, looked_into: list[str]
) -> None:
    driven = DrivenTarget(reference_of(), run_id="test", logs=tmp_path, jobs=64)
    order = TargetOrder(target=driven, against=None, steps=1, seed=3, batch=1)
    hunt = TargetHunt(order, lambda *_: None, lambda _: None)
    found: list[str] = []

    async def look_into(_made: Made, _cause: str, seed: str) -> bool:
        found.append(seed)
        return True

    monkeypatch.setattr(hunt, "_comparison", _CostlyTogether(costly))
    monkeypatch.setattr(hunt, "_look_into", look_into)
    made = {f"3/{number}": _made(number) for number in range(64)}

    is_found = asyncio.run(hunt._look_for_origin(made, _DIFFERENCE.cause))

    assert (is_found, found) == (bool(looked_into), looked_into)

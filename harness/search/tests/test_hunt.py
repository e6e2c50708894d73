"""Differences that are known to be there are found, shrunk and explained, in virtual time."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from harness.search.corpus import Corpus
from harness.search.hunt import SCRIPT_ID, Cluster, Hunt, Order, common_versions
from harness.search.maker import Maker
from harness.search.mutated import mutated
from harness.search.sides import Side
from harness.search.tests.made_findings import recorded_scenario, reference_of
from harness.search.written import scenario_of
from harness.targets.base.interface import TargetError
from harness.targets.reference.tape import Received
from harness.targets.reference.variants import VariantTarget, flipped
from harness.trace.events import EventKind

_SEED = 4
_STEPS_MAX = 8
_ANSWERS = (EventKind.RESPONSE, EventKind.POLL)


def _order(
    target: VariantTarget, against: VariantTarget, *, steps: int = 12_000, mutant: str | None = None
) -> Order:
    return Order(
        target=target,
        against=against,
        mutant=mutant,
        steps=steps,
        seed=_SEED,
        stops_at_first=True,
        corpus=Corpus(),
    )


def _found(order: Order) -> tuple[Hunt, Cluster]:
    hunt = Hunt(order, lambda _harvest, _cluster: None)
    (cluster,) = asyncio.run(hunt.run()).clusters
    return hunt, cluster


def test_a_reference_agrees_with_itself() -> None:
    order = Order(target=reference_of("4.4"), against=reference_of("4.4"), steps=200, seed=_SEED)
    harvest = asyncio.run(Hunt(order, lambda _harvest, _cluster: None).run())

    assert harvest.steps >= 200
    assert harvest.clusters == harvest.mixtures == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "behaviour",
    [
        "duplicate_partitions_answered_each",
        "states_filter_trimmed",
        "group_epoch_starts_at_one",
        "empty_group_id_fails_describe",
    ],
)
def test_a_switched_behaviour_is_found_shrunk_and_named(behaviour: str) -> None:
    target = reference_of("4.4")

    _, cluster = _found(_order(target, flipped(target, behaviour)))

    assert cluster.behaviours == (behaviour,)
    assert len(cluster.script.steps) <= _STEPS_MAX


async def test_what_runs_while_it_is_made_runs_alike_again() -> None:
    side = Side(reference_of("4.4"))

    versions = await common_versions(side, side)
    for number in range(5):
        made = await Maker(f"{_SEED}/{number}", versions).make(side, script_id=SCRIPT_ID, steps_max=40)
        assert not made.has_failed
        assert await side.answers_alike(made.script, made.tape)
        events = await side.run(made.script)
        outcomes = [each.outcome for each in made.tape if isinstance(each, Received)]
        came = {each.hex() for each in outcomes if isinstance(each, bytes)}
        # An answer that comes while a request was to stay parked is recorded there and where it is due.
        assert came == {each.raw for each in events if each.kind in _ANSWERS}


def test_what_is_written_is_a_scenario_that_shows_the_difference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = reference_of("4.4")
    hunt, cluster = _found(_order(target, flipped(target, "duplicate_partitions_answered_each")))

    traces = asyncio.run(hunt.traces(cluster))
    written = scenario_of(cluster, names=("reference:4.4", "another"), traces=traces, reproduction="search")
    script = recorded_scenario(written, tmp_path / "found_by_search", monkeypatch)

    api = "offset-fetch" if cluster.difference.api == "OffsetFetch" else "offset-delete"
    assert script.id == f"found/{api}/duplicate-partitions-answered-each"
    assert [type(each) for each in script.steps] == [type(each) for each in cluster.script.steps]
    assert asyncio.run(hunt.differs(script))


@pytest.mark.slow
def test_a_fault_in_the_code_is_found_and_shrunk() -> None:
    target = reference_of("4.4")
    mutant = "groups.classic.heartbeat:validate_classic_group_heartbeat:error-replaced:1"

    _, cluster = _found(_order(target, target, mutant=mutant))

    assert cluster.difference.actual == '"ILLEGAL_GENERATION"'
    assert cluster.difference.expected == '"UNKNOWN_SERVER_ERROR"'
    assert len(cluster.script.steps) <= _STEPS_MAX


@pytest.mark.slow
def test_a_fault_that_keeps_the_reference_from_starting_is_found() -> None:
    target = reference_of("4.4")
    mutant = "broker.broker_apis:handle_api_versions:and-or-exchanged:0"
    order = _order(target, target, steps=200, mutant=mutant)

    _, cluster = _found(replace(order, corpus=None))

    assert "the reference fails: NotReadyError" in cluster.difference.expected
    assert len(cluster.candidate.moves) == 1


def test_a_mutant_is_named_by_its_id_alone() -> None:
    with pytest.raises(TargetError, match="0 mutants match 'nothing:like:that:0'"):
        mutated(reference_of("4.4"), "nothing:like:that:0")

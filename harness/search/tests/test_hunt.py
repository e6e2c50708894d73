"""Differences that are known to be there are found, shrunk and explained, in virtual time."""

import asyncio
import importlib
import sys
from pathlib import Path

import pytest

from harness.scenario.registry import record_each, scenario_functions
from harness.search.corpus import Corpus
from harness.search.hunt import SCRIPT_ID, Cluster, Harvest, Hunt, Order, common_versions
from harness.search.maker import Maker
from harness.search.mutated import mutated
from harness.search.sides import Side
from harness.search.written import scenario_of, write
from harness.targets.base.interface import TargetError
from harness.targets.reference.tape import Received
from harness.targets.reference.target import reference_profile
from harness.targets.reference.variants import VariantTarget, flipped
from harness.trace.events import EventKind

_SEED = 4
_STEPS_MAX = 8
_ANSWERS = (EventKind.RESPONSE, EventKind.POLL)


def _reference(profile: str) -> VariantTarget:
    return VariantTarget(reference_profile(profile))


def _found(target: VariantTarget, against: VariantTarget, *, steps: int) -> tuple[Hunt, Harvest]:
    order = Order(
        target=target, against=against, steps=steps, seed=_SEED, stops_at_first=True, corpus=Corpus()
    )
    hunt = Hunt(order, lambda _harvest, _cluster: None)
    return hunt, asyncio.run(hunt.run())


def _only(harvest: Harvest) -> Cluster:
    (cluster,) = harvest.clusters
    return cluster


def test_a_reference_agrees_with_itself() -> None:
    order = Order(target=_reference("4.4"), against=_reference("4.4"), steps=200, seed=_SEED)
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
    target = _reference("4.4")

    _, harvest = _found(target, flipped(target, behaviour), steps=12_000)

    cluster = _only(harvest)
    assert cluster.explanation.behaviours == (behaviour,)
    assert len(cluster.script.steps) <= _STEPS_MAX


def test_what_runs_while_it_is_made_runs_alike_again() -> None:
    side = Side(_reference("4.4"))

    async def made_and_run() -> bool:
        versions = await common_versions(side, side)
        for number in range(5):
            made = await Maker(f"{_SEED}/{number}", versions).make(side, script_id=SCRIPT_ID, steps_max=40)
            if made.has_failed or not await side.answers_alike(made.script, made.tape):
                return False
            events = await side.run(made.script)
            outcomes = [each.outcome for each in made.tape if isinstance(each, Received)]
            came = {each.hex() for each in outcomes if isinstance(each, bytes)}
            # An answer that comes while a request was to stay parked is recorded there and where it is due.
            if came != {each.raw for each in events if each.kind in _ANSWERS}:
                return False
        return True

    assert asyncio.run(made_and_run())


def test_what_is_written_is_a_scenario_that_shows_the_difference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = _reference("4.4")
    hunt, harvest = _found(target, flipped(target, "duplicate_partitions_answered_each"), steps=12_000)
    cluster = _only(harvest)

    written = scenario_of(
        cluster,
        names=("reference:4.4", "another"),
        traces=asyncio.run(hunt.traces(cluster)),
        reproduction="kafka-conformance search",
    )
    write(tmp_path / "found_by_search", written)
    monkeypatch.syspath_prepend(str(tmp_path))
    module = importlib.import_module(f"found_by_search.{written.module}")
    (function,) = scenario_functions(module)
    (script,) = record_each(function)
    sys.modules.pop(module.__name__)

    api = "offset-fetch" if cluster.difference.api == "OffsetFetch" else "offset-delete"
    assert script.id == f"found/{api}/duplicate-partitions-answered-each"
    assert [type(each) for each in script.steps] == [type(each) for each in cluster.script.steps]
    assert asyncio.run(hunt.differs(script))


def test_a_fault_in_the_code_is_found_and_shrunk() -> None:
    target = _reference("4.4")
    mutant = "groups.classic.heartbeat:validate_classic_group_heartbeat:error-replaced:1"
    order = Order(
        target=target,
        against=target,
        mutant=mutant,
        steps=12_000,
        seed=_SEED,
        stops_at_first=True,
        corpus=Corpus(),
    )

    cluster = _only(asyncio.run(Hunt(order, lambda _harvest, _cluster: None).run()))

    assert cluster.difference.actual == '"ILLEGAL_GENERATION"'
    assert cluster.difference.expected == '"UNKNOWN_SERVER_ERROR"'
    assert len(cluster.script.steps) <= _STEPS_MAX


def test_a_fault_that_keeps_the_reference_from_starting_is_found() -> None:
    target = _reference("4.4")
    order = Order(
        target=target,
        against=target,
        mutant="broker.routing:route:and-or-exchanged:0",
        steps=200,
        seed=_SEED,
        stops_at_first=True,
    )

    cluster = _only(asyncio.run(Hunt(order, lambda _harvest, _cluster: None).run()))

    assert "the reference fails: TargetError" in cluster.difference.expected
    assert len(cluster.candidate.moves) == 1


def test_a_mutant_is_named_by_its_id_alone() -> None:
    with pytest.raises(TargetError, match="0 mutants match 'nothing:like:that:0'"):
        mutated(_reference("4.4"), "nothing:like:that:0")

import random
from pathlib import Path

import pytest

from faults.campaign import Bench, bench
from faults.corpus import Fault, corpus
from faults.replacing import replaced
from harness.mutants.patch import live_function
from harness.tests.completed_runs import catalogue

_SAMPLE = 30


def test_each_replaced_function_is_there_and_comes_back() -> None:
    for each in corpus():
        function = live_function(*each.replaces.split(":"))
        before = function.__code__
        with replaced(each.replaces, each.replacement):
            assert function.__code__ != before, each.id
        assert function.__code__ is before, each.id


def test_each_fault_names_its_source_what_was_seen_and_scenarios_that_are_there() -> None:
    scenarios = catalogue()
    for each in corpus():
        assert each.source, each.id
        assert each.saw, each.id
        assert each.red, each.id
        assert not set(each.red) - set(scenarios), each.id


def test_there_are_enough_faults() -> None:
    assert len(corpus()) >= 80


@pytest.fixture(scope="module")
def one_bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return bench(catalogue(), corpus(), Path(tmp_path_factory.mktemp("bench")))


def sampled() -> list[Fault]:
    return random.Random(42).sample([each for each in corpus() if each.red], _SAMPLE)


@pytest.mark.slow
@pytest.mark.parametrize("fault", sampled(), ids=lambda each: each.id)
def test_the_first_scenario_that_it_names_is_red(fault: Fault, one_bench: Bench) -> None:
    trial = one_bench.try_fault(fault, fault.red[:1])
    assert [each.scenario for each in trial.reds] == list(fault.red[:1])

"""Which scenarios share a broker, as the table of the suites has it."""

from collections import Counter
from dataclasses import replace

import pytest

from harness.orchestration.packings import known_packings, packings
from harness.runner.broker_actions import acts_on_broker
from harness.runner.sharing import asked_config, broker_groups
from harness.targets.kafka.released import KafkaTarget
from harness.tests.completed_runs import catalogue

NOT_SERVED = "share_groups/membership/full"
SUITES = tuple(catalogue().values())


@pytest.mark.parametrize(
    ("version", "broker_count"), [("3.9.2", 12), ("4.1.2", 18), ("4.3.1", 20), ("4.4.0", 18)]
)
def test_few_brokers_run_all_scenarios_with_what_they_ask_for(version: str, broker_count: int) -> None:
    target = KafkaTarget(version)
    packing = packings(SUITES, [target])[target.name]
    groups = broker_groups(SUITES, target.capabilities, packing)
    # A scenario that the tables do not have gets a broker: `python tools/brokers.py` puts it to others.
    assert len(groups) <= broker_count
    runs = Counter(script.id for each in groups for script in each.scripts)
    assert runs == Counter(each.id for each in SUITES)


def test_the_tables_name_scenarios_that_are_there_and_keep_what_they_ask_for() -> None:
    scripts = catalogue()
    for known in known_packings().values():
        for name, config in known.configs.items():
            assert asked_config(scripts[name]).items() <= config.items(), name
        assert known.alone | known.to_clear | known.final <= known.configs.keys()


def test_a_scenario_that_asks_for_something_else_than_the_table_knows_shares_its_broker_with_none() -> None:
    *_, newest = known_packings().values()
    one = next(each for each in SUITES if newest.configs.get(each.id) and not acts_on_broker(each))
    other = replace(one, broker_config={**one.broker_config, "group.max.size": "17"})
    target = KafkaTarget("4.4.0")
    packing = packings([other], [target])[target.name]
    assert other.id not in packing.configs
    assert other.id in packing.alone & packing.final


def test_a_scenario_alone_runs_with_what_it_asks_for() -> None:
    target = KafkaTarget("4.4.0")
    scripts = [each for each in SUITES if asked_config(each)][:20]
    for each in scripts:
        configs = packings([each], [target])[target.name].configs
        assert configs.get(each.id, asked_config(each)) == asked_config(each)


def test_each_configuration_has_its_own_broker_without_merges() -> None:
    target = KafkaTarget("4.4.0")
    assert not packings(SUITES, [target], merges=False)[target.name].configs


@pytest.mark.parametrize(
    ("version", "configs"), [("3.9.2", [{}]), ("4.4.0", [{"group.share.max.size": "2"}])]
)
def test_a_scenario_about_requests_that_the_release_does_not_serve_starts_no_broker(
    version: str, configs: list[dict[str, str]]
) -> None:
    # Kafka 3.9 refuses to start with fewer than ten members of a share group.
    scripts = [catalogue()[NOT_SERVED]]
    target = KafkaTarget(version)
    packing = packings(scripts, [target], merges=False)[target.name]
    assert [each.broker_config for each in broker_groups(scripts, target.capabilities, packing)] == configs


def test_a_target_of_a_profile_that_nobody_knows_shares_no_configured_broker() -> None:
    scripts = [each for each in SUITES if asked_config(each) and not each.needs][:2]
    target = KafkaTarget("3.9.2", profile="0.9")
    (packing,) = packings(scripts, [target]).values()
    found = broker_groups(scripts, target.capabilities, packing)
    assert [len(each.scripts) for each in found] == [1, 1]

"""What a broker does not report is taken from one place: by the reference, and by the choice of scenarios."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from harness.runner.applicable import why_not_applicable
from harness.scenario.fitting import fitted
from harness.targets.base.interface import ApiRange, BrokerDescription
from harness.targets.external.settings import noted, read_assumed, settings_of
from harness.targets.external.stated import Stated, StatedError, parse_assumed
from harness.targets.external.target import ExternalTarget
from harness.targets.reference.capabilities import USUAL_CONFIG
from harness.targets.reference.oracle import oracle_for
from harness.tests.completed_runs import catalogue
from harness.tests.made_events import BARE_BROKER
from harness.wire.schema import api_key
from reference_coordinator.profile.config import GroupCoordinatorConfig

SHARE, LISTS = ApiRange(api_key=76, min_version=1, max_version=1), api_key("ListConfigResources")
CONFIGURABLE = ApiRange(api_key=LISTS, min_version=0, max_version=1)
INTERVAL = "group.consumer.assignment.interval.ms"


def described(
    profile: str,
    *,
    reported: Mapping[str, str] | None = None,
    features: Mapping[str, int] | None = None,
    served: tuple[ApiRange, ...] = (),
    stated: Mapping[str, str] | None = None,
) -> BrokerDescription:
    found = settings_of(
        reported or {},
        profile=profile,
        stated=Stated(assumed=stated or {}),
        features=features or {},
        api_ranges=served,
    )
    return replace(
        BARE_BROKER,
        spec="external:127.0.0.1:9092",
        profile=profile,
        broker_config=found.config,
        assumed=found.assumed,
        notes=tuple(noted(found.assumed)),
    )


def of_the_reference(description: BrokerDescription) -> GroupCoordinatorConfig:
    target = ExternalTarget("127.0.0.1", 9092, profile=description.profile)
    oracle = oracle_for(target, description)
    return GroupCoordinatorConfig.from_properties({**USUAL_CONFIG, **oracle.base_config})


@pytest.mark.parametrize(
    ("profile", "features", "served", "is_on"),
    [
        ("4.1", {}, (SHARE,), True),
        ("4.1", {}, (), False),
        ("4.1", {"metadata.version": 25, "share.version": 1}, (SHARE,), True),
        # Kafka 4.1 advertises the API whether share groups are on or not.
        ("4.1", {"metadata.version": 25, "group.version": 1}, (SHARE,), False),
        ("4.1", {"transaction.version": 2}, (SHARE,), True),
    ],
)
def test_share_groups_are_as_features_show_and_else_apis(
    *, profile: str, features: Mapping[str, int], served: tuple[ApiRange, ...], is_on: bool
) -> None:
    config = of_the_reference(described(profile, features=features, served=served))
    assert config.group_share_enable == is_on


def test_a_level_that_the_reference_does_not_know_is_left_out() -> None:
    assert "share.version" not in described("4.4", features={"share.version": 9}).broker_config


def test_levels_of_features_are_those_of_the_cluster() -> None:
    config = described("4.4", features={"metadata.version": 30, "group.version": 1}).broker_config
    levels = {name: config.get(name) for name in ("group.version", "share.version", "streams.version")}
    assert levels == {"group.version": "1", "share.version": "0", "streams.version": "0"}


@pytest.mark.parametrize(
    ("served", "stated", "interval_ms", "is_configured"),
    [
        ((CONFIGURABLE,), {}, 1000, True),
        ((), {}, 0, False),
        ((CONFIGURABLE,), {INTERVAL: "0"}, 0, False),
    ],
)
def test_the_reference_and_the_scripts_have_the_same_assignment_interval(
    *, served: tuple[ApiRange, ...], stated: Mapping[str, str], interval_ms: int, is_configured: bool
) -> None:
    broker = described("4.4", served=served, stated=stated)
    script = next(each for each in catalogue().values() if each.apis == ("ConsumerGroupHeartbeat",))
    assert of_the_reference(broker).group_consumer_assignment_interval_ms == interval_ms
    steps = fitted(script, broker.broker_config).apis
    assert ("IncrementalAlterConfigs" in steps) == is_configured


def test_who_describes_its_configuration_without_an_interval_assigns_at_once() -> None:
    broker = described("4.4", reported={"group.max.size": "50"}, served=(CONFIGURABLE,))
    assert broker.assumed[INTERVAL] == "0"


def test_kafkas_default_is_assumed_by_the_choice_of_scenarios_too() -> None:
    broker = described("3.0")
    assert broker.broker_config["group.min.session.timeout.ms"] == "6000"
    assert "group.consumer.max.size" not in broker.broker_config
    scripts = catalogue()
    short = fitted(scripts["classic/sync/leader-expires"], broker.broker_config)
    assert short.broker_config["group.min.session.timeout.ms"] == "6000"


def test_what_is_stated_wins_over_what_is_reported() -> None:
    broker = described("3.9", reported={"group.max.size": "50"}, stated={"group.max.size": "2"})
    assert broker.broker_config["group.max.size"] == "2"
    assert of_the_reference(broker).group_max_size == 2


def test_a_scenario_that_needs_another_value_than_the_assumed_says_how_to_state_it() -> None:
    script = next(each for each in catalogue().values() if each.broker_config == {"group.max.size": "2"})
    ranges = tuple(
        ApiRange(api_key=api_key(api), min_version=0, max_version=99) for api, _ in script.api_versions
    )
    broker = replace(described("3.9"), api_ranges=ranges)
    reason = why_not_applicable(script, (), broker)
    assert reason is not None
    assert reason.endswith("2147483647, which is assumed; --assume group.max.size=VALUE states another")
    stated = replace(described("3.9", stated={"group.max.size": "2"}), api_ranges=ranges)
    assert why_not_applicable(script, (), stated) is None


def test_the_notes_list_what_was_assumed() -> None:
    broker = described("3.9", reported={"group.max.size": "50"})
    assert read_assumed(broker.notes) == broker.assumed
    assert "group.max.size" not in broker.assumed
    assert not noted({})


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("group.max.size", "states nothing; write for instance"),
        ("group.max.sise=2", "unknown property 'group.max.sise'"),
        ("group.max.size=plenty", "--assume group.max.size=plenty: "),
    ],
)
def test_a_statement_that_kafka_has_no_meaning_for_is_refused(text: str, why: str) -> None:
    with pytest.raises(StatedError, match=why):
        parse_assumed([text])

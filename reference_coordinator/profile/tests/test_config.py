import pytest

from reference_coordinator.profile.config import GroupCoordinatorConfig
from reference_coordinator.profile.properties import ConfigError


def test_what_is_left_out_has_kafkas_default() -> None:
    config = GroupCoordinatorConfig.from_properties({})

    assert config.group_initial_rebalance_delay_ms == 3_000
    assert config.group_min_session_timeout_ms == 6_000
    assert config.group_max_session_timeout_ms == 1_800_000
    assert config.group_max_size == 2**31 - 1
    assert config.offsets_retention_ms == 7 * 24 * 60 * 60 * 1000
    assert config.offset_metadata_max_bytes == 4_096
    assert config.offsets_topic_num_partitions == 50


def test_properties_go_by_kafkas_names_and_are_trimmed() -> None:
    config = GroupCoordinatorConfig.from_properties(
        {"group.max.size": " 4 ", "group.initial.rebalance.delay.ms": "+0"}
    )

    assert config.group_max_size == 4
    assert config.group_initial_rebalance_delay_ms == 0


def test_an_unknown_property_is_refused_with_the_one_that_was_meant() -> None:
    with pytest.raises(ConfigError, match=r"group\.maxsize.*Did you mean group\.max\.size"):
        GroupCoordinatorConfig.from_properties({"group.maxsize": "4"})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("group.max.size", "0"),
        ("group.max.size", "2147483648"),
        ("offsets.retention.minutes", "0"),
        ("offsets.retention.check.interval.ms", "0"),
        ("offsets.topic.num.partitions", "0"),
    ],
)
def test_a_value_out_of_kafkas_bounds_is_refused(name: str, value: str) -> None:
    with pytest.raises(ConfigError, match=f"{name} is {value}, which Kafka refuses"):
        GroupCoordinatorConfig.from_properties({name: value})


@pytest.mark.parametrize("value", ["", "four", "1_000", "4.0", "1e3"])
def test_a_value_that_is_no_integer_is_refused(value: str) -> None:
    with pytest.raises(ConfigError, match="not an integer"):
        GroupCoordinatorConfig.from_properties({"group.max.size": value})


def test_kafka_bounds_the_session_timeouts_by_nothing() -> None:
    config = GroupCoordinatorConfig.from_properties({"group.min.session.timeout.ms": "-5"})

    assert config.group_min_session_timeout_ms == -5


def test_assignors_may_be_named_by_their_classes() -> None:
    package = "org.apache.kafka.coordinator.group.assignor"
    properties = {"group.consumer.assignors": f"{package}.RangeAssignor,uniform"}
    assert GroupCoordinatorConfig.from_properties(properties).group_consumer_assignors == ("range", "uniform")

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


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("group.maxsize", "4", r"group\.maxsize.*Did you mean group\.max\.size"),
        ("group.max.size", "0", "group.max.size is 0, which Kafka refuses"),
        ("group.max.size", "2147483648", "group.max.size is 2147483648, which Kafka refuses"),
        ("offsets.retention.minutes", "0", "offsets.retention.minutes is 0, which Kafka refuses"),
        (
            "offsets.retention.check.interval.ms",
            "0",
            "offsets.retention.check.interval.ms is 0, which Kafka refuses",
        ),
        ("offsets.topic.num.partitions", "0", "offsets.topic.num.partitions is 0, which Kafka refuses"),
        *(("group.max.size", value, "not an integer") for value in ("", "four", "1_000", "4.0", "1e3")),
    ],
)
def test_a_property_that_cannot_be_is_refused_with_the_reason(name: str, value: str, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        GroupCoordinatorConfig.from_properties({name: value})


def test_kafka_bounds_the_session_timeouts_by_nothing() -> None:
    config = GroupCoordinatorConfig.from_properties({"group.min.session.timeout.ms": "-5"})

    assert config.group_min_session_timeout_ms == -5


def test_assignors_may_be_named_by_their_classes() -> None:
    package = "org.apache.kafka.coordinator.group.assignor"
    properties = {"group.consumer.assignors": f"{package}.RangeAssignor,uniform"}
    assert GroupCoordinatorConfig.from_properties(properties).group_consumer_assignors == ("range", "uniform")


def test_every_property_of_a_broker_is_known_to_be_used_or_not() -> None:
    stock = ("offsets.topic.replication.factor", "group.share.assignors", "group.max.size", "group.max.sise")

    assert GroupCoordinatorConfig.unused(stock) == (
        "group.share.assignors",
        "offsets.topic.replication.factor",
    )

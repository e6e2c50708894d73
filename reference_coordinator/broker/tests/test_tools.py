"""What tools are answered, as live brokers of 3.9.2 and 4.4.0 answered them."""

from typing import Any

import pytest

from reference_coordinator.core.errors import Errors
from reference_coordinator.tests.wire_broker import WireBroker, WireClient, connected
from reference_coordinator.tests.wire_tools import (
    APPEND,
    BROKER,
    DELETE,
    SET,
    SUBTRACT,
    TOPIC,
    alter,
    create,
    described,
    places,
    values,
)


@pytest.fixture(name="client")
def client_of_a_broker() -> WireClient:
    return connected("4.4.0")


CLASSIC_ONLY = {"group.coordinator.rebalance.protocols": "classic"}
WITHOUT_FEATURE = {"group.version": "0"}


@pytest.mark.parametrize(
    ("profile", "version", "properties"),
    [
        ("3.7.2", 0, {}),
        ("3.9.2", 0, {}),
        ("3.9-java", 0, {}),
        ("4.4.0", 1, CLASSIC_ONLY),
        ("4.4.0", 1, WITHOUT_FEATURE),
    ],
)
def test_a_heartbeat_of_kip_848_is_refused(profile: str, version: int, properties: dict[str, str]) -> None:
    client = WireBroker(profile, **properties).connect()

    answer = client.ask("consumer_group_heartbeat", version, group_id="g", member_id="m", member_epoch=0)

    assert answer.error_code == Errors.UNSUPPORTED_VERSION
    assert (answer.member_id, answer.member_epoch, answer.assignment) == (None, 0, None)


@pytest.mark.parametrize(("profile", "version", "properties"), [("3.9", 0, {}), ("4.4", 1, CLASSIC_ONLY)])
def test_a_description_of_kip_848_is_refused_for_each_group(
    profile: str, version: int, properties: dict[str, str]
) -> None:
    client = WireBroker(profile, **properties).connect()
    answer = client.ask("consumer_group_describe", version, group_ids=("g", "h", "g"))

    assert [(each.group_id, each.error_code) for each in answer.groups] == [
        ("g", Errors.UNSUPPORTED_VERSION),
        ("h", Errors.UNSUPPORTED_VERSION),
        ("g", Errors.UNSUPPORTED_VERSION),
    ]


def test_a_topic_without_a_number_has_the_brokers() -> None:
    broker = WireBroker("3.9", num_partitions="4")

    assert create(broker.connect()).num_partitions == 4


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("nonsense", "1", "Unknown topic config name: nonsense"),
        (
            "retention.ms",
            "abc",
            "Invalid value abc for configuration retention.ms: Not a number of type LONG",
        ),
        ("retention.ms", None, "Null value not supported for topic configs: retention.ms"),
        (
            "max.message.bytes",
            "-5",
            "Invalid value -5 for configuration max.message.bytes: Value must be at least 0",
        ),
        (
            "cleanup.policy",
            "nope",
            "Invalid value nope for configuration cleanup.policy: String must be one of: compact, delete",
        ),
    ],
)
def test_a_configuration_that_no_topic_has_is_refused(
    client: WireClient, name: str, text: str | None, message: str
) -> None:
    created = create(client, configs=({"name": name, "value": text},))

    assert (created.error_code, created.error_message) == (Errors.INVALID_CONFIG, message)


@pytest.mark.parametrize(("profile", "count"), [("2.4.1", 26), ("2.8.2", 26), ("3.3.2", 29), ("3.6.2", 31)])
def test_a_release_has_as_many_configurations_of_topics_as_it_was_seen_to_have(
    profile: str, count: int
) -> None:
    client = WireBroker(profile).connect()
    newest = client.broker.listener.ranges
    version = max(each.max_version for api, each in newest.items() if api.name == "DESCRIBE_CONFIGS")
    resource = {"resource_type": TOPIC, "resource_name": "orders", "configuration_keys": None}

    (result,) = client.ask("describe_configs", version, resources=(resource,)).results

    assert len(result.configs) == count


def test_a_topic_is_configured_and_reported(client: WireClient) -> None:
    create(client, configs=({"name": "cleanup.policy", "value": "compact"},))
    assert values(client, "cleanup.policy", "retention.ms") == {
        "cleanup.policy": ("compact", 1),
        "retention.ms": ("604800000", 5),
    }

    assert alter(client, ("cleanup.policy", APPEND, "delete"), ("retention.ms", SET, "5")).error_code == 0
    assert values(client, "cleanup.policy")["cleanup.policy"] == ("compact,delete", 1)
    alter(client, ("cleanup.policy", SUBTRACT, "compact"), ("retention.ms", DELETE, None))
    assert values(client, "cleanup.policy", "retention.ms") == {
        "cleanup.policy": ("delete", 1),
        "retention.ms": ("604800000", 5),
    }


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (("retention.ms", APPEND, "5"), Errors.INVALID_CONFIG),
        (("retention.ms", 7, "5"), Errors.UNKNOWN_SERVER_ERROR),
        (("retention.ms", SET, None), Errors.INVALID_REQUEST),
        (("nonsense", SET, "5"), Errors.INVALID_CONFIG),
        (("retention.ms", SET, "abc"), Errors.INVALID_CONFIG),
    ],
)
def test_a_change_that_is_none_is_refused(
    client: WireClient, change: tuple[str, int, str | None], error: Errors
) -> None:
    create(client)

    assert alter(client, change).error_code == error


def test_a_change_is_only_tried_or_for_nobody(client: WireClient) -> None:
    create(client)

    assert alter(client, ("retention.ms", SET, "5"), validate_only=True).error_code == Errors.NONE
    assert values(client, "retention.ms") == {"retention.ms": ("604800000", 5)}
    missing = alter(client, ("retention.ms", SET, "5"), name="missing")
    assert missing.error_code == Errors.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize(
    ("name", "first", "last_without"),
    [
        ("group.share.session.timeout.ms", "3.9.0", "3.8.1"),
        ("group.share.enable", "4.1.0", "4.0.2"),
        ("group.share.max.share.sessions", "4.1.0", "4.0.2"),
        ("group.streams.session.timeout.ms", "4.1.0", "4.0.2"),
        ("group.streams.initial.rebalance.delay.ms", "4.2.0", "4.1.2"),
        ("group.share.assignment.interval.ms", "4.3.0", "4.2.1"),
        ("group.streams.rack.aware.assignment.tags", "4.4.0", "4.3.1"),
    ],
)
def test_a_broker_describes_a_property_from_its_first_release_on(
    name: str, first: str, last_without: str
) -> None:
    assert [_described_properties(release) & {name} for release in (last_without, first)] == [set(), {name}]


@pytest.mark.parametrize(
    "name", ["group.share.enable", "group.share.initialize.retry.interval.ms", "unstable.api.versions.enable"]
)
def test_a_broker_of_4_4_does_not_describe_internal_properties(name: str) -> None:
    assert name not in _described_properties("4.4.0")


def _described_properties(release: str) -> set[str]:
    (broker,) = described(connected(release), (BROKER, "1", None))
    return {each.name for each in broker.configs}


def test_transactions_are_listed_and_described(client: WireClient) -> None:
    client.ask("find_coordinator", 1, key="tx", key_type=1)
    producer = client.ask("init_producer_id", 4, transactional_id="tx", transaction_timeout=60_000)

    (listed,) = client.ask("list_transactions", 2, state_filters=("Empty", "Sleepy")).transaction_states
    reported = client.ask("list_transactions", 2, transactional_id_pattern="t.*")
    invalid = client.ask("list_transactions", 2, transactional_id_pattern="[")
    of_producer = {"transactional_id": "tx", "producer_id": producer.producer_id, "producer_epoch": 0}
    partitions = ({"name": "orders", "partitions": (1, 0)},)
    old = {f"v3_and_below_{name}": each for name, each in of_producer.items()}
    client.ask("add_partitions_to_txn", 3, **old, v3_and_below_topics=partitions)
    known, unknown, nameless = client.ask(
        "describe_transactions", 0, transactional_ids=("tx", "none", "")
    ).transaction_states

    assert (listed.transactional_id, listed.producer_id) == ("tx", producer.producer_id)
    assert len(reported.transaction_states) == 1
    assert invalid.error_code == Errors.INVALID_REGULAR_EXPRESSION
    assert (known.transaction_state, known.producer_epoch) == ("Ongoing", 0)
    assert [(each.topic, each.partitions) for each in known.topics] == [("orders", (0, 1))]
    assert unknown.error_code == Errors.TRANSACTIONAL_ID_NOT_FOUND
    assert nameless.error_code == Errors.INVALID_REQUEST


@pytest.mark.parametrize(
    ("assignments", "error"),
    [
        (places((0, (1,)), (1, (1,)), (2, (1,))), Errors.NONE),
        (places((0, (1,)), (2, (1,))), Errors.INVALID_REPLICA_ASSIGNMENT),
        (places((0, (9,))), Errors.INVALID_REPLICA_ASSIGNMENT),
        (places((0, (1, 1))), Errors.INVALID_REPLICA_ASSIGNMENT),
        (places((0, ())), Errors.INVALID_REPLICA_ASSIGNMENT),
        (places((0, (1,)), (0, (1,))), Errors.INVALID_REPLICA_ASSIGNMENT),
    ],
)
def test_a_topic_may_be_assigned_by_hand(
    client: WireClient, assignments: tuple[dict[str, Any], ...], error: Errors
) -> None:
    created = create(client, assignments=assignments)

    assert created.error_code == error
    assert created.num_partitions == (len(assignments) if error is Errors.NONE else -1)


def test_an_assignment_by_hand_leaves_numbers_out(client: WireClient) -> None:
    by_hand = places((0, (1,)))

    assert create(client, assignments=by_hand, num_partitions=1).error_code == Errors.INVALID_REQUEST
    assert create(client, assignments=by_hand, replication_factor=1).error_code == Errors.INVALID_REQUEST

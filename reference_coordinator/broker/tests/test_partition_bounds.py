"""How many partitions one request may create: probed on Kafka 3.9.2, 4.0.0 and 4.4.0."""

from typing import Any

import pytest

from reference_coordinator.core.errors import Errors
from reference_coordinator.tests.wire_broker import WireBroker

TOO_MANY = "Excessively large number of partitions per request."
TOO_MANY_RECORDS = "Unable to perform excessively large batch operation."


def tried(broker: WireBroker, *topics: Any) -> set[tuple[int, str | None]]:  # noqa: ANN401
    """The errors of topics that are not created, with their messages."""
    answer = broker.connect().ask("create_topics", 5, topics=topics, timeout=1000, validate_only=True)
    return {(topic.error_code, topic.error_message) for topic in answer.topics}


@pytest.mark.parametrize(
    ("counts", "error", "message"),
    [
        ((9_999,), Errors.NONE, None),
        ((10_000,), Errors.POLICY_VIOLATION, TOO_MANY_RECORDS),
        ((10_001,), Errors.POLICY_VIOLATION, TOO_MANY),
        ((6_000, 6_000), Errors.POLICY_VIOLATION, TOO_MANY),
    ],
)
def test_a_request_creates_so_many_partitions(
    counts: tuple[int, ...], error: Errors, message: str | None
) -> None:
    topics = [
        {"name": f"t{number}", "num_partitions": count, "replication_factor": 1}
        for number, count in enumerate(counts)
    ]

    assert tried(WireBroker("3.9"), *topics) == {(error, message)}


def test_configurations_count_as_records_and_assignments_as_partitions() -> None:
    broker = WireBroker("4.4")
    configs = ({"name": "retention.ms", "value": "1"},)
    places = tuple({"partition_index": number, "broker_ids": (1,)} for number in range(10_001))
    configured: Any = {"name": "t", "num_partitions": 9_999, "replication_factor": 1, "configs": configs}
    assigned: Any = {"name": "t", "num_partitions": -1, "replication_factor": -1, "assignments": places}

    assert tried(broker, configured) == {(Errors.POLICY_VIOLATION, TOO_MANY_RECORDS)}
    assert tried(broker, assigned) == {(Errors.POLICY_VIOLATION, TOO_MANY)}


@pytest.mark.parametrize(
    ("count", "error"), [(10_003, Errors.NONE), (10_004, Errors.POLICY_VIOLATION), (2**31 - 1, 44)]
)
def test_a_request_adds_so_many_partitions(count: int, error: int) -> None:
    """The topic has three of them."""
    topic: Any = {"name": "orders", "count": count, "assignments": None}
    client = WireBroker("4.4").connect()

    answer = client.ask("create_partitions", 1, topics=(topic,), timeout=1000, validate_only=True)

    assert [each.error_code for each in answer.results] == [error]

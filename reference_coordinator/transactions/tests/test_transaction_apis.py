"""Transactions over the wire: frames in, frames out."""

import pytest

from reference_coordinator.core.errors import Errors
from reference_coordinator.tests.wire_broker import WireBroker, elected
from reference_coordinator.tests.wire_producer import Producer


@pytest.mark.parametrize("profile", ["2.4", "2.8.2", "3.9", "4.4"])
def test_a_transaction_brings_its_offsets(profile: str) -> None:
    producer = Producer(WireBroker(profile))

    assert producer.add() == Errors.NONE
    assert producer.commit() == [Errors.NONE]
    assert producer.fetch() == -1
    assert producer.end() == Errors.NONE
    assert producer.fetch() == 42


@pytest.mark.parametrize(
    ("profile", "version", "error"),
    [
        ("3.6", 2, Errors.NONE),
        ("3.7", 2, Errors.INVALID_TXN_STATE),
        ("3.8", 4, Errors.TRANSACTION_ABORTABLE),
        ("4.4", 3, Errors.INVALID_TXN_STATE),
        ("4.4", 5, Errors.NONE),
    ],
)
def test_a_group_that_was_not_announced_is_found_out_from_3_7_on(
    profile: str, version: int, error: Errors
) -> None:
    assert Producer(WireBroker(profile)).commit(version) == [error]


def test_from_v5_on_a_commit_announces_its_group() -> None:
    producer = Producer(WireBroker("4.4"))
    producer.commit(5)

    ended = producer.client.ask("end_txn", 5, committed=True, **producer.names)

    assert (ended.error_code, ended.producer_epoch) == (Errors.NONE, 1)
    assert producer.fetch() == 42
    assert producer.commit(5) == [Errors.INVALID_PRODUCER_EPOCH]


@pytest.mark.parametrize(
    ("profile", "first", "later"),
    [
        ("3.6", Errors.NONE, Errors.NONE),
        ("3.9", Errors.INVALID_PRODUCER_EPOCH, Errors.NONE),
        ("4.4", Errors.INVALID_PRODUCER_EPOCH, Errors.INVALID_PRODUCER_EPOCH),
    ],
)
def test_a_future_epoch_is_found_out_at_the_first_commit_and_from_4_0_on_at_each(
    profile: str, first: Errors, later: Errors
) -> None:
    producer = Producer(WireBroker(profile))
    producer.add()

    assert producer.commit(producer_epoch=1) == [first]
    other = Producer(WireBroker(profile))
    other.add()
    other.commit()
    assert other.commit(producer_epoch=1) == [later]


def test_a_producer_that_barred_itself_never_ends() -> None:
    producer = Producer(WireBroker("3.9"))
    producer.add()
    producer.commit()
    producer.commit(producer_epoch=1)

    assert producer.commit() == [Errors.INVALID_PRODUCER_EPOCH]
    assert producer.end() == Errors.NONE
    assert producer.end() == Errors.CONCURRENT_TRANSACTIONS


@pytest.mark.parametrize(
    ("api", "version", "error"),
    [
        ("add", 1, Errors.INVALID_PRODUCER_EPOCH),
        ("add", 2, Errors.PRODUCER_FENCED),
        ("end", 1, Errors.INVALID_PRODUCER_EPOCH),
        ("end", 2, Errors.PRODUCER_FENCED),
    ],
)
def test_a_wrong_epoch_is_reported_as_the_version_knows_it(api: str, version: int, error: Errors) -> None:
    producer = Producer(WireBroker("3.9"))

    reported = (
        producer.add(version, producer_epoch=9) if api == "add" else producer.end(version, producer_epoch=9)
    )

    assert reported == error


@pytest.mark.parametrize(
    ("version", "error"), [(3, Errors.INVALID_PRODUCER_EPOCH), (4, Errors.PRODUCER_FENCED)]
)
def test_a_fenced_start_is_reported_as_the_version_knows_it(version: int, error: Errors) -> None:
    producer = Producer(WireBroker("3.9"))

    reported = producer.client.ask(
        "init_producer_id",
        version,
        transactional_id="x",
        transaction_timeout=60_000,
        producer_id=producer.names["producer_id"],
        producer_epoch=9,
    )

    assert reported.error_code == error


def test_half_a_producer_is_no_request() -> None:
    client = WireBroker("3.9").connect()

    reported = client.ask(
        "init_producer_id", 3, transactional_id="x", transaction_timeout=1, producer_id=7, producer_epoch=-1
    )

    assert (reported.error_code, reported.producer_id, reported.producer_epoch) == (
        Errors.INVALID_REQUEST,
        -1,
        -1,
    )


def test_before_somebody_looked_for_it_there_is_no_transaction_coordinator() -> None:
    broker = elected("4.4")
    client = broker.connect()

    reported = client.ask("init_producer_id", 1, transactional_id="x", transaction_timeout=60_000)

    assert reported.error_code == Errors.NOT_COORDINATOR


def test_a_client_may_write_the_end_itself() -> None:
    producer = Producer(WireBroker("4.1", offsets_topic_num_partitions="1"))
    producer.add()
    producer.commit()

    assert producer.write_marker() == Errors.NONE
    assert producer.fetch() == 42
    assert producer.write_marker(topic="orders") == Errors.NONE
    assert producer.write_marker(partition=1) == Errors.UNKNOWN_TOPIC_OR_PARTITION


def test_markers_are_answered_once_a_producer_and_partition() -> None:
    client = WireBroker("4.1").connect()
    missing = ({"name": "missing", "partition_indexes": (1, 2, 1)},)
    marker = {"producer_epoch": 0, "transaction_result": True, "coordinator_epoch": 0}

    reported = client.ask(
        "write_txn_markers",
        1,
        markers=(
            marker | {"producer_id": 7, "topics": missing},
            marker | {"producer_id": 7, "topics": missing},
            marker | {"producer_id": 8, "topics": ()},
        ),
    )

    assert [
        (each.producer_id, [[one.partition_index for one in topic.partitions] for topic in each.topics])
        for each in reported.markers
    ] == [(7, [[1, 2]])]


@pytest.mark.parametrize(
    ("profile", "answered"), [("3.9", Errors.NONE), ("4.4", Errors.NOT_LEADER_OR_FOLLOWER)]
)
def test_while_the_group_loads_its_markers_wait_in_java(profile: str, answered: Errors) -> None:
    broker = WireBroker(profile, offsets_topic_num_partitions="1")
    producer = Producer(broker)
    producer.add()
    producer.commit()
    broker.restart(pause_at_loading=True)
    producer.client = broker.connect()

    assert producer.end() == Errors.NONE
    assert producer.write_marker() == answered
    broker.resume_from_loading()

    assert producer.fetch() == 42
    assert producer.add() == Errors.NONE


@pytest.mark.parametrize(
    ("profile", "version", "error"),
    [
        ("2.5", 1, Errors.COORDINATOR_LOAD_IN_PROGRESS),
        ("2.6", 1, Errors.COORDINATOR_NOT_AVAILABLE),
        ("4.4", 0, Errors.COORDINATOR_NOT_AVAILABLE),
        ("4.4", 2, Errors.COORDINATOR_LOAD_IN_PROGRESS),
    ],
)
def test_old_producers_are_not_reported_the_load(profile: str, version: int, error: Errors) -> None:
    broker = WireBroker(profile, offsets_topic_num_partitions="1")
    producer = Producer(broker)
    producer.add()
    broker.restart(pause_at_loading=True)
    producer.client = broker.connect()

    assert producer.commit(version) == [error]


def test_partitions_that_do_not_exist_are_refused_beside_others() -> None:
    producer = Producer(WireBroker("4.4"))
    producer.add()
    partitions = tuple(
        {"partition_index": index, "committed_offset": 1, "committed_metadata": ""} for index in (9, 0)
    )

    reported = producer.commit(
        topics=({"name": "orders", "partitions": partitions}, {"name": "none", "partitions": partitions})
    )

    unknown = Errors.UNKNOWN_TOPIC_OR_PARTITION
    assert sorted(reported) == sorted([unknown, Errors.NONE, unknown, unknown])
    assert producer.commit(topics=({"name": "none", "partitions": partitions},)) == [unknown, unknown]


def test_a_deleted_topic_takes_its_offsets_along_and_comes_back_as_another() -> None:
    broker = WireBroker("4.4")
    producer = Producer(broker)
    producer.add()
    producer.commit()
    producer.end()
    client = producer.client
    former = client.ask("metadata", 12, topics=None).topics[0].topic_id

    reported = client.ask("delete_topics", 1, topic_names=("orders", "none"), timeout=1)
    topic = {"name": "orders", "num_partitions": 3, "replication_factor": 1, "assignments": (), "configs": ()}
    client.ask("create_topics", 4, topics=(topic,), timeout=1)

    assert [each.error_code for each in reported.responses] == [
        Errors.NONE,
        Errors.UNKNOWN_TOPIC_OR_PARTITION,
    ]
    assert producer.fetch() == -1
    topics = {each.name: each.topic_id for each in client.ask("metadata", 12, topics=None).topics}
    assert topics["orders"] != former
    by_id = client.ask("delete_topics", 6, topics=({"name": None, "topic_id": former},), timeout=1)
    assert by_id.responses[0].error_code == Errors.UNKNOWN_TOPIC_ID


def test_a_topic_that_is_named_twice_in_one_request_is_refused_once_and_stays() -> None:
    client = WireBroker("4.4").connect()
    topics = {each.name: each.topic_id for each in client.ask("metadata", 12, topics=None).topics}

    def refused(*asked: tuple[str | None, object]) -> list[tuple[str | None, object, Errors]]:
        named = tuple({"name": name, "topic_id": topic_id} for name, topic_id in asked)
        reported = client.ask("delete_topics", 6, topics=named, timeout=1).responses
        return [(each.name, each.topic_id, each.error_code) for each in reported]

    orders, invalid = topics["orders"], Errors.INVALID_REQUEST
    assert refused(("orders", None), ("orders", None)) == [("orders", None, invalid)]
    assert refused((None, orders), (None, orders)) == [(None, orders, invalid)]
    assert refused(("orders", None), (None, orders)) == [("orders", orders, invalid)]
    assert refused(("orders", orders)) == [("orders", orders, invalid)]
    assert refused((None, None)) == [(None, None, invalid)]
    assert {each.name for each in client.ask("metadata", 12, topics=None).topics} == set(topics)

"""Topics of a cluster: one broker leads them, the others say so, and logs outlive who led them."""

from reference_coordinator.core.errors import Errors
from reference_coordinator.tests.wire_cluster import ClusterClient, WireCluster
from reference_coordinator.tests.wire_topic_client import batch, one, values_of


def produce(client: ClusterClient, records: bytes, *, transactional_id: str | None = None) -> int:
    answer = client.ask(
        "produce",
        9,
        acks=-1,
        transactional_id=transactional_id,
        topic_data=one("orders", 0, records),
    )
    error: int = answer.responses[0].partition_responses[0].error_code
    return error


def send_fetch(client: ClusterClient, *, max_wait: int = 0) -> None:
    wanted = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1_000, "current_leader_epoch": -1}
    topics = ({"topic": "orders", "partitions": (wanted,)},)
    client.send("fetch", 11, max_wait=max_wait, min_bytes=1, isolation_level=1, topics=topics)


def fetched(client: ClusterClient) -> tuple[int, list[bytes]]:
    answer = client.take("fetch", 11).responses[0].partitions[0]
    return answer.error_code, values_of(answer.records)


def test_who_does_not_lead_a_topic_says_so_as_its_metadata_do() -> None:
    cluster = WireCluster()
    leader, other = cluster.client(1), cluster.client(2)
    partitions = other.ask("metadata", 7, topics=({"name": "orders"},)).topics[0].partitions

    assert {each.leader_id for each in partitions} == {1}
    assert produce(other, batch(b"a")) == Errors.NOT_LEADER_OR_FOLLOWER
    assert produce(leader, batch(b"a")) == Errors.NONE
    send_fetch(other, max_wait=500)
    assert fetched(other) == (Errors.NOT_LEADER_OR_FOLLOWER, [])


def test_the_next_leader_has_what_was_written_to_the_one_before() -> None:
    cluster = WireCluster()
    produce(cluster.client(1), batch(b"a"))

    cluster.kill(1)

    heir = cluster.client(2)
    send_fetch(heir)
    assert fetched(heir) == (Errors.NONE, [b"a"])
    assert produce(heir, batch(b"b")) == Errors.NONE


def test_a_transaction_that_ends_elsewhere_wakes_who_waits_for_it() -> None:
    cluster = WireCluster()
    cluster.move(2)
    coordinator, leader, reader = cluster.client(2), cluster.client(1), cluster.client(1)
    reported = coordinator.ask("init_producer_id", 1, transactional_id="x", transaction_timeout=60_000)
    names = {
        "producer_id": reported.producer_id,
        "producer_epoch": reported.producer_epoch,
        "transactional_id": "x",
    }
    coordinator.ask(
        "add_partitions_to_txn",
        3,
        v3_and_below_topics=({"name": "orders", "partitions": (0,)},),
        **{f"v3_and_below_{name}": value for name, value in names.items()},
    )
    producer = (reported.producer_id, reported.producer_epoch)
    records = batch(b"a", producer=producer, sequence=0, is_transactional=True)
    assert produce(leader, records, transactional_id="x") == Errors.NONE
    send_fetch(reader, max_wait=500)
    assert reader.frames() == []

    coordinator.ask("end_txn", 1, committed=True, **names)

    assert fetched(reader) == (Errors.NONE, [b"a"])


def test_a_transaction_is_aborted_in_time_by_who_coordinates_it_then() -> None:
    cluster = WireCluster()
    coordinator = cluster.client(1)
    reported = coordinator.ask("init_producer_id", 1, transactional_id="x", transaction_timeout=1_000)
    names = {
        "producer_id": reported.producer_id,
        "producer_epoch": reported.producer_epoch,
        "transactional_id": "x",
    }
    coordinator.ask("add_offsets_to_txn", 1, group_id="g", **names)
    cluster.move(2)

    cluster.elapse(1_001)

    late = cluster.client(2).ask("end_txn", 1, committed=True, **names)
    assert late.error_code == Errors.INVALID_PRODUCER_EPOCH
    assert cluster.cluster.state.transactions.timeouts == {}

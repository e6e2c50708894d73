"""Topics of a cluster: one broker leads them, the others say so, and logs outlive who led them."""

from reference_coordinator.core.errors import Errors
from reference_coordinator.tests.wire_cluster import WireCluster
from reference_coordinator.tests.wire_producer import Producer
from reference_coordinator.tests.wire_topic_client import TopicConnection, batch, values_of


def fetched(reader: TopicConnection) -> tuple[int, list[bytes]]:
    answer = reader.fetched()
    return answer.error_code, values_of(answer.records)


def test_who_does_not_lead_a_topic_says_so_as_its_metadata_do() -> None:
    cluster = WireCluster()
    leader, other = (TopicConnection(cluster.client(each)) for each in (1, 2))
    partitions = other.client.ask("metadata", 7, topics=({"name": "orders"},)).topics[0].partitions

    assert {each.leader_id for each in partitions} == {1}
    assert other.produce(batch(b"a")).error is Errors.NOT_LEADER_OR_FOLLOWER
    assert leader.produce(batch(b"a")).error is Errors.NONE
    other.send_fetch(max_wait=500)
    assert fetched(other) == (Errors.NOT_LEADER_OR_FOLLOWER, [])


def test_the_next_leader_has_what_was_written_to_the_one_before() -> None:
    cluster = WireCluster()
    TopicConnection(cluster.client(1)).produce(batch(b"a"))

    cluster.kill(1)

    heir = TopicConnection(cluster.client(2))
    assert heir.values() == [b"a"]
    assert heir.produce(batch(b"b")).error is Errors.NONE


def test_a_transaction_that_ends_elsewhere_wakes_who_waits_for_it() -> None:
    cluster = WireCluster()
    cluster.move(2)
    coordinator = cluster.client(2)
    producer, reader = Producer(coordinator), TopicConnection(cluster.client(1))
    assert producer.add_partitions() == [Errors.NONE]
    producer.client = cluster.client(1)
    assert producer.write(b"a").error is Errors.NONE
    reader.send_fetch(max_wait=500, isolation_level=1)
    assert reader.client.frames() == []

    producer.client = coordinator
    producer.end()

    assert fetched(reader) == (Errors.NONE, [b"a"])


def test_a_transaction_is_aborted_in_time_by_who_coordinates_it_then() -> None:
    cluster = WireCluster()
    producer = Producer(cluster.client(1), timeout_ms=1_000)
    producer.add()
    cluster.move(2)

    cluster.elapse(1_001)

    producer.client = cluster.client(2)
    assert producer.end() == Errors.INVALID_PRODUCER_EPOCH
    assert cluster.cluster.state.transactions.timeouts == {}

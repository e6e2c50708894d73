"""Three brokers: who coordinates, and what clients see of it when that changes.

Group `g` is in partition 1 of two, group `h` in partition 0.
"""

import pytest

from reference_coordinator.core.errors import Errors
from reference_coordinator.tests.kit import JAVA
from reference_coordinator.tests.wire_cluster import WireCluster
from reference_coordinator.tests.wire_producer import Producer

G, H = 1, 0
TRANSACTION = 1


@pytest.fixture(name="cluster")
def cluster_of_a_family(profile: str) -> WireCluster:
    return WireCluster(profile)


def test_every_broker_names_all_and_who_leads() -> None:
    cluster = WireCluster()
    cluster.move(3, G)

    for node_id in (1, 2, 3):
        client = cluster.client(node_id)
        reported = client.ask("metadata", 7, topics=({"name": "__consumer_offsets"},))
        assert [each.node_id for each in reported.brokers] == [1, 2, 3]
        partitions = reported.topics[0].partitions
        assert [(each.leader_id, each.leader_epoch) for each in partitions] == [(1, 0), (3, 1)]
        assert (client.coordinator("g"), client.coordinator("h")) == (3, 1)
        assert client.coordinator("x", TRANSACTION) == 1


def test_a_broker_that_does_not_lead_says_so(cluster: WireCluster) -> None:
    assert cluster.client(2).heartbeat("m") == Errors.NOT_COORDINATOR
    assert cluster.client(1).heartbeat("m") == Errors.UNKNOWN_MEMBER_ID
    reported = cluster.client(2).ask("list_groups", 2)
    assert (reported.error_code, reported.groups) == (0, ())


def test_a_move_answers_who_is_parked_and_the_new_coordinator_knows_the_members(cluster: WireCluster) -> None:
    ana, bob = cluster.client(1), cluster.client(1)
    member_id = ana.is_member()
    bob.join()
    assert bob.frames() == []

    cluster.move(2)

    assert bob.take("join_group", 3).error_code == Errors.NOT_COORDINATOR
    assert ana.heartbeat(member_id) == Errors.NOT_COORDINATOR
    assert cluster.client(2).heartbeat(member_id) == Errors.NONE
    assert not ana.is_closed


def test_a_move_of_one_partition_leaves_the_other_where_it_is(cluster: WireCluster) -> None:
    in_g, in_h = cluster.client(1).is_member("g"), cluster.client(1).is_member("h")

    cluster.move(2, G)

    assert cluster.client(1).heartbeat(in_h, group_id="h") == Errors.NONE
    assert cluster.client(2).heartbeat(in_g, group_id="g") == Errors.NONE
    assert cluster.client(2).heartbeat(in_h, group_id="h") == Errors.NOT_COORDINATOR


def test_a_coordinator_that_comes_back_has_forgotten_what_it_knew(cluster: WireCluster) -> None:
    member_id = cluster.client(1).is_member()
    cluster.move(2)
    left = cluster.client(2).ask("leave_group", 1, group_id="g", member_id=member_id)
    assert left.error_code == Errors.NONE

    cluster.move(1)

    assert cluster.client(1).heartbeat(member_id) == Errors.UNKNOWN_MEMBER_ID


def test_a_kill_closes_connections_and_another_takes_over(cluster: WireCluster) -> None:
    ana, bob = cluster.client(1), cluster.client(1)
    member_id = ana.is_member()
    assert ana.commit(7, group_id="h") == Errors.NONE
    bob.join()

    cluster.kill(1)

    assert (ana.is_closed, bob.is_closed, bob.frames()) == (True, True, [])
    assert cluster.cluster.coordinator_id == 2
    assert cluster.client(2).heartbeat(member_id) == Errors.NONE
    assert cluster.client(2).committed(group_id="h") == (7, Errors.NONE)
    reported = cluster.client(3).ask("metadata", 7, topics=())
    assert [each.node_id for each in reported.brokers] == [2, 3]


def test_the_last_broker_leaves_nobody_to_coordinate_until_one_is_back(cluster: WireCluster) -> None:
    member_id = cluster.client(1).is_member()
    coordinators = []
    for node_id in (1, 2, 3):
        cluster.kill(node_id)
        coordinators.append(cluster.cluster.coordinator_id)

    cluster.restart(2)

    assert [*coordinators, cluster.cluster.coordinator_id] == [2, 3, None, 2]
    assert cluster.client(2).heartbeat(member_id) == Errors.NONE


def test_a_broker_that_restarts_goes_on_to_coordinate_perhaps_otherwise(cluster: WireCluster) -> None:
    member_id = cluster.client(1).is_member()

    cluster.restart(1, group_min_session_timeout_ms="20000")

    client = cluster.client(1)
    assert client.coordinator() == 1
    assert client.heartbeat(member_id) == Errors.NONE
    client.join()
    assert client.take("join_group", 3).error_code == Errors.INVALID_SESSION_TIMEOUT


def test_a_group_that_outgrew_a_new_configuration_rebalances(cluster: WireCluster) -> None:
    ana, bob = cluster.client(1), cluster.client(1)
    first = ana.is_member()
    bob.join()
    ana.join(member_id=first)
    second = bob.take("join_group", 3).member_id
    assert ana.take("join_group", 3).generation_id == 2
    ana.ask("sync_group", 2, group_id="g", generation_id=2, member_id=first)

    cluster.restart(1, group_max_size="1")

    client = cluster.client(1)
    assert client.heartbeat(second, generation_id=2) == Errors.REBALANCE_IN_PROGRESS


def test_a_paused_broker_answers_when_it_goes_on_with_what_fell_due_before(cluster: WireCluster) -> None:
    ana = cluster.client(1)
    member_id = ana.is_member()
    cluster.cluster.pause(1)

    ana.send("heartbeat", 2, group_id="g", generation_id=1, member_id=member_id)
    cluster.elapse(60_000)
    assert ana.frames() == []
    cluster.resume(1)

    assert ana.take("heartbeat", 2).error_code == Errors.UNKNOWN_MEMBER_ID


def test_what_fell_due_while_a_broker_stood_still_happens_when_it_goes_on(cluster: WireCluster) -> None:
    ana, bob = cluster.client(1), cluster.client(1)
    ana.is_member()
    bob.join()
    cluster.cluster.pause(1)
    cluster.elapse(60_000)
    assert bob.frames() == []

    cluster.resume(1)

    assert bob.take("join_group", 3).generation_id == 2


def test_a_move_to_where_it_is_changes_nothing() -> None:
    cluster = WireCluster()
    (parked, other) = cluster.client(1), cluster.client(1)
    other.is_member()
    parked.join()

    cluster.move(1)

    assert parked.frames() == []
    reported = cluster.client(2).ask("metadata", 7, topics=({"name": "__consumer_offsets"},))
    assert [each.leader_epoch for each in reported.topics[0].partitions] == [0, 0]


def test_a_paused_load_keeps_the_new_coordinator_loading(cluster: WireCluster) -> None:
    member_id = cluster.client(1).is_member("h")
    cluster.cluster.pause_at_loading()
    cluster.move(2)

    client = cluster.client(2)
    assert client.commit(1, group_id="h") == Errors.COORDINATOR_LOAD_IN_PROGRESS
    cluster.resume_from_loading()
    assert client.heartbeat(member_id, group_id="h") == Errors.NONE


def pending(cluster: WireCluster) -> Producer:
    """A producer with offset 42 in its transaction."""
    producer = Producer(cluster.client(1))
    assert producer.add() == Errors.NONE
    assert producer.commit() == [Errors.NONE]
    return producer


@pytest.mark.parametrize("is_killed", [False, True])
def test_a_transaction_goes_on_with_another_coordinator(cluster: WireCluster, *, is_killed: bool) -> None:
    producer = pending(cluster)
    if is_killed:
        cluster.kill(1)
    else:
        cluster.move(2)
        assert producer.end() == Errors.NOT_COORDINATOR

    client = cluster.client(2)
    assert client.coordinator("x", TRANSACTION) == 2
    assert client.committed(stable=True) == (-1, Errors.UNSTABLE_OFFSET_COMMIT)
    producer.client = client
    assert producer.end() == Errors.NONE
    assert client.committed(stable=True) == (42, Errors.NONE)


def test_a_marker_reaches_the_leader_of_its_partition_wherever_that_is(cluster: WireCluster) -> None:
    producer = pending(cluster)
    cluster.move(3, G)
    assert cluster.client(3).committed(stable=True) == (-1, Errors.UNSTABLE_OFFSET_COMMIT)

    assert producer.end() == Errors.NONE

    assert cluster.client(3).committed(stable=True) == (42, Errors.NONE)


def test_a_marker_waits_for_a_leader_that_loads_on_java() -> None:
    cluster = WireCluster(JAVA)
    producer = pending(cluster)
    cluster.cluster.pause_at_loading()
    cluster.move(3, G)

    assert producer.end() == Errors.NONE
    cluster.resume_from_loading()

    assert cluster.client(3).committed(stable=True) == (42, Errors.NONE)


def test_a_client_that_writes_markers_has_to_ask_the_leader(cluster: WireCluster) -> None:
    producer = pending(cluster)
    producer.client = cluster.client(2)
    assert producer.write_marker(partition=G) == Errors.NOT_LEADER_OR_FOLLOWER
    producer.client = cluster.client(1)
    assert producer.write_marker(partition=G) == Errors.NONE


def test_a_deleted_topic_takes_its_offsets_from_whoever_coordinates(cluster: WireCluster) -> None:
    cluster.move(2)
    assert cluster.client(2).commit(7) == Errors.NONE

    cluster.client(3).ask("delete_topics", 1, topic_names=("orders",), timeout=1)

    assert cluster.client(2).committed(stable=True) == (-1, Errors.NONE)


def test_the_log_that_is_deleted_is_led_by_nobody_and_comes_back(cluster: WireCluster) -> None:
    cluster.client(1).is_member()

    cluster.client(3).ask("delete_topics", 1, topic_names=("__consumer_offsets",), timeout=1)
    assert cluster.client(1).heartbeat("m") == Errors.NOT_COORDINATOR

    cluster.client(2).coordinator()
    assert cluster.client(1).heartbeat("m") == Errors.UNKNOWN_MEMBER_ID


def test_a_group_that_is_empty_and_has_nothing_moves_all_the_same(cluster: WireCluster) -> None:
    client = cluster.client(1)
    member_id = client.is_member()
    client.ask("leave_group", 1, group_id="g", member_id=member_id)

    cluster.move(2)

    (group,) = cluster.client(2).ask("describe_groups", 0, groups=("g",)).groups
    assert (group.group_state, group.protocol_type) == ("Empty", "consumer")

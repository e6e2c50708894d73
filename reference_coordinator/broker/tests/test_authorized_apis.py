"""What a broker with an authorizer refuses, where no scenario asks for it."""

from typing import Any

import pytest

from reference_coordinator.tests.wire_broker import WireBroker, WireClient, elected

GROUP, TOPIC, CLUSTER, TRANSACTIONAL_ID = 3, 2, 4, 5
READ, DESCRIBE, CLUSTER_ACTION = 3, 8, 9
NO_TOPIC, NO_GROUP, NO_CLUSTER, NO_TRANSACTION = 29, 30, 31, 53
STANDARD = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


def secured(profile: str = "4.4") -> WireBroker:
    return elected(profile, authorizer_class_name=STANDARD, super_users="User:ANONYMOUS", num_partitions="1")


def as_ana(broker: WireBroker) -> WireClient:
    return WireClient(broker, broker.listener.connected(client_host="127.0.0.1", principal="User:ana"))


def created_acl(broker: WireBroker, resource_type: int, name: str, operation: int) -> Any:  # noqa: ANN401
    creation: dict[str, Any] = {
        "resource_type": resource_type,
        "resource_name": name,
        "principal": "User:ana",
        "host": "*",
        "operation": operation,
        "permission_type": 3,
    }
    (result,) = broker.connect().ask("create_acls", 2, creations=(creation,)).results
    return result


def allow(broker: WireBroker, resource_type: int, name: str, operation: int) -> None:
    assert created_acl(broker, resource_type, name, operation).error_code == 0


def test_topics_that_may_not_be_seen_are_left_out_of_all_and_refused_by_name() -> None:
    broker = secured()
    broker.connect().ask("create_topics", 4, topics=({"name": "secret", "num_partitions": 1},))
    ana = as_ana(broker)
    allow(broker, TOPIC, "orders", READ)

    everything = ana.ask("metadata", 9, topics=None, include_topic_authorized_operations=True)
    assert [(each.name, each.topic_authorized_operations) for each in everything.topics] == [
        ("orders", 1 << READ | 1 << DESCRIBE)
    ]
    named = ana.ask("metadata", 9, topics=({"name": "secret"}, {"name": "missing"}))
    assert [(each.name, each.error_code) for each in named.topics] == [
        ("secret", NO_TOPIC),
        ("missing", NO_TOPIC),
    ]


def test_a_topic_that_is_asked_for_by_its_id_keeps_its_name_to_itself() -> None:
    broker = secured()
    orders = broker.connect().topic_id()

    (refused,) = as_ana(broker).ask("metadata", 12, topics=({"topic_id": orders, "name": None},)).topics

    assert (refused.error_code, refused.name, refused.topic_id) == (NO_TOPIC, None, orders)


@pytest.mark.parametrize(("key_type", "error"), [(0, NO_GROUP), (1, NO_TRANSACTION), (2, NO_CLUSTER)])
def test_each_type_of_key_has_a_right_of_its_own(key_type: int, error: int) -> None:
    broker = secured()
    key = "g:AAAAAAAAAAAAAAAAAAAAAQ:0"
    asked = {"key_type": key_type, "coordinator_keys": (key,)}

    (refused,) = as_ana(broker).ask("find_coordinator", 6, **asked).coordinators
    assert (refused.key, refused.error_code) == (key, error)
    resource = {0: (GROUP, key, DESCRIBE), 1: (TRANSACTIONAL_ID, key, DESCRIBE)}
    allow(broker, *resource.get(key_type, (CLUSTER, "kafka-cluster", CLUSTER_ACTION)))
    (found,) = as_ana(broker).ask("find_coordinator", 6, **asked).coordinators
    assert found.error_code != error


def test_only_brokers_add_partitions_for_others() -> None:
    transaction: dict[str, Any] = {
        "transactional_id": "t",
        "producer_id": 1,
        "producer_epoch": 0,
        "verify_only": False,
        "topics": (),
    }
    response = as_ana(secured()).ask("add_partitions_to_txn", 4, transactions=(transaction,))
    assert response.error_code == NO_CLUSTER


def test_a_waiting_member_is_answered_by_the_broker_with_its_authorizer() -> None:
    broker = secured()
    allow(broker, GROUP, "g", READ)
    ana = as_ana(broker)

    ana.join()
    assert ana.frames() == []
    broker.elapse(200)
    assert ana.take("join_group", 3).error_code == 0


def test_offsets_of_hidden_topics_are_refused_by_id_too() -> None:
    broker = secured()
    allow(broker, GROUP, "g", READ)
    orders = broker.connect().topic_id()
    partitions = ({"partition_index": 0, "committed_offset": 1},)
    topic = {"topic_id": orders, "partitions": partitions}

    response = as_ana(broker).ask(
        "offset_commit", 10, group_id="g", generation_id_or_member_epoch=-1, member_id="", topics=(topic,)
    )

    (refused,) = response.topics
    assert refused.topic_id == orders
    assert [each.error_code for each in refused.partitions] == [NO_TOPIC]


def test_an_entry_that_is_there_is_not_added_twice() -> None:
    broker = secured()
    for _ in range(2):
        allow(broker, GROUP, "g", READ)

    every = {"resource_type_filter": 1, "pattern_type_filter": 1, "operation": 1, "permission_type": 1}
    names = {"resource_name_filter": None, "principal_filter": None, "host_filter": None}
    response = broker.connect().ask("describe_acls", 2, **every, **names)

    (found,) = response.resources
    assert (found.resource_name, len(found.acls)) == ("g", 1)


def test_an_entry_names_the_cluster_by_its_only_name() -> None:
    result = created_acl(secured(), CLUSTER, "mine", 2)

    assert result.error_code == 42
    assert "kafka-cluster" in result.error_message


def test_a_streams_member_reads_its_group_and_sees_its_topics() -> None:
    broker = secured()
    ana = as_ana(broker)
    tasks = {"active_tasks": (), "standby_tasks": (), "warmup_tasks": ()}
    subtopology = {"subtopology_id": "0", "source_topics": ("orders",)}
    join = {
        "group_id": "g",
        "member_id": "m",
        "rebalance_timeout": 1_000,
        "process_id": "p",
        "task_offsets": None,
        "task_end_offsets": None,
        "topology": {"epoch": 0, "subtopologies": (subtopology,)},
        **tasks,
    }

    assert ana.ask("streams_group_heartbeat", 0, **join).error_code == NO_GROUP
    allow(broker, GROUP, "g", READ)
    assert ana.ask("streams_group_heartbeat", 0, **join).error_code == NO_TOPIC
    joined = broker.connect().ask("streams_group_heartbeat", 0, **join)
    assert joined.error_code == 0, joined.error_message
    (hidden,) = ana.ask("streams_group_describe", 0, group_ids=("g",)).groups
    assert (hidden.error_code, hidden.members) == (NO_TOPIC, ())
    allow(broker, TOPIC, "orders", DESCRIBE)
    assert ana.ask("streams_group_heartbeat", 0, **join).error_code == 0
    (shown,) = ana.ask("streams_group_describe", 0, group_ids=("g",)).groups
    assert (shown.error_code, len(shown.members)) == (0, 1)

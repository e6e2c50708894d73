"""What leaves for a broker of others, and what does not whatever a script says."""

import asyncio
import re
from dataclasses import replace

import pytest

from harness.runner.applicable import why_not_applicable
from harness.scenario.script import Script
from harness.targets.base.interface import ApiRange
from harness.targets.base.layout import Endpoint, Layout
from harness.targets.external.guard import Guard, GuardedConnection, NotAllowed, NotOurs
from harness.targets.external.namespace import Namespace, TopicNames
from harness.targets.external.run_namespace import RunNamespace
from harness.tests.answering import Answering
from harness.tests.completed_runs import catalogue
from harness.tests.made_events import BARE_BROKER
from harness.tests.started import JOIN
from harness.wire.codec import Fields, FieldValue, encode_request, encode_response
from harness.wire.schema import API_NAMES, api_key, request_shape

NAMESPACE = Namespace.new("run")
OURS = f"{NAMESPACE.prefix}classic.join.main"
THEIRS = "payroll"
VERSIONS = {
    "AlterConfigs": 1,
    "CreateAcls": 2,
    "CreateTopics": 4,
    "DeleteGroups": 1,
    "DeleteRecords": 1,
    "DeleteTopics": 4,
    "EndTxn": 1,
    "FindCoordinator": 6,
    "Heartbeat": 1,
    "IncrementalAlterConfigs": 1,
    "InitProducerId": 1,
    "JoinGroup": 5,
    "Metadata": 5,
    "OffsetCommit": 5,
    "Produce": 8,
    "ShareGroupHeartbeat": 1,
    "StreamsGroupHeartbeat": 0,
    "SyncGroup": 3,
    "TxnOffsetCommit": 2,
    "WriteTxnMarkers": 1,
}


def frame(api: str, fields: Fields, *, version: int | None = None) -> bytes:
    return encode_request(
        api, VERSIONS[api] if version is None else version, correlation_id=7, client_id="ana", fields=fields
    )


def join(group: str, **fields: FieldValue) -> Fields:
    readable: list[Fields] = [{"name": "range", "metadata": b"\0\0\0\0\0\0"}]
    return {**JOIN, "group_id": group, "protocols": readable, **fields}


def txn_commit(producer_id: int, epoch: int, *, group: str = OURS) -> Fields:
    return {
        "transactional_id": OURS,
        "group_id": group,
        "producer_id": producer_id,
        "producer_epoch": epoch,
        "topics": [],
    }


def produce(*topics: Fields) -> Fields:
    rows: list[Fields] = [{**topic, "partition_data": []} for topic in topics]
    return {"acks": 1, "timeout_ms": 1, "topic_data": rows}


def in_transaction(transactional_id: str, topic: str) -> Fields:
    return {
        "v3_and_below_transactional_id": transactional_id,
        "v3_and_below_producer_id": 1,
        "v3_and_below_producer_epoch": 0,
        "v3_and_below_topics": [{"name": topic, "partitions": [0]}],
    }


def consumer_heartbeat(group: str) -> Fields:
    return {"group_id": group, "member_id": "", "member_epoch": 0}


def streams_heartbeat(**subtopology: FieldValue) -> Fields:
    row: Fields = {"subtopology_id": "0", **subtopology}
    return {**consumer_heartbeat(OURS), "topology": {"epoch": 0, "subtopologies": [row]}}


def configured(kind: int, name: str) -> Fields:
    config: Fields = {"name": "streams.session.timeout.ms", "config_operation": 0, "value": "45000"}
    return {"resources": [{"resource_type": kind, "resource_name": name, "configs": [config]}]}


@pytest.mark.parametrize(
    ("api", "fields"),
    [
        ("JoinGroup", join(THEIRS)),
        ("SyncGroup", {"group_id": f"x{OURS}"}),
        ("OffsetCommit", {"group_id": "", "topics": []}),
        ("CreateAcls", {"creations": []}),
        ("DeleteGroups", {"groups_names": [OURS, THEIRS]}),
        ("DeleteGroups", {"groups_names": [""]}),
        ("TxnOffsetCommit", txn_commit(-1, -1, group=THEIRS)),
        ("TxnOffsetCommit", txn_commit(4711, 0)),
        ("DeleteTopics", {"topic_names": ["__consumer_offsets"]}),
        ("DeleteTopics", {"topic_names": [OURS]}),
        ("DeleteRecords", {"topics": [{"name": OURS, "partitions": []}]}),
        ("AlterConfigs", {"resources": []}),
        ("WriteTxnMarkers", {"markers": []}),
        ("Produce", {"acks": 1, "timeout_ms": 1000, "topic_data": []}),
        ("Metadata", {"topics": [{"name": "orders"}], "allow_auto_topic_creation": True}),
        ("FindCoordinator", {"coordinator_keys": ["g:AAAAAAAAAAAAAAAAAAAAAQ:0"], "key_type": 2}),
        ("JoinGroup", join(OURS, protocols=[{"name": "a", "metadata": b""}] * 2)),
        ("JoinGroup", join(OURS, protocols=[{"name": "a", "metadata": b"\0\0\x7f\xff\xff\xff"}])),
        ("StreamsGroupHeartbeat", streams_heartbeat(source_topics=[OURS, "orders"])),
        ("StreamsGroupHeartbeat", streams_heartbeat(source_topics=["__others"])),
        ("StreamsGroupHeartbeat", streams_heartbeat(repartition_sink_topics=["orders"])),
        ("StreamsGroupHeartbeat", streams_heartbeat(repartition_source_topics=[{"name": "orders"}])),
        (
            "StreamsGroupHeartbeat",
            streams_heartbeat(state_changelog_topics=[{"name": f"{OURS}-"}, {"name": "orders"}]),
        ),
        ("StreamsGroupHeartbeat", streams_heartbeat(source_topic_regex=["or.*"])),
        (
            "StreamsGroupHeartbeat",
            streams_heartbeat(copartition_groups=[{"source_topics": [], "source_topic_regex": [0]}]),
        ),
        ("IncrementalAlterConfigs", configured(2, OURS)),
        ("IncrementalAlterConfigs", configured(32, THEIRS)),
    ],
)
def test_what_would_touch_others_does_not_leave(api: str, fields: Fields) -> None:
    inner = Answering()
    connection = GuardedConnection(inner, Guard(namespace=NAMESPACE))
    with pytest.raises(NotOurs, match="would touch what is not ours"):
        asyncio.run(connection.send(frame(api, fields)))
    assert inner.sent == []


@pytest.mark.parametrize(
    ("api", "fields"),
    [
        ("JoinGroup", join(OURS)),
        ("JoinGroup", join("")),
        ("ShareGroupHeartbeat", consumer_heartbeat(OURS)),
        ("DeleteGroups", {"groups_names": [OURS]}),
        ("OffsetCommit", {"group_id": OURS, "topics": [{"name": "orders", "partitions": []}]}),
        ("InitProducerId", {"transactional_id": OURS, "transaction_timeout_ms": 1000}),
        ("InitProducerId", {"transactional_id": None, "transaction_timeout_ms": 1000}),
        ("TxnOffsetCommit", txn_commit(-1, -1)),
        ("CreateTopics", {"topics": [{"name": OURS, "num_partitions": 1, "replication_factor": 1}]}),
        ("Metadata", {"topics": [{"name": "orders"}], "allow_auto_topic_creation": False}),
        ("FindCoordinator", {"coordinator_keys": [THEIRS], "key_type": 0}),
        ("StreamsGroupHeartbeat", {**consumer_heartbeat(OURS), "topology": None}),
        (
            "StreamsGroupHeartbeat",
            streams_heartbeat(
                source_topics=[OURS],
                repartition_sink_topics=[OURS],
                repartition_source_topics=[{"name": OURS}],
                state_changelog_topics=[{"name": OURS}],
                copartition_groups=[{"source_topics": [0]}],
            ),
        ),
        ("StreamsGroupHeartbeat", streams_heartbeat(source_topics=["", "..", "__consumer_offsets"])),
        ("IncrementalAlterConfigs", configured(32, OURS)),
    ],
)
def test_what_touches_nothing_or_the_runs_own_leaves(api: str, fields: Fields) -> None:
    inner = Answering()
    payload = frame(api, fields)
    asyncio.run(GuardedConnection(inner, Guard(namespace=NAMESPACE)).send(payload))
    assert inner.sent == [payload]


def test_topics_of_the_run_alone_are_deleted_when_it_cleans_up() -> None:
    guard = Guard(namespace=NAMESPACE, is_cleaning=True)
    guard.refuse_frame(frame("DeleteTopics", {"topic_names": [OURS]}))
    with pytest.raises(NotOurs):
        guard.refuse_frame(frame("DeleteTopics", {"topic_names": [OURS, "orders"]}))


def test_frames_that_nobody_can_carry_out_leave() -> None:
    heartbeat = ApiRange(api_key=api_key("Heartbeat"), min_version=0, max_version=4)
    guard = Guard(namespace=NAMESPACE, api_ranges={heartbeat.api_key: heartbeat})
    whole = frame("Heartbeat", {"group_id": THEIRS})
    guard.refuse_frame(whole[:-3])
    guard.refuse_frame(b"\0\x0c\0\x63" + whole[4:])
    guard.refuse_frame(b"\x7f\xff" + whole[2:])
    guard.refuse_frame(b"\0")


def test_frames_that_cannot_be_read_do_not_leave() -> None:
    guard = Guard(namespace=NAMESPACE)
    with pytest.raises(NotOurs, match="cannot be read"):
        guard.refuse_frame(frame("Heartbeat", {"group_id": OURS}) + b"more")


def test_bytes_behind_a_request_of_a_client_are_passed_over_as_a_broker_does() -> None:
    guard = Guard(namespace=NAMESPACE, serves_clients=True)
    guard.refuse_frame(frame("Heartbeat", {"group_id": OURS}) + b"more")
    with pytest.raises(NotOurs, match=THEIRS):
        guard.refuse_frame(frame("Heartbeat", {"group_id": THEIRS}) + b"more")


async def test_a_producer_is_believed_no_more_than_the_broker_gave_it() -> None:
    reported = encode_response(
        "InitProducerId", 1, correlation_id=7, fields={"producer_id": 5, "producer_epoch": 3}
    )

    connection = GuardedConnection(Answering(reported), Guard(namespace=NAMESPACE))
    asked: Fields = {"transactional_id": OURS, "transaction_timeout_ms": 1000}
    await connection.send(frame("InitProducerId", asked))
    await connection.receive(timeout_ms=0)
    await connection.send(frame("TxnOffsetCommit", txn_commit(5, 3)))
    await connection.send(frame("TxnOffsetCommit", txn_commit(5, 2)))
    with pytest.raises(NotOurs, match="epoch"):
        await connection.send(frame("TxnOffsetCommit", txn_commit(5, 4)))
    with pytest.raises(NotOurs, match="producer of others"):
        await connection.send(frame("TxnOffsetCommit", txn_commit(6, 0)))


def run_namespace(api_ranges: tuple[ApiRange, ...] = (), port: int = 0) -> RunNamespace:
    return RunNamespace(
        namespace=NAMESPACE,
        guard=Guard(namespace=NAMESPACE, api_ranges={each.api_key: each for each in api_ranges}),
        layout=Layout(nodes={1: Endpoint(node_id=1, host="127.0.0.1", port=port)}),
        topics=TopicNames(NAMESPACE, ("orders", "payments")),
    )


def why_not(script: Script) -> str | None:
    """Ask whether a broker that has every version, and the settings that are asked for, is harmed."""
    ranges = tuple(ApiRange(api_key=key, min_version=0, max_version=20) for key in API_NAMES)
    description = replace(BARE_BROKER, broker_config=script.broker_config, api_ranges=ranges)
    return why_not_applicable(script, (), description, run_namespace=run_namespace(ranges))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scenario_id", "what"),
    [
        ("admin/no-log/nobody-coordinates", "DeleteTopics"),
        ("transactions/markers/elsewhere", "WriteTxnMarkers"),
        ("transactions/never-ends/asked", "WriteTxnMarkers"),
        ("transactions/epoch/too-high-later", "TxnOffsetCommit"),
        ("transactions/commit/no-such-producer", "TxnOffsetCommit of a producer of others"),
        ("classic/wire/unknown-tag", "OffsetCommit v8"),
    ],
)
def test_a_script_that_would_do_harm_is_known_before_it_begins(scenario_id: str, what: str) -> None:
    reason = why_not(catalogue()[scenario_id])
    assert reason is not None
    assert reason.startswith("would touch what is not ours (")
    assert what in reason


@pytest.mark.slow
def test_most_scripts_that_need_nothing_else_do_no_harm() -> None:
    # Share fetches write share state as brokers do among themselves.
    beyond = "InitializeShareGroupState"
    scripts = [each for each in catalogue().values() if not each.needs and beyond not in each.apis]
    refused = {each.id for each in scripts if why_not(each) is not None}
    assert len(refused) < len(scripts) / 8
    assert not {"classic/connection/request-cut-short", "classic/connection/version-out-of-range"} & refused
    assert "classic/connection/unknown-api" not in refused


def test_a_share_groups_key_is_asked_for_where_there_are_no_share_groups() -> None:
    asked = frame("FindCoordinator", {"coordinator_keys": ["g:AAAAAAAAAAAAAAAAAAAAAQ:0"], "key_type": 2})
    find = ApiRange(api_key=api_key("FindCoordinator"), min_version=0, max_version=6)
    share = ApiRange(api_key=api_key("ShareGroupHeartbeat"), min_version=1, max_version=1)
    Guard(namespace=NAMESPACE, api_ranges={find.api_key: find}).refuse_frame(asked)
    with pytest.raises(NotOurs, match="makes a topic"):
        Guard(namespace=NAMESPACE, api_ranges={find.api_key: find, share.api_key: share}).refuse_frame(asked)


@pytest.mark.parametrize(
    ("api", "version", "fields"),
    [
        ("Produce", 13, {"acks": 1, "timeout_ms": 1, "topic_data": [{"partition_data": []}]}),
        ("AddPartitionsToTxn", 4, {"transactions": []}),
        ("DeleteRecords", 1, {"topics": [{"name": OURS, "partitions": []}]}),
        ("AlterConfigs", 1, {"resources": []}),
    ],
)
def test_clients_touch_nothing_of_others_either(api: str, version: int, fields: Fields) -> None:
    guard = Guard(namespace=NAMESPACE, serves_clients=True)
    with pytest.raises(NotOurs, match="would touch what is not ours"):
        guard.refuse_frame(frame(api, fields, version=version))


def test_a_consumer_group_may_not_match_topics_of_others() -> None:
    guard, named = Guard(namespace=NAMESPACE), consumer_heartbeat(OURS)
    guard.refuse_frame(frame("ConsumerGroupHeartbeat", named, version=1))

    with pytest.raises(NotOurs, match="regular expression"):
        guard.refuse_frame(
            frame("ConsumerGroupHeartbeat", {**named, "subscribed_topic_regex": ".*"}, version=1)
        )


@pytest.mark.parametrize(
    ("api", "version", "fields"),
    [
        ("Produce", 8, produce({"name": OURS})),
        ("AddPartitionsToTxn", 1, in_transaction(OURS, OURS)),
        ("ListOffsets", 5, {"replica_id": -1, "topics": [{"name": "orders", "partitions": []}]}),
        ("Fetch", 11, {"max_wait_ms": 1, "min_bytes": 1, "topics": []}),
    ],
)
def test_clients_may_produce_and_fetch_and_others_may_not(api: str, version: int, fields: Fields) -> None:
    Guard(namespace=NAMESPACE, serves_clients=True).refuse_frame(frame(api, fields, version=version))
    with pytest.raises(NotOurs):
        Guard(namespace=NAMESPACE).refuse_frame(frame(api, fields, version=version))


@pytest.mark.parametrize(
    ("api", "fields", "right"),
    [
        ("Heartbeat", {"error_code": "GROUP_AUTHORIZATION_FAILED"}, "Read on Group"),
        (
            "DeleteGroups",
            {"results": [{"group_id": "", "error_code": "GROUP_AUTHORIZATION_FAILED"}]},
            "Delete on Group",
        ),
        ("EndTxn", {"error_code": "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"}, "Write on TransactionalId"),
    ],
)
def test_a_refusal_for_want_of_a_right_is_no_answer_of_a_coordinator(
    api: str, fields: Fields, right: str
) -> None:
    version = VERSIONS[api]
    answer = encode_response(api, version, correlation_id=7, fields=fields)

    async def received(guard: Guard) -> bytes:
        connection = GuardedConnection(Answering(answer), guard)
        least: Fields = {"group_id": OURS, "groups_names": [OURS], "transactional_id": OURS}
        asked = {name: value for name, value in least.items() if name in request_shape(api, version).fields}
        await connection.send(encode_request(api, version, correlation_id=7, fields=asked))
        return (await connection.receive(timeout_ms=1000)).payload

    guard = Guard(namespace=NAMESPACE, is_cleaning=True)
    assert asyncio.run(received(guard)) == answer
    guard.is_restricted = True
    with pytest.raises(NotAllowed, match=rf"lacks rights: {right} \({api}: {re.escape(OURS[:60])}, answered"):
        asyncio.run(received(guard))


def test_groups_are_not_configured_where_that_could_not_be_taken_back() -> None:
    guard = Guard(namespace=NAMESPACE, may_configure=False)
    with pytest.raises(NotOurs, match="could not take back"):
        guard.refuse_frame(frame("IncrementalAlterConfigs", configured(32, OURS)))

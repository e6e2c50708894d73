"""What others have on a broker: topics, groups of each type, a transaction, entries, configurations."""

import contextlib
import struct
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import Any, Final, TypeVar
from uuid import UUID

import confluent_kafka as ck
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from harness.targets.base.dialogue import Answer, Dialogue, NotYet
from harness.targets.base.interface import closing
from harness.targets.base.prepare import ask_until
from harness.targets.base.tcp import TcpSession, new_connect_slots
from harness.targets.external.namespace import MARK, made
from harness.targets.kafka.local_nodes import LocalNodes
from harness.wire.codec import Fields, FieldValue

T = TypeVar("T")
THEIRS: Final = {"orders": 3, "payments": 2, "no-such-topic": 1, f"{MARK}backup": 1}
GROUPS: Final = ("payroll", "held-up", "size", "no-such-group", "conformance-unknown-tag", f"{MARK}mine")
CLASSIC, CONSUMER, SHARE, STREAMS = "audit-classic", "audit-consumer", "audit-share", "audit-streams"
"""Groups that members were in, by type; those before are offsets alone."""
OF_TYPES: Final = (CLASSIC, CONSUMER, SHARE, STREAMS)
_INTERNAL: Final = ("__consumer_offsets", "__transaction_state")
"""Not the share coordinator's, which writes its state anew every five minutes by itself."""
_TIMEOUT_MS: Final = 60_000
_MEMBER: Final = str(UUID(int=7))
_GROUP_RESOURCE: Final = 32
_TOPIC_RESOURCE: Final = 2
_LEAVES: Final = -1
_HEARTBEATS: Final[Mapping[str, tuple[str, Fields]]] = {
    CONSUMER: (
        "ConsumerGroupHeartbeat",
        {"subscribed_topic_names": ["orders"], "topic_partitions": [], "rebalance_timeout_ms": _TIMEOUT_MS},
    ),
    SHARE: ("ShareGroupHeartbeat", {"subscribed_topic_names": ["orders"]}),
    STREAMS: (
        "StreamsGroupHeartbeat",
        {
            "rebalance_timeout_ms": _TIMEOUT_MS,
            "process_id": "audit",
            "active_tasks": [],
            "standby_tasks": [],
            "warmup_tasks": [],
            "topology": {
                "epoch": 0,
                "subtopologies": [
                    {
                        "subtopology_id": "0",
                        "source_topics": ["orders"],
                        "state_changelog_topics": [{"name": f"{STREAMS}-store", "replication_factor": 1}],
                    }
                ],
            },
        },
    ),
}
"""How a member of a new kind of group joins."""


@contextmanager
def others(address: str) -> Iterator[None]:
    """Let others have topics with records, groups with offsets, and a transaction that goes on."""
    servers: dict[str, str | int | float | bool] = {"bootstrap.servers": address, "log_level": 2}
    admin = AdminClient(servers)
    for future in admin.create_topics([NewTopic(name, n, 1) for name, n in THEIRS.items()]).values():
        future.result(60)
    writer = ck.Producer(servers)
    for number in range(300):
        writer.produce(tuple(THEIRS)[number % len(THEIRS)], value=f"record {number}".encode())
    assert writer.flush(60) == 0
    for number, group in enumerate(GROUPS):
        consumer = ck.Consumer({**servers, "group.id": group, "enable.auto.commit": False})
        _commit(consumer, [ck.TopicPartition("orders", partition, number + 1) for partition in range(3)])
        consumer.close()
    payer = ck.Producer({**servers, "transactional.id": "payroll", "transaction.timeout.ms": 900_000})
    payer.init_transactions(60)
    payer.begin_transaction()
    payer.produce("payments", partition=1, value=b"not yet")
    assert payer.flush(60) == 0
    try:
        yield
    finally:
        payer.abort_transaction(60)


def _commit(consumer: ck.Consumer, offsets: list[ck.TopicPartition]) -> None:
    """Commit, also to a coordinator that is only just getting to know its partitions."""
    for _ in range(100):
        try:
            consumer.commit(offsets=offsets, asynchronous=False)
        except ck.KafkaException as error:
            if not error.args[0].retriable() and error.args[0].code() != ck.KafkaError.NOT_COORDINATOR:
                raise
        else:
            return
    raise AssertionError("nothing can be committed")


async def have_groups_of_every_type(address: str) -> None:
    """Let others have a group of each type, with offsets, an entry of access control, and configurations."""
    await _asked(address, _have_classic_group)
    for group in _HEARTBEATS:
        await _asked(address, partial(_have_group, group=group))
    await _asked(address, _have_offsets)
    await _asked(address, _have_settings)


async def _asked(address: str, ask: Callable[[Dialogue], Coroutine[Any, Any, T]]) -> T:
    async with _session(address) as session:

        async def learnt(dialogue: Dialogue) -> T:
            await dialogue.learn_versions()
            return await ask(dialogue)

        return await ask_until(session, learnt, timeout_ms=_TIMEOUT_MS, failure=lambda: None)


@asynccontextmanager
async def _session(address: str) -> AsyncIterator[TcpSession]:
    host, _, port = address.rpartition(":")
    async with closing(TcpSession(host, int(port), connect_slots=new_connect_slots())) as session:
        yield session


async def _have_classic_group(dialogue: Dialogue) -> None:
    joining: Fields = {
        "group_id": CLASSIC,
        "session_timeout_ms": _TIMEOUT_MS,
        "rebalance_timeout_ms": _TIMEOUT_MS,
        "protocol_type": "connect",
        "protocols": [{"name": "sessioned", "metadata": b"theirs"}],
    }
    joined = await dialogue.ask("JoinGroup", 3, joining)
    member: Fields = {"group_id": CLASSIC, "member_id": joined.text("member_id") or ""}
    syncing: Fields = {**member, "generation_id": joined.number("generation_id"), "assignments": []}
    for api, version, fields in (("SyncGroup", 2, syncing), ("LeaveGroup", 2, member)):
        _require((await dialogue.ask(api, version, fields)).text("error_code"))


async def _have_group(dialogue: Dialogue, group: str) -> None:
    """Have a member join a group of a newer protocol, and leave it."""
    api, joining = _HEARTBEATS[group]
    member: Fields = {"group_id": group, "member_id": _MEMBER}
    version = dialogue.version_of(api, (1, 0))
    joined = await dialogue.ask(api, version, {**member, "member_epoch": 0, **joining})
    _require(joined.text("error_code"))
    if group == SHARE:
        _require_all_partitions(joined)
    _require((await dialogue.ask(api, version, {**member, "member_epoch": _LEAVES})).text("error_code"))


def _require_all_partitions(joined: Answer) -> None:
    """Wait until the share coordinator has all partitions: the group writes down each that it gets, later."""
    assigned = Answer({"assignment": [joined.fields.get("assignment")]}).rows("assignment")
    partitions = [
        one for each in assigned for row in each.rows("topic_partitions") for one in row.numbers("partitions")
    ]
    if len(partitions) < THEIRS["orders"]:
        raise NotYet(f"partitions {partitions} of a share group")


async def _have_offsets(dialogue: Dialogue) -> None:
    for group in (CLASSIC, CONSUMER, STREAMS):
        committed: Fields = {"partition_index": 1, "committed_offset": 9}
        topics: list[FieldValue] = [{"name": "orders", "partitions": [committed]}]
        fields: Fields = {
            "group_id": group,
            "generation_id_or_member_epoch": -1,
            "member_id": "",
            "topics": topics,
        }
        answer = await dialogue.ask("OffsetCommit", 9, fields)
        _require(answer.rows("topics")[0].rows("partitions")[0].text("error_code"))
    row: Fields = {"partition_index": 1, "start_offset": 9}
    altered: Fields = {"group_id": SHARE, "topics": [{"topic_name": "orders", "partitions": [row]}]}
    answer = await dialogue.ask("AlterShareGroupOffsets", 0, altered)
    _require(answer.rows("responses")[0].rows("partitions")[0].text("error_code"))


async def _have_settings(dialogue: Dialogue) -> None:
    rows: list[FieldValue] = [
        _altered(_GROUP_RESOURCE, CONSUMER, "consumer.session.timeout.ms", "50000"),
        _altered(_GROUP_RESOURCE, SHARE, "share.record.lock.duration.ms", "20000"),
        _altered(_TOPIC_RESOURCE, "orders", "retention.ms", "987654321"),
    ]
    answer = await dialogue.ask("IncrementalAlterConfigs", 1, {"resources": rows, "validate_only": False})
    for row in answer.rows("responses"):
        _require(row.text("error_code"))
    entry: Fields = {
        "resource_type": 3,
        "resource_name": "audit",
        "resource_pattern_type": 4,
        "principal": "User:auditor",
        "host": "*",
        "operation": 3,
        "permission_type": 3,
    }
    created = await dialogue.ask("CreateAcls", 3, {"creations": [entry]})
    _require(created.rows("results")[0].text("error_code"))


def _altered(kind: int, name: str, key: str, value: str) -> Fields:
    config: Fields = {"name": key, "config_operation": 0, "value": value}
    return {"resource_type": kind, "resource_name": name, "configs": [config]}


def _require(error: str | None) -> None:
    """Ask again until it is done: coordinators come up, and learn of topics and of each other's writes."""
    if error != "NONE":
        raise NotYet(str(error))


def logs(nodes: LocalNodes) -> Mapping[str, bytes]:
    """Read every byte of the logs of others' topics."""
    return {
        f"{partition.name}/{segment.name}": segment.read_bytes()
        for name in THEIRS
        for partition, segment in _segments(nodes, name)
    }


def mentions(nodes: LocalNodes) -> Mapping[str, int]:
    """Count how often the logs of coordinators name others' groups, which each record about one does."""
    written = b"".join(segment.read_bytes() for name in _INTERNAL for _, segment in _segments(nodes, name))
    # A record has a string behind its length; our own groups' names may contain one of theirs.
    return {
        name: written.count(struct.pack(">h", len(name)) + name.encode()) for name in (*GROUPS, *OF_TYPES)
    }


def _segments(nodes: LocalNodes, topic: str) -> Iterator[tuple[Any, Any]]:
    for node_id in nodes.brokers:
        for partition in nodes.storage_of(node_id).glob(f"{topic}-*"):
            for segment in partition.glob("*.log"):
                yield partition, segment


async def reported(address: str) -> Mapping[str, FieldValue]:
    """Ask for all that the broker says of others' groups, topics, transactions and settings."""
    return await _asked(address, _reported)


async def _reported(dialogue: Dialogue) -> Mapping[str, FieldValue]:
    found: dict[str, FieldValue] = {}
    for group in (*GROUPS, *OF_TYPES):
        offsets = await dialogue.ask("OffsetFetch", 5, {"group_id": group, "topics": None})
        found[f"offsets of {group}"] = offsets.fields["topics"]
    groups = await dialogue.ask("DescribeGroups", 4, {"groups": [*GROUPS, CLASSIC]})
    found["groups"] = groups.fields["groups"]
    topics = await dialogue.ask("Metadata", 7, {"topics": None, "allow_auto_topic_creation": False})
    found["topics"] = sorted(
        f"{row.text('name')}: {len(row.rows('partitions'))}"
        for row in topics.rows("topics")
        if not made(row.text("name") or "")
    )
    payroll = await dialogue.ask("DescribeTransactions", 0, {"transactional_ids": ["payroll"]})
    found["transactions"] = payroll.fields["transaction_states"]
    broker: Fields = {"resource_type": 4, "resource_name": "1", "configuration_keys": None}
    orders: Fields = {"resource_type": _TOPIC_RESOURCE, "resource_name": "orders", "configuration_keys": None}
    config = await dialogue.ask("DescribeConfigs", 2, {"resources": [broker, orders]})
    found["settings"] = config.fields["results"]
    for api, version, fields in _OF_NEWER:
        with contextlib.suppress(NotYet):
            answer = await dialogue.ask(api, dialogue.version_of(api, (version,)), fields)
            found[api] = {name: value for name, value in answer.fields.items() if name != "throttle_time_ms"}
    listed = await dialogue.ask("ListGroups", dialogue.version_of("ListGroups", (5, 3)), {})
    found["list"] = sorted(
        str(row.fields) for row in listed.rows("groups") if _is_theirs(row.text("group_id"))
    )
    return found


def _is_theirs(group: str | None) -> bool:
    return group in (*GROUPS, *OF_TYPES)


_OF_NEWER: Final[tuple[tuple[str, int, Fields], ...]] = (
    ("ConsumerGroupDescribe", 1, {"group_ids": [CONSUMER]}),
    ("ShareGroupDescribe", 1, {"group_ids": [SHARE]}),
    ("StreamsGroupDescribe", 0, {"group_ids": [STREAMS]}),
    ("DescribeShareGroupOffsets", 0, {"groups": [{"group_id": SHARE, "topics": None}]}),
    (
        "DescribeAcls",
        3,
        {
            "resource_type_filter": 1,
            "pattern_type_filter": 1,
            "operation": 1,
            "permission_type": 1,
            **dict.fromkeys(("resource_name_filter", "principal_filter", "host_filter")),
        },
    ),
    (
        "DescribeConfigs",
        4,
        {
            "resources": [
                {"resource_type": _GROUP_RESOURCE, "resource_name": group, "configuration_keys": None}
                for group in (CONSUMER, SHARE, STREAMS)
            ]
        },
    ),
)
"""What a broker with more types of groups is asked beside that."""

"""What an actor may ask: builders of requests, one an API, with the values that most scenarios want.

What is left out is the speaking actor's own (its group, member id, generation, instance id) or a default that
every Kafka since 2.4 accepts. The default version of each API is the highest that Kafka 2.4 served, so that a
scenario which names none runs against every release. A producer's id and epoch are those that InitProducerId
answered: `producer["producer_id"]` of what `asks` or `repeats` returned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias, TypeVar

from harness.scenario.messages import OWN, Group, Number, Own, Request, Text
from harness.scenario.values import GroupRef, Value

SESSION_TIMEOUT_MS: Final = 30_000
REBALANCE_TIMEOUT_MS: Final = 30_000
TRANSACTION_TIMEOUT_MS: Final = 600_000
"""Long enough that no broker ends a scenario's transactions of itself."""
TRANSACTION: Final = GroupRef("txn")
"""The transactional id of a scenario's only producer; one of another is a `conversation.group` too."""
SHORT_SESSIONS: Final = {"group.min.session.timeout.ms": "100"}
"""What a scenario states as its `broker_config` when its members ask for sessions of under 6 s."""
SESSION_TIMEOUT_MIN_MS: Final = 6_000
"""The shortest that Kafka grants where nobody has configured it. Source: GroupCoordinatorConfig (4.3.1)."""


def subscription(*topics: str) -> bytes:
    """Return ConsumerProtocolSubscription v0 bytes; coordinators parse them, so they must be valid."""
    body = b"".join(len(topic).to_bytes(2, "big") + topic.encode() for topic in topics)
    return (
        (0).to_bytes(2, "big") + len(topics).to_bytes(4, "big") + body + (-1).to_bytes(4, "big", signed=True)
    )


ORDERS: Final = subscription("orders")
RANGE: Final = (("range", ORDERS),)
"""The protocols of a member that supports the range assignor and subscribes to `orders`."""
ROUND_ROBIN: Final = (("roundrobin", ORDERS),)
Protocols: TypeAlias = Sequence[tuple[str, bytes]]
TopicT = TypeVar("TopicT", str, GroupRef)
"""A topic's name; a scenario that deletes one has its own, by `conversation.group`."""
Offsets: TypeAlias = Mapping[TopicT, Mapping[int, "int | tuple[int, str | None]"]]
"""Topic to partition to offset, or to offset and metadata."""
Partitions: TypeAlias = Mapping[TopicT, Sequence[int]]
"""Topic to partitions."""


def request(api: str, version: int, **fields: Value | Own) -> Request:
    """Build any request of any version; what is not named has Kafka's default."""
    return Request(api=api, version=version, fields=fields)


def api_versions(*, version: int = 3) -> Request:
    """Ask which versions of which APIs are served."""
    software = {"client_software_name": "kafka-conformance", "client_software_version": "0"}
    return Request(api="ApiVersions", version=version, fields=software if version >= 3 else {})


def find_coordinator(*, version: int = 2, key: Group | Own = OWN, key_type: int = 0) -> Request:
    """Ask where a group's coordinator is; from v4 on as a batch of one."""
    if version >= 4:
        return Request(
            api="FindCoordinator",
            version=version,
            fields={"key_type": key_type, "coordinator_keys": (key,)},  # type: ignore[dict-item] # OWN within a sequence is filled too
        )
    typed = {"key_type": key_type} if version >= 1 else {}
    return request("FindCoordinator", version, key=key, **typed)


def join_group(
    *,
    version: int = 6,
    group_id: Group | Own = OWN,
    member_id: Text | Own = OWN,
    group_instance_id: str | None | Own = OWN,
    session_timeout_ms: int = SESSION_TIMEOUT_MS,
    rebalance_timeout_ms: int = REBALANCE_TIMEOUT_MS,
    protocol_type: str = "consumer",
    protocols: Protocols = RANGE,
) -> Request:
    """Ask to join. The actor's own member id is empty as long as it has none."""
    rebalance = {"rebalance_timeout_ms": rebalance_timeout_ms} if version >= 1 else {}
    return request(
        "JoinGroup",
        version,
        group_id=group_id,
        session_timeout_ms=session_timeout_ms,
        **rebalance,
        member_id=member_id,
        group_instance_id=group_instance_id,
        protocol_type=protocol_type,
        protocols=tuple({"name": name, "metadata": metadata} for name, metadata in protocols),
    )


def sync_group(
    *,
    version: int = 4,
    group_id: Group | Own = OWN,
    generation_id: Number | Own = OWN,
    member_id: Text | Own = OWN,
    group_instance_id: str | None | Own = OWN,
    protocol_type: str | None = "consumer",
    protocol_name: str | None = "range",
    assignments: Sequence[tuple[Text, bytes]] = (),
) -> Request:
    """Ask for an assignment; a leader brings everybody's. Protocol type and name travel from v5 on."""
    protocol = {"protocol_type": protocol_type, "protocol_name": protocol_name} if version >= 5 else {}
    return request(
        "SyncGroup",
        version,
        group_id=group_id,
        generation_id=generation_id,
        member_id=member_id,
        group_instance_id=group_instance_id,
        **protocol,
        assignments=tuple({"member_id": member, "assignment": part} for member, part in assignments),
    )


def heartbeat(
    *,
    version: int = 4,
    group_id: Group | Own = OWN,
    generation_id: Number | Own = OWN,
    member_id: Text | Own = OWN,
    group_instance_id: str | None | Own = OWN,
) -> Request:
    """Say that the member lives."""
    return request(
        "Heartbeat",
        version,
        group_id=group_id,
        generation_id=generation_id,
        member_id=member_id,
        group_instance_id=group_instance_id,
    )


def leave_group(
    *,
    version: int = 4,
    group_id: Group | Own = OWN,
    members: Sequence[tuple[Text, str | None]] | None = None,
    member_id: Text | Own = OWN,
    group_instance_id: str | None | Own = OWN,
) -> Request:
    """Leave: one member before v3, a batch of (member id, instance id) from v3 on."""
    if version < 3:
        return request("LeaveGroup", version, group_id=group_id, member_id=member_id)
    batch: tuple[Value | Own, ...]
    if members is None:
        batch = ({"member_id": member_id, "group_instance_id": group_instance_id},)  # type: ignore[dict-item] # OWN within a sequence is filled too
    else:
        batch = tuple({"member_id": member, "group_instance_id": instance} for member, instance in members)
    return Request(
        api="LeaveGroup",
        version=version,
        fields={"group_id": group_id, "members": batch},  # type: ignore[dict-item] # likewise
    )


def describe_groups(*, version: int = 5, groups: Sequence[Group] | None = None) -> Request:
    """Ask what the coordinator knows of some groups; of the actor's own if none is named."""
    return Request(
        api="DescribeGroups",
        version=version,
        fields={"groups": (OWN,) if groups is None else tuple(groups)},  # type: ignore[dict-item] # OWN within a sequence is filled too
    )


def list_groups(
    *, version: int = 3, states_filter: Sequence[str] = (), types_filter: Sequence[str] = ()
) -> Request:
    """Ask for all groups; filters by state need v4, by type v5."""
    states = {"states_filter": tuple(states_filter)} if version >= 4 else {}
    types = {"types_filter": tuple(types_filter)} if version >= 5 else {}
    return request("ListGroups", version, **states, **types)


def delete_groups(*, version: int = 2, groups: Sequence[Group] | None = None) -> Request:
    """Ask that groups be forgotten; the actor's own if none is named."""
    return Request(
        api="DeleteGroups",
        version=version,
        fields={"groups_names": (OWN,) if groups is None else tuple(groups)},  # type: ignore[dict-item] # OWN within a sequence is filled too
    )


def offset_commit(
    *,
    version: int = 8,
    group_id: Group | Own = OWN,
    generation_id: Number | Own = OWN,
    member_id: Text | Own = OWN,
    group_instance_id: str | None | Own = OWN,
    retention_time_ms: int | None = None,
    topics: Offsets[TopicT],
) -> Request:
    """Commit offsets as a member; `generation_id=-1, member_id=""` commits for nobody in particular."""
    retention = {} if retention_time_ms is None else {"retention_time_ms": retention_time_ms}
    generation = "generation_id_or_member_epoch"
    return Request(
        api="OffsetCommit",
        version=version,
        fields={
            "group_id": group_id,
            generation: generation_id,
            "member_id": member_id,
            "group_instance_id": group_instance_id,
            **retention,
            "topics": committed_topics(topics),
        },
    )


def committed_topics(topics: Offsets[TopicT]) -> Value:
    """Return the `topics` of an OffsetCommit or TxnOffsetCommit."""
    return tuple(
        {"name": topic, "partitions": tuple(_committed(*item) for item in partitions.items())}
        for topic, partitions in topics.items()
    )


def _committed(partition: int, offset: int | tuple[int, str | None]) -> Mapping[str, Value]:
    number, metadata = offset if isinstance(offset, tuple) else (offset, "")
    return {"partition_index": partition, "committed_offset": number, "committed_metadata": metadata}


def offset_fetch(
    *,
    version: int = 6,
    group_id: Group | Own = OWN,
    topics: Partitions[TopicT] | None = None,
    require_stable: bool | None = None,
) -> Request:
    """Ask for a group's committed offsets, all if no topics are named; from v8 on as a batch of one."""
    stable = {} if require_stable is None else {"require_stable": require_stable}
    wanted: Value = (
        None
        if topics is None
        else tuple(
            {"name": topic, "partition_indexes": tuple(partitions)} for topic, partitions in topics.items()
        )
    )
    if version >= 8:
        group = {"group_id": group_id, "topics": wanted}
        fields: dict[str, Value | Own] = {"groups": (group,), **stable}  # type: ignore[dict-item] # OWN within a sequence is filled too
        return Request(api="OffsetFetch", version=version, fields=fields)
    return request("OffsetFetch", version, group_id=group_id, topics=wanted, **stable)


def offset_delete(*, group_id: Group | Own = OWN, topics: Partitions[TopicT]) -> Request:
    """Ask that a group forget some offsets."""
    return request(
        "OffsetDelete",
        0,
        group_id=group_id,
        topics=tuple(
            {"name": topic, "partitions": tuple({"partition_index": index} for index in partitions)}
            for topic, partitions in topics.items()
        ),
    )


def txn_offset_commit(
    *,
    version: int = 2,
    transactional_id: Group = TRANSACTION,
    group_id: Group | Own = OWN,
    producer_id: Number,
    producer_epoch: Number,
    generation_id: Number | Own = -1,
    member_id: Text | Own = "",
    group_instance_id: str | None | Own = None,
    topics: Offsets[TopicT],
) -> Request:
    """Commit offsets as part of a transaction; who commits them for the group travels from v3 on."""
    committer: Mapping[str, Value | Own] = {
        "generation_id": generation_id,
        "member_id": member_id,
        "group_instance_id": group_instance_id,
    }
    return request(
        "TxnOffsetCommit",
        version,
        transactional_id=transactional_id,
        group_id=group_id,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        **committer if version >= 3 else {},
        topics=committed_topics(topics),
    )


def init_producer_id(
    *,
    version: int = 1,
    transactional_id: Group | None = TRANSACTION,
    transaction_timeout_ms: int = TRANSACTION_TIMEOUT_MS,
    producer_id: Number | None = None,
    producer_epoch: Number | None = None,
) -> Request:
    """Ask to be a producer; from v3 on as one that was a producer before, if that is named."""
    former: Mapping[str, Value] = (
        {} if producer_id is None else {"producer_id": producer_id, "producer_epoch": producer_epoch}
    )
    return request(
        "InitProducerId",
        version,
        transactional_id=transactional_id,
        transaction_timeout_ms=transaction_timeout_ms,
        **former,
    )


def add_offsets_to_txn(
    *,
    version: int = 1,
    transactional_id: Group = TRANSACTION,
    producer_id: Number,
    producer_epoch: Number,
    group_id: Group | Own = OWN,
) -> Request:
    """Announce that a transaction will bring offsets for a group."""
    return request(
        "AddOffsetsToTxn",
        version,
        transactional_id=transactional_id,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        group_id=group_id,
    )


def end_txn(
    *,
    version: int = 1,
    transactional_id: Group = TRANSACTION,
    producer_id: Number,
    producer_epoch: Number,
    committed: bool,
) -> Request:
    """Commit or abort a transaction."""
    return request(
        "EndTxn",
        version,
        transactional_id=transactional_id,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        committed=committed,
    )


def write_txn_markers(
    *,
    version: int = 1,
    producer_id: Number,
    producer_epoch: Number,
    committed: bool,
    topics: Partitions[TopicT],
    coordinator_epoch: int = 0,
    transaction_version: int | None = None,
) -> Request:
    """End a producer's transaction in the logs of some partitions, as only brokers usually do.

    The version of the transaction travels from v2 on.
    """
    stated: Mapping[str, Value] = (
        {} if transaction_version is None else {"transaction_version": transaction_version}
    )
    marker: Value = {
        "producer_id": producer_id,
        "producer_epoch": producer_epoch,
        "transaction_result": committed,
        "topics": tuple(
            {"name": topic, "partition_indexes": tuple(partitions)} for topic, partitions in topics.items()
        ),
        "coordinator_epoch": coordinator_epoch,
        **stated,
    }
    return request("WriteTxnMarkers", version, markers=(marker,))


def create_topic(name: Group, *, version: int = 4, num_partitions: int = 1) -> Request:
    """Create one topic; a scenario that deletes it again names it by `group`, so that it is its own."""
    topic: Value = {"name": name, "num_partitions": num_partitions, "replication_factor": 1}
    return request("CreateTopics", version, topics=(topic,), timeout_ms=5_000)


def delete_topic(name: Group, *, version: int = 4) -> Request:
    """Delete one topic by its name."""
    return request("DeleteTopics", version, topic_names=(name,), timeout_ms=5_000)

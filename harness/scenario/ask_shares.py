"""Requests of share groups' members to brokers, and of brokers alone to the share coordinator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from harness.scenario.ask_cluster import request
from harness.scenario.messages import (
    ANY,
    OWN,
    Group,
    Number,
    Own,
    Request,
    RequestFields,
    Text,
    Unpinned,
    builds_request,
)
from harness.scenario.values import GroupRef, ProducedBatch, TopicId, Value
from harness.wire.record_batch import encode_batch, numbered_records

Acknowledged: TypeAlias = Sequence[tuple[int, int, Sequence[int]]]
"""First offset, last offset, and a type for all of them or one for each."""
ShareTopics: TypeAlias = (
    "Mapping[GroupRef, Mapping[int, Acknowledged]] | Mapping[str, Mapping[int, Acknowledged]]"
    "| Mapping[Group, Mapping[int, Acknowledged]]"
)
"""Topic to partition to its acknowledgements."""
Batches: TypeAlias = Sequence[tuple[int, int, int, int]]
"""First offset, last offset, delivery state, delivery count."""

GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)
"""Types of acknowledgement. Source: AcknowledgeType (4.3.1)."""


def events(topic: Group, *batch_sizes: int, partition: int = 0) -> tuple[Request, ...]:
    """Produce batches of these sizes, each with a request of its own."""
    return tuple(produce(topic=topic, partition=partition, size=size) for size in batch_sizes)


def produce(*, topic: Group, partition: int = 0, size: int = 1) -> Request:
    """Produce one batch of `size` records."""
    return _produce(None, topic, partition, encode_batch(numbered_records(size)))


def produce_in_transaction(batch: ProducedBatch, *, transactional_id: Group, topic: Group) -> Request:
    """Produce one batch to partition 0, within a transaction."""
    return _produce(transactional_id, topic, 0, batch)


def _produce(transactional_id: Group | None, topic: Group, partition: int, records: Value) -> Request:
    data: Value = {"name": topic, "partition_data": ({"index": partition, "records": records},)}
    return request(
        "Produce", 9, transactional_id=transactional_id, acks=-1, timeout_ms=5_000, topic_data=(data,)
    )


@builds_request("ShareFetch")
def share_fetch(
    *,
    version: int = 1,
    group_id: Group | None | Own = OWN,
    member_id: Text | None | Own = OWN,
    share_session_epoch: Number,
    topics: ShareTopics | None = None,
    forgets: Mapping[GroupRef, Sequence[int]] | None = None,
    max_wait_ms: int = 4_000,
    min_bytes: int = 1,
    max_bytes: int = 1_000_000,
    max_records: int = 500,
    batch_size: int = 500,
    share_acquire_mode: int | Unpinned = ANY,
    is_renew_ack: bool | Unpinned = ANY,
) -> RequestFields:
    """Fetch records, and acknowledge others. Epoch 0 opens a share session, -1 closes it."""
    forgotten: Value = tuple(
        {"topic_id": topic_id(topic), "partitions": tuple(partitions)}
        for topic, partitions in (forgets or {}).items()
    )
    return {"topics": _topics(topics or {}), "forgets": ANY, "forgotten_topics_data": forgotten}


@builds_request("ShareAcknowledge")
def share_acknowledge(
    *,
    version: int = 1,
    group_id: Group | None | Own = OWN,
    member_id: Text | None | Own = OWN,
    share_session_epoch: Number,
    topics: ShareTopics | None = None,
    is_renew_ack: bool | Unpinned = ANY,
) -> RequestFields:
    """Acknowledge records."""
    return {"topics": _topics(topics or {})}


def _topics(topics: ShareTopics) -> Value:
    return tuple(
        {
            "topic_id": topic_id(topic),
            "partitions": tuple(
                {
                    "partition_index": index,
                    "acknowledgement_batches": tuple(
                        {"first_offset": first, "last_offset": last, "acknowledge_types": tuple(types)}
                        for first, last, types in batches
                    ),
                }
                for index, batches in partitions.items()
            ),
        }
        for topic, partitions in topics.items()
    )


def topic_id(topic: Group) -> Value:
    """Return a reference to a topic's id by name; return a text that has the form of an id unchanged."""
    is_id = isinstance(topic, str) and topic.count("-") == 4
    return topic if is_id else TopicId(topic)


def initialize_share_group_state(
    topic: Group,
    *,
    partition: int = 0,
    group_id: Group | Own = OWN,
    state_epoch: int = 0,
    start_offset: int = 0,
) -> Request:
    """Initialize the state of a share partition; offset -1 leaves the start to the group's configuration."""
    return _state(
        "Initialize", topic, group_id, 0, partition, state_epoch=state_epoch, start_offset=start_offset
    )


def read_share_group_state(
    topic: Group, *, partition: int = 0, group_id: Group | Own = OWN, leader_epoch: int = 0
) -> Request:
    """Read the state of a share partition, as its leader does."""
    return _state("Read", topic, group_id, 0, partition, leader_epoch=leader_epoch)


def write_share_group_state(
    topic: Group,
    *,
    partition: int = 0,
    group_id: Group | Own = OWN,
    state_epoch: int = 0,
    leader_epoch: int = 0,
    start_offset: int = -1,
    batches: Batches = (),
) -> Request:
    """Write the changed state of a share partition, as its leader does."""
    written: Value = tuple(
        {"first_offset": first, "last_offset": last, "delivery_state": state, "delivery_count": count}
        for first, last, state, count in batches
    )
    return _state(
        "Write",
        topic,
        group_id,
        0,
        partition,
        state_epoch=state_epoch,
        leader_epoch=leader_epoch,
        start_offset=start_offset,
        state_batches=written,
    )


def delete_share_group_state(topic: Group, *, partition: int = 0, group_id: Group | Own = OWN) -> Request:
    """Delete the state of a share partition."""
    return _state("Delete", topic, group_id, 0, partition)


def share_group_state_summary(
    topic: Group, *, partition: int = 0, group_id: Group | Own = OWN, version: int = 0
) -> Request:
    """Read the summary of a share partition's state."""
    return _state("Summary", topic, group_id, version, partition, leader_epoch=0)


_APIS: Final = {"Summary": "ReadShareGroupStateSummary"}


def state_api(verb: str) -> str:
    """Return the name of the API for an operation on the state of share partitions."""
    return _APIS.get(verb, f"{verb}ShareGroupState")


def _state(
    verb: str, topic: Group, group_id: Group | Own, version: int, partition: int, **fields: Value
) -> Request:
    data = {"topic_id": topic_id(topic), "partitions": ({"partition": partition, **fields},)}
    return request(state_api(verb), version, group_id=group_id, topics=(data,))

"""Groups, offsets and transactions, written to whatever answers, and what it tells of them afterwards."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from harness.targets.base.dialogue import Answer, Dialogue
from harness.wire.codec import Fields, FieldValue

GROUPS: Final = ("stable", "simple", "left", "deleted", "txn")
TOPIC: Final = "orders"
_SUBSCRIPTION: Final = b"\0\0\0\0\0\1\0\6orders\xff\xff\xff\xff"
_ASSIGNMENT: Final = b"\0\0\0\0\0\1\0\6orders\0\0\0\1\0\0\0\0\xff\xff\xff\xff"
_TIMEOUT_MS: Final = 60_000
_POLL_S: Final = 0.05
_POLLS: Final = 200
_POLLS_OF_STATES: Final = 40
"""Longer than any broker loads a log of a few records."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """What a coordinator says of the groups."""

    groups: Mapping[str, FieldValue]
    """DescribeGroups."""
    offsets: Mapping[tuple[str, int], tuple[int, str | None, str | None]]
    """Offset, metadata and error by group and partition, as one is told who wants them stable."""
    listed: frozenset[tuple[str | None, str | None]]
    """Group and protocol type."""


class _Member(NamedTuple):
    member_id: str
    generation_id: int


async def write(dialogue: Dialogue, *, offset: int) -> None:
    """Leave a group in each condition that a log can tell of; offsets begin with the one given."""
    await dialogue.learn_versions()
    await _until(dialogue, "FindCoordinator", 2, {"key": "stable", "key_type": 0})
    await _until_loaded(dialogue)
    member = await _join(dialogue, "stable", instance="i")
    await _commit(dialogue, "stable", offset, member=member)
    member = await _join(dialogue, "left")
    await _commit(dialogue, "left", offset, member=member)
    await _ask(dialogue, "LeaveGroup", 1, {"group_id": "left", "member_id": member.member_id})
    await _commit(dialogue, "simple", offset)
    await _commit(dialogue, "simple", offset + 1, partition=1, retention_time_ms=_TIMEOUT_MS * 60)
    await _commit(dialogue, "deleted", offset)
    await dialogue.ask("DeleteGroups", 1, {"groups_names": ["deleted"]})
    for partition, ending in enumerate((True, False, None)):
        await _transaction(dialogue, offset, partition, ending=ending)


async def tell(dialogue: Dialogue) -> Observed:
    """Ask for everything, again as long as it is loading."""
    await dialogue.learn_versions()
    await _until_loaded(dialogue)
    described = await dialogue.ask("DescribeGroups", 5, {"groups": list(GROUPS)})
    listed = await dialogue.ask("ListGroups", 3, {})
    offsets: dict[tuple[str, int], tuple[int, str | None, str | None]] = {}
    for group in GROUPS:
        for partition in range(3):
            row = await _fetch(dialogue, group, partition)
            offsets[group, partition] = (
                row.number("committed_offset"),
                row.text("metadata"),
                row.text("error_code"),
            )
    return Observed(
        groups={str(row.text("group_id")): dict(row.fields) for row in described.rows("groups")},
        offsets=offsets,
        listed=frozenset((row.text("group_id"), row.text("protocol_type")) for row in listed.rows("groups")),
    )


async def described(dialogue: Dialogue) -> Mapping[str | None, tuple[str | None, str | None]]:
    """Ask for error and state of each group, again as long as it is loading.

    A broker that has just started says NOT_COORDINATOR before it loads, and some say so for good after it.
    """
    await dialogue.learn_versions()
    return await _states(dialogue, _POLLS_OF_STATES)


async def _states(dialogue: Dialogue, polls: int) -> Mapping[str | None, tuple[str | None, str | None]]:
    """Ask for error and state of each group until there is no error, or often enough."""
    rows: dict[str | None, tuple[str | None, str | None]] = {}
    for _ in range(polls):
        answer = await dialogue.ask("DescribeGroups", 5, {"groups": list(GROUPS)})
        rows = {
            row.text("group_id"): (row.text("error_code"), row.text("group_state"))
            for row in answer.rows("groups")
        }
        if all(error == "NONE" for error, _ in rows.values()):
            break
        await asyncio.sleep(_POLL_S)
    return rows


async def _join(dialogue: Dialogue, group: str, *, instance: str | None = None) -> _Member:
    """Make a group of one member, static where it has an instance id."""
    protocols: Sequence[Fields] = [{"name": "range", "metadata": _SUBSCRIPTION}]
    joining: Fields = {
        "group_id": group,
        "session_timeout_ms": _TIMEOUT_MS,
        "rebalance_timeout_ms": _TIMEOUT_MS,
        "member_id": "",
        "protocol_type": "consumer",
        "protocols": protocols,
    }
    # From version 4 on a dynamic member has to come twice.
    static: Fields = {} if instance is None else {"group_instance_id": instance}
    joined = await _ask(dialogue, "JoinGroup", 3 if instance is None else 5, {**joining, **static})
    member = _Member(joined.text("member_id") or "", joined.number("generation_id"))
    assignments: Sequence[Fields] = [{"member_id": member.member_id, "assignment": _ASSIGNMENT}]
    syncing: Fields = {
        "group_id": group,
        "generation_id": member.generation_id,
        "member_id": member.member_id,
        "assignments": assignments,
    }
    await _ask(dialogue, "SyncGroup", 2, syncing)
    return member


async def _commit(
    dialogue: Dialogue,
    group: str,
    offset: int,
    *,
    partition: int = 0,
    retention_time_ms: int | None = None,
    member: _Member | None = None,
) -> None:
    row: Fields = {"partition_index": partition, "committed_offset": offset, "committed_metadata": "mé"}
    fields: Fields = {
        "group_id": group,
        "generation_id_or_member_epoch": -1 if member is None else member.generation_id,
        "member_id": "" if member is None else member.member_id,
        "topics": [{"name": TOPIC, "partitions": [row]}],
    }
    if retention_time_ms is None:
        answer = await dialogue.ask("OffsetCommit", 5, fields)
    else:
        answer = await dialogue.ask("OffsetCommit", 4, {**fields, "retention_time_ms": retention_time_ms})
    _expect(answer.rows("topics")[0].rows("partitions")[0], "NONE")


async def _transaction(dialogue: Dialogue, offset: int, partition: int, *, ending: bool | None) -> None:
    """Commit an offset in a transaction, and end that as told, or not at all."""
    transactional_id = f"t{partition}"
    await _until(dialogue, "FindCoordinator", 2, {"key": transactional_id, "key_type": 1})
    producer = await _until(
        dialogue,
        "InitProducerId",
        1,
        {"transactional_id": transactional_id, "transaction_timeout_ms": _TIMEOUT_MS * 10},
    )
    who: Fields = {
        "transactional_id": transactional_id,
        "producer_id": producer.number("producer_id"),
        "producer_epoch": producer.number("producer_epoch"),
    }
    await _until(dialogue, "AddOffsetsToTxn", 1, {**who, "group_id": "txn"})
    row: Fields = {
        "partition_index": partition,
        "committed_offset": offset,
        "committed_leader_epoch": -1,
        "committed_metadata": "t",
    }
    topics: Sequence[Fields] = [{"name": TOPIC, "partitions": [row]}]
    answer = await dialogue.ask("TxnOffsetCommit", 2, {**who, "group_id": "txn", "topics": topics})
    _expect(answer.rows("topics")[0].rows("partitions")[0], "NONE")
    if ending is None:
        return
    await _ask(dialogue, "EndTxn", 1, {**who, "committed": ending})
    for _ in range(_POLLS):
        if (await _fetch(dialogue, "txn", partition)).text("error_code") == "NONE":
            return
        await asyncio.sleep(_POLL_S)
    raise AssertionError(f"the transaction of partition {partition} does not end")


async def _fetch(dialogue: Dialogue, group: str, partition: int) -> Answer:
    topics: Sequence[Fields] = [{"name": TOPIC, "partition_indexes": [partition]}]
    answer = await dialogue.ask(
        "OffsetFetch", 7, {"group_id": group, "topics": topics, "require_stable": True}
    )
    _expect(answer, "NONE")
    return answer.rows("topics")[0].rows("partitions")[0]


async def _until_loaded(dialogue: Dialogue) -> None:
    states = await _states(dialogue, _POLLS)
    assert all(error == "NONE" for error, _ in states.values()), "it does not come to coordinate the groups"


async def _until(dialogue: Dialogue, api: str, version: int, fields: Fields) -> Answer:
    """Ask until the answer is NONE."""
    for _ in range(_POLLS):
        answer = await dialogue.ask(api, version, fields)
        if answer.text("error_code") == "NONE":
            return answer
        await asyncio.sleep(_POLL_S)
    raise AssertionError(f"{api} does not come to answer NONE")


async def _ask(dialogue: Dialogue, api: str, version: int, fields: Fields) -> Answer:
    answer = await dialogue.ask(api, version, fields)
    _expect(answer, "NONE")
    return answer


def _expect(answer: Answer, error: str) -> None:
    assert answer.text("error_code") == error, answer.fields

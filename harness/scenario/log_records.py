"""Builders of records of `__consumer_offsets`, of any type and version, to write into a log from outside.

A record is a key and a value as data; it is encoded when it is written, since a group has its id only then.
Timestamps are so far in the future that nothing expires because of them.
"""

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from harness.scenario.ask import REBALANCE_TIMEOUT_MS, SESSION_TIMEOUT_MS, subscription
from harness.scenario.values import GroupRef, Value, phrase

LogRecord: TypeAlias = Mapping[str, Value]
"""A `key` and a `value`, as `harness.wire.log_records` encodes them."""
YEAR_2100_MS: Final = 4_102_444_800_000
_MAIN: Final = GroupRef("main")
_KINDS: Final[Mapping[Value, str]] = {0: "an offset of type 0", 1: "an offset", 2: "a group"}


def offset_record(
    topic: str,
    partition: int,
    offset: int,
    *,
    group: GroupRef = _MAIN,
    key_type: int = 1,
    version: int = 3,
    leader_epoch: int = -1,
    metadata: str = "",
    commit_timestamp_ms: int = YEAR_2100_MS,
) -> LogRecord:
    """Return the record of a committed offset. Source: OffsetCommitKey.json, OffsetCommitValue.json."""
    return {
        "key": {"type": key_type, "group": group, "topic": topic, "partition": partition},
        "value": {
            "version": version,
            "offset": offset,
            "leader_epoch": leader_epoch,
            "metadata": metadata,
            "commit_timestamp": commit_timestamp_ms,
            "expire_timestamp": YEAR_2100_MS,
        },
    }


def offset_tombstone(topic: str, partition: int, *, group: GroupRef = _MAIN, key_type: int = 1) -> LogRecord:
    """Return the tombstone of a committed offset."""
    return {
        "key": {"type": key_type, "group": group, "topic": topic, "partition": partition},
        "value": None,
    }


def logged_member(
    member_id: str,
    *,
    group_instance_id: str | None = None,
    assignment: bytes = b"",
    session_timeout_ms: int = SESSION_TIMEOUT_MS,
    rebalance_timeout_ms: int = REBALANCE_TIMEOUT_MS,
) -> LogRecord:
    """Return a member for a group record. Source: GroupMetadataValue.json."""
    return {
        "member_id": member_id,
        "group_instance_id": group_instance_id,
        "client_id": member_id,
        "client_host": "/127.0.0.1",
        "rebalance_timeout": rebalance_timeout_ms,
        "session_timeout": session_timeout_ms,
        "subscription": subscription("orders"),
        "assignment": assignment,
    }


def group_record(
    *members: LogRecord,
    group: GroupRef = _MAIN,
    version: int = 3,
    generation: int = 1,
    protocol_type: str = "consumer",
    protocol: str | None = "range",
) -> LogRecord:
    """Return a group's record, Stable with members and Empty without. Source: GroupMetadataValue.json."""
    return {
        "key": {"type": 2, "group": group},
        "value": {
            "version": version,
            "protocol_type": protocol_type,
            "generation": generation,
            "protocol": protocol if members else None,
            "leader": members[0]["member_id"] if members else None,
            "current_state_timestamp": YEAR_2100_MS,
            "members": members,
        },
    }


def group_tombstone(*, group: GroupRef = _MAIN) -> LogRecord:
    """Return the tombstone of a group."""
    return {"key": {"type": 2, "group": group}, "value": None}


def with_value(record: LogRecord, value: bytes) -> LogRecord:
    """Return a record with other bytes as its value, valid or not."""
    return {**record, "value": value}


def record_of_type(key_type: int, *, key: bytes = b"", value: bytes | None = b"") -> LogRecord:
    """Return a record of a type that has no builder here, or that does not exist."""
    return {"key": {"type": key_type, "content": key}, "value": value}


def reported(records: Sequence[LogRecord]) -> str:
    """Describe records in words."""
    return ", ".join(_reported(record) for record in records)


def _reported(record: LogRecord) -> str:
    key, value = record["key"], record["value"]
    assert isinstance(key, Mapping)
    what = _KINDS.get(key["type"], f"a record of type {phrase(key['type'])}")
    return f"{what} ({_value_text(value)})"


def _value_text(value: Value) -> str:
    match value:
        case None:
            return "a tombstone"
        case {"version": version}:
            return f"v{phrase(version)}"
        case bytes():
            return f"{len(value)} bytes"
        case _:
            raise AssertionError("a value is a tombstone, bytes, or of a version")

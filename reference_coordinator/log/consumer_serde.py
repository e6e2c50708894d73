"""Records of consumer groups to keys and values, in the fields that a release writes; and back.

Keys have their type before them, values their version, of which there is one.

Source: GroupCoordinatorRecordHelpers, GroupCoordinatorRecordSerde (4.3.1).
"""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Final, assert_never

from reference_coordinator.core.consumer_records import (
    ClassicMemberMetadata,
    ClassicProtocol,
    ConsumerGroupCurrentMemberAssignmentRecord,
    ConsumerGroupCurrentMemberAssignmentTombstone,
    ConsumerGroupMemberMetadataRecord,
    ConsumerGroupMemberMetadataTombstone,
    ConsumerGroupMetadataRecord,
    ConsumerGroupMetadataTombstone,
    ConsumerGroupPartitionMetadataRecord,
    ConsumerGroupPartitionMetadataTombstone,
    ConsumerGroupRecord,
    ConsumerGroupRegularExpressionRecord,
    ConsumerGroupRegularExpressionTombstone,
    ConsumerGroupTargetAssignmentMemberRecord,
    ConsumerGroupTargetAssignmentMemberTombstone,
    ConsumerGroupTargetAssignmentMetadataRecord,
    ConsumerGroupTargetAssignmentMetadataTombstone,
    MemberState,
    TopicMetadata,
    TopicPartitions,
)
from reference_coordinator.core.ids import Millis
from reference_coordinator.log.message_codec import Fields, message_type, read_message, write_message
from reference_coordinator.profile.behaviours import Behaviour
from reference_coordinator.profile.profiles import Profile

_PREFIX_BYTES: Final = 2
_VERSION: Final = 0

_METADATA: Final = "ConsumerGroupMetadata"
_PARTITION_METADATA: Final = "ConsumerGroupPartitionMetadata"
_MEMBER_METADATA: Final = "ConsumerGroupMemberMetadata"
_TARGET_METADATA: Final = "ConsumerGroupTargetAssignmentMetadata"
_TARGET_MEMBER: Final = "ConsumerGroupTargetAssignmentMember"
_CURRENT_MEMBER: Final = "ConsumerGroupCurrentMemberAssignment"
_REGULAR_EXPRESSION: Final = "ConsumerGroupRegularExpression"
_NAMES: Final[Mapping[int, str]] = MappingProxyType(
    {
        message_type(f"{name}Key"): name
        for name in (
            _METADATA,
            _PARTITION_METADATA,
            _MEMBER_METADATA,
            _TARGET_METADATA,
            _TARGET_MEMBER,
            _CURRENT_MEMBER,
            _REGULAR_EXPRESSION,
        )
    }
)
"""What records say, by the type of their keys."""
CONSUMER_RECORD_TYPES: Final = frozenset(_NAMES)
"""The types of the records of consumer groups."""
CONSUMER_TOMBSTONES: Final = (
    ConsumerGroupMetadataTombstone,
    ConsumerGroupPartitionMetadataTombstone,
    ConsumerGroupMemberMetadataTombstone,
    ConsumerGroupTargetAssignmentMetadataTombstone,
    ConsumerGroupTargetAssignmentMemberTombstone,
    ConsumerGroupCurrentMemberAssignmentTombstone,
    ConsumerGroupRegularExpressionTombstone,
)
"""The records without a value."""


def write_consumer_record(record: ConsumerGroupRecord, profile: Profile) -> tuple[bytes, bytes | None]:
    """Return the key and the value that a release writes; a tombstone has no value.

    Raises:
        ValueError, TypeError, struct.error: a text or a number does not fit.
    """
    name, key = _key(record)
    found = _value(record, profile)
    type_of_key = message_type(f"{name}Key")
    return (
        type_of_key.to_bytes(_PREFIX_BYTES, "big") + write_message(f"{name}Key", _VERSION, key),
        None
        if found is None
        else _VERSION.to_bytes(_PREFIX_BYTES, "big") + write_message(f"{name}Value", _VERSION, found),
    )


def read_consumer_record(key: bytes, value: bytes | None, profile: Profile) -> ConsumerGroupRecord:
    """Return what a loader makes of a record of one of `CONSUMER_RECORD_TYPES`.

    Raises:
        ValueError, IndexError, struct.error: its key or value is no such message, or of an unknown version.
    """
    name = _NAMES[int.from_bytes(key[:_PREFIX_BYTES], "big", signed=True)]
    key_fields = read_message(f"{name}Key", _VERSION, key, _PREFIX_BYTES)
    if value is None:
        return _TOMBSTONES[name](**key_fields)
    if len(value) < _PREFIX_BYTES:
        raise ValueError("its value ends before its version")
    version = int.from_bytes(value[:_PREFIX_BYTES], "big", signed=True)
    if version != _VERSION:
        raise ValueError(f"its value is {name} of version {version}, which this release does not know")
    return _RECORDS[name](key_fields, read_message(f"{name}Value", _VERSION, value, _PREFIX_BYTES), profile)


def type_and_name(record: ConsumerGroupRecord) -> tuple[int, str]:
    """Return the type of a record's key, and the member or expression that it names, empty for neither."""
    name, key = _key(record)
    return message_type(f"{name}Key"), key.get("member_id", key.get("regular_expression", ""))


def _key(record: ConsumerGroupRecord) -> tuple[str, Fields]:
    group: Fields = {"group_id": record.group_id}
    match record:
        case ConsumerGroupMetadataRecord() | ConsumerGroupMetadataTombstone():
            return _METADATA, group
        case ConsumerGroupPartitionMetadataRecord() | ConsumerGroupPartitionMetadataTombstone():
            return _PARTITION_METADATA, group
        case ConsumerGroupTargetAssignmentMetadataRecord() | ConsumerGroupTargetAssignmentMetadataTombstone():
            return _TARGET_METADATA, group
        case ConsumerGroupMemberMetadataRecord() | ConsumerGroupMemberMetadataTombstone():
            return _MEMBER_METADATA, {**group, "member_id": record.member_id}
        case ConsumerGroupTargetAssignmentMemberRecord() | ConsumerGroupTargetAssignmentMemberTombstone():
            return _TARGET_MEMBER, {**group, "member_id": record.member_id}
        case ConsumerGroupCurrentMemberAssignmentRecord() | ConsumerGroupCurrentMemberAssignmentTombstone():
            return _CURRENT_MEMBER, {**group, "member_id": record.member_id}
        case ConsumerGroupRegularExpressionRecord() | ConsumerGroupRegularExpressionTombstone():
            return _REGULAR_EXPRESSION, {**group, "regular_expression": record.regular_expression}
        case _:
            assert_never(record)


def _value(record: ConsumerGroupRecord, profile: Profile) -> Fields | None:
    match record:
        case ConsumerGroupMetadataRecord():
            has_hash = profile.has(Behaviour.SUBSCRIPTION_METADATA_IS_HASHED)
            return {"epoch": record.epoch, "metadata_hash": record.metadata_hash if has_hash else 0}
        case ConsumerGroupPartitionMetadataRecord():
            return {"topics": tuple(_written_topic(each) for each in record.topics)}
        case ConsumerGroupMemberMetadataRecord():
            return _written_member(record)
        case ConsumerGroupTargetAssignmentMetadataRecord():
            has_timestamp = profile.has(Behaviour.ASSIGNMENT_INTERVAL_KEPT)
            return {
                "assignment_epoch": record.assignment_epoch,
                "assignment_timestamp": record.assignment_timestamp_ms if has_timestamp else 0,
            }
        case ConsumerGroupTargetAssignmentMemberRecord():
            return {"topic_partitions": _written_partitions(record.topic_partitions, has_epochs=False)}
        case ConsumerGroupCurrentMemberAssignmentRecord():
            return _written_assignment(
                record, has_epochs=profile.has(Behaviour.PARTITIONS_HAVE_ASSIGNMENT_EPOCHS)
            )
        case ConsumerGroupRegularExpressionRecord():
            return {"topics": record.topics, "version": record.version, "timestamp": record.timestamp_ms}
        case _:
            return None


def _written_topic(topic: TopicMetadata) -> Fields:
    return {
        "topic_id": topic.topic_id,
        "topic_name": topic.topic_name,
        "num_partitions": topic.num_partitions,
        "partition_metadata": tuple(
            {"partition": partition, "racks": racks} for partition, racks in topic.racks
        ),
    }


def _written_member(record: ConsumerGroupMemberMetadataRecord) -> Fields:
    classic = record.classic_member_metadata
    return {
        "instance_id": record.instance_id,
        "rack_id": record.rack_id,
        "client_id": record.client_id,
        "client_host": record.client_host,
        "subscribed_topic_names": record.subscribed_topic_names,
        "subscribed_topic_regex": record.subscribed_topic_regex,
        "rebalance_timeout_ms": record.rebalance_timeout_ms,
        "server_assignor": record.server_assignor,
        "classic_member_metadata": None
        if classic is None
        else {
            "session_timeout_ms": classic.session_timeout_ms,
            "supported_protocols": tuple(
                {"name": each.name, "metadata": each.metadata} for each in classic.supported_protocols
            ),
        },
    }


def _written_assignment(record: ConsumerGroupCurrentMemberAssignmentRecord, *, has_epochs: bool) -> Fields:
    return {
        "member_epoch": record.member_epoch,
        "previous_member_epoch": record.previous_member_epoch,
        "state": record.state,
        "assigned_partitions": _written_partitions(record.assigned_partitions, has_epochs=has_epochs),
        "partitions_pending_revocation": _written_partitions(
            record.partitions_pending_revocation, has_epochs=has_epochs
        ),
    }


def _written_partitions(topics: Iterable[TopicPartitions], *, has_epochs: bool) -> tuple[Fields, ...]:
    return tuple(
        {
            "topic_id": each.topic_id,
            "partitions": each.partitions,
            "assignment_epochs": each.assignment_epochs if has_epochs else None,
        }
        for each in topics
    )


def _read_epoch(key: Fields, found: Fields, profile: Profile) -> ConsumerGroupRecord:
    has_hash = profile.has(Behaviour.SUBSCRIPTION_METADATA_IS_HASHED)
    return ConsumerGroupMetadataRecord(
        **key, epoch=found["epoch"], metadata_hash=found["metadata_hash"] if has_hash else 0
    )


def _read_topics(key: Fields, found: Fields, _: Profile) -> ConsumerGroupRecord:
    topics = (
        TopicMetadata(
            topic_id=each["topic_id"],
            topic_name=each["topic_name"],
            num_partitions=each["num_partitions"],
            racks=tuple((place["partition"], place["racks"]) for place in each["partition_metadata"]),
        )
        for each in found["topics"]
    )
    return ConsumerGroupPartitionMetadataRecord(**key, topics=tuple(topics))


def _read_member(key: Fields, found: Fields, _: Profile) -> ConsumerGroupRecord:
    classic = found["classic_member_metadata"]
    brought = None
    if classic is not None:
        protocols = (ClassicProtocol(**each) for each in classic["supported_protocols"])
        brought = ClassicMemberMetadata(
            session_timeout_ms=classic["session_timeout_ms"], supported_protocols=tuple(protocols)
        )
    return ConsumerGroupMemberMetadataRecord(**key, **{**found, "classic_member_metadata": brought})


def _read_target_epoch(key: Fields, found: Fields, profile: Profile) -> ConsumerGroupRecord:
    has_timestamp = profile.has(Behaviour.ASSIGNMENT_INTERVAL_KEPT)
    return ConsumerGroupTargetAssignmentMetadataRecord(
        **key,
        assignment_epoch=found["assignment_epoch"],
        assignment_timestamp_ms=Millis(found["assignment_timestamp"] if has_timestamp else 0),
    )


def _read_target(key: Fields, found: Fields, _: Profile) -> ConsumerGroupRecord:
    topics = _read_partitions(found["topic_partitions"], has_epochs=False)
    return ConsumerGroupTargetAssignmentMemberRecord(**key, topic_partitions=topics)


def _read_assignment(key: Fields, found: Fields, profile: Profile) -> ConsumerGroupRecord:
    has_epochs = profile.has(Behaviour.PARTITIONS_HAVE_ASSIGNMENT_EPOCHS)
    pending = found["partitions_pending_revocation"]
    return ConsumerGroupCurrentMemberAssignmentRecord(
        **key,
        member_epoch=found["member_epoch"],
        previous_member_epoch=found["previous_member_epoch"],
        state=_read_state(found["state"]),
        assigned_partitions=_read_partitions(found["assigned_partitions"], has_epochs=has_epochs),
        partitions_pending_revocation=_read_partitions(pending, has_epochs=has_epochs),
    )


def _read_state(number: int) -> MemberState:
    """Source: MemberState#fromValue (4.3.1)."""
    return MemberState(number) if number in frozenset(MemberState) else MemberState.UNKNOWN


def _read_partitions(topics: Iterable[Fields], *, has_epochs: bool) -> tuple[TopicPartitions, ...]:
    return tuple(
        TopicPartitions(
            topic_id=each["topic_id"],
            partitions=each["partitions"],
            assignment_epochs=each["assignment_epochs"] if has_epochs else None,
        )
        for each in topics
    )


def _read_regular_expression(key: Fields, found: Fields, _: Profile) -> ConsumerGroupRecord:
    return ConsumerGroupRegularExpressionRecord(
        **key,
        topics=found["topics"],
        version=found["version"],
        timestamp_ms=Millis(found["timestamp"]),
    )


_RECORDS: Final[Mapping[str, Callable[[Fields, Fields, Profile], ConsumerGroupRecord]]] = MappingProxyType(
    {
        _METADATA: _read_epoch,
        _PARTITION_METADATA: _read_topics,
        _MEMBER_METADATA: _read_member,
        _TARGET_METADATA: _read_target_epoch,
        _TARGET_MEMBER: _read_target,
        _CURRENT_MEMBER: _read_assignment,
        _REGULAR_EXPRESSION: _read_regular_expression,
    }
)
_TOMBSTONES: Final[Mapping[str, Callable[..., ConsumerGroupRecord]]] = MappingProxyType(
    dict(zip(_NAMES.values(), CONSUMER_TOMBSTONES, strict=True))
)
"""Their fields are those of the key."""

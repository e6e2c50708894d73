"""Records of share groups to keys and values, and back: their fields are those of Kafka's messages.

Source: GroupCoordinatorRecordHelpers, GroupCoordinatorRecordSerde (4.3.1).
"""

import dataclasses
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from reference_coordinator.core.consumer_records import MemberState, TopicMetadata
from reference_coordinator.core.share_records import (
    SHARE_RECORDS,
    ShareGroupPartitionMetadataRecord,
    ShareGroupRecord,
    ShareGroupTombstone,
    ShareTopicPartitions,
    TopicInfo,
    TopicPartitionsInfo,
)
from reference_coordinator.log.message_codec import Fields, read_message, write_message
from reference_coordinator.profile.behaviours import Behaviour
from reference_coordinator.profile.profiles import Profile

SHARE_RECORD_TYPES: Final = frozenset(SHARE_RECORDS)
"""The types of the records of share groups."""
SHARE_TOMBSTONES: Final = tuple(tombstone for _, tombstone in SHARE_RECORDS.values())
"""The records without a value."""
_OF_TOPICS: Final = 9
_PREFIX_BYTES: Final = 2
_VERSION: Final = 0
_TYPES: Final = {cls: key_type for key_type, pair in SHARE_RECORDS.items() for cls in pair}
_NAMES: Final = {
    key_type: pair[0].__name__.removesuffix("Record") for key_type, pair in SHARE_RECORDS.items()
}
_KEY_FIELDS: Final = ("group_id", "member_id")
_PARTS: Final[Mapping[str, type[Any]]] = MappingProxyType(
    {
        "topic_partitions": ShareTopicPartitions,
        "assigned_partitions": ShareTopicPartitions,
        "initializing_topics": TopicPartitionsInfo,
        "initialized_topics": TopicPartitionsInfo,
        "deleting_topics": TopicInfo,
    }
)
"""What the items of an array are."""


def share_record_types(profile: Profile) -> frozenset[int]:
    """Return the types that a release knows: the subscribed topics have none from 4.1 on."""
    if profile.has(Behaviour.SUBSCRIPTION_METADATA_IS_HASHED):
        return SHARE_RECORD_TYPES - {_OF_TOPICS}
    return SHARE_RECORD_TYPES


def type_and_member(record: ShareGroupRecord) -> tuple[int, str]:
    """Return the type of a record's key, and the member that it names, empty for none."""
    return _TYPES[type(record)], getattr(record, "member_id", "")


def write_share_record(record: ShareGroupRecord) -> tuple[bytes, bytes | None]:
    """Return the key and the value; a tombstone has no value.

    Raises:
        ValueError, TypeError, struct.error: a text or a number does not fit.
    """
    key_type = _TYPES[type(record)]
    name = _NAMES[key_type]
    fields = {each.name: getattr(record, each.name) for each in dataclasses.fields(record)}
    key_fields: Fields = {str(each): fields.pop(each) for each in _KEY_FIELDS if each in fields}
    key = key_type.to_bytes(_PREFIX_BYTES, "big") + write_message(f"{name}Key", _VERSION, key_fields)
    if isinstance(record, ShareGroupTombstone):
        return key, None
    if isinstance(record, ShareGroupPartitionMetadataRecord):
        written: Fields = {"topics": tuple(_written_topic(each) for each in record.topics)}
    else:
        written = {each: _written(value) for each, value in fields.items()}
    prefix = _VERSION.to_bytes(_PREFIX_BYTES, "big")
    return key, prefix + write_message(f"{name}Value", _VERSION, written)


def _written(value: object) -> object:
    if isinstance(value, tuple):
        return tuple(dataclasses.asdict(each) if dataclasses.is_dataclass(each) else each for each in value)  # type: ignore[arg-type] # an instance
    return value


def _written_topic(topic: TopicMetadata) -> Fields:
    return {
        "topic_id": topic.topic_id,
        "topic_name": topic.topic_name,
        "num_partitions": topic.num_partitions,
        "partition_metadata": tuple({"partition": each, "racks": racks} for each, racks in topic.racks),
    }


def read_share_record(key: bytes, value: bytes | None) -> ShareGroupRecord:
    """Return what a loader makes of a record of one of `SHARE_RECORD_TYPES`.

    Raises:
        ValueError, IndexError, struct.error: its key or value is no such message, or of an unknown version.
    """
    key_type = int.from_bytes(key[:_PREFIX_BYTES], "big", signed=True)
    record, tombstone = SHARE_RECORDS[key_type]
    name = _NAMES[key_type]
    key_fields = read_message(f"{name}Key", _VERSION, key, _PREFIX_BYTES)
    if value is None:
        return tombstone(**key_fields)
    if len(value) < _PREFIX_BYTES:
        raise ValueError("its value ends before its version")
    version = int.from_bytes(value[:_PREFIX_BYTES], "big", signed=True)
    if version != _VERSION:
        raise ValueError(f"its value is {name} of version {version}, which this release does not know")
    found = read_message(f"{name}Value", _VERSION, value, _PREFIX_BYTES)
    return record(**key_fields, **{field: _read(field, each) for field, each in found.items()})


def _read(field: str, value: Any) -> Any:  # noqa: ANN401 - whatever the codec has read
    if field == "state":
        return MemberState(value) if value in frozenset(MemberState) else MemberState.UNKNOWN
    if field == "topics":
        return tuple(
            TopicMetadata(
                topic_id=each["topic_id"],
                topic_name=each["topic_name"],
                num_partitions=each["num_partitions"],
                racks=tuple((place["partition"], place["racks"]) for place in each["partition_metadata"]),
            )
            for each in value
        )
    if field in _PARTS:
        return tuple(_PARTS[field](**each) for each in value)
    return value

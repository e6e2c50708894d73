"""Classes made of Kafka's message definitions: as kio makes its own, and byte by byte where kio has none."""

import dataclasses
import typing
from types import UnionType
from typing import Any

import pytest
from kio.index import UnknownAPIKey
from kio.index import load_request_schema as load_request_of_kio
from kio.index import load_response_schema as load_response_of_kio
from kio.schema.index import schema_name_map
from kio.static.constants import EntityType

from harness.wire.codec import Fields, decode_request, decode_response, encode_request, encode_response
from harness.wire.schema import API_NAMES
from kio_extension import UnknownEntity, load_request_schema
from kio_extension.classes import made_class
from kio_extension.definitions import Versions, message

DEFINED = [
    (key, version)
    for key, name in API_NAMES.items()
    if (body := message(f"{name}Request")) is not None
    for version in range(16)
    if version in body.valid_versions
]
LACKED = {
    "ApiVersions": {5},
    "DeleteGroups": {3},
    "DeleteTopics": {0},
    "DescribeLogDirs": {0},
    "OffsetCommit": {0, 1},
    "OffsetFetch": {0},
    "StreamsGroupDescribe": {1},
    "StreamsGroupHeartbeat": {1},
    "StreamsGroupTopologyDescriptionUpdate": {0},
    "TxnOffsetCommit": {6},
    "WriteTxnMarkers": {0},
    "ShareGroupDescribe": {0},
    "ShareGroupHeartbeat": {0},
}


def known_to_kio(key: int, version: int) -> bool:
    try:
        load_request_of_kio(key, version)
    except (UnknownAPIKey, UnknownEntity):
        return False
    return True


def description(entity: type[Any] | None) -> tuple[object, ...]:
    """What a reader or writer takes from a class."""
    assert entity is not None
    names = ("__name__", "__type__", "__version__", "__flexible__", "__header_schema__")
    attributes = tuple(getattr(entity, name) for name in names)
    return (*attributes, tuple(map(field_description, dataclasses.fields(entity))))


def field_description(field: dataclasses.Field[Any]) -> tuple[object, ...]:
    annotation: Any = field.type
    is_nullable = isinstance(annotation, UnionType) or typing.get_origin(annotation) is typing.Union
    if is_nullable:
        (annotation,) = (each for each in typing.get_args(annotation) if each is not type(None))
    is_array = typing.get_origin(annotation) is tuple
    inner = typing.get_args(annotation)[0] if is_array else annotation
    nested = description(inner) if isinstance(inner, type) and dataclasses.is_dataclass(inner) else None
    return field.name, dict(field.metadata), field.default, is_nullable, is_array, nested


@pytest.mark.parametrize(("key", "version"), [each for each in DEFINED if known_to_kio(*each)])
def test_classes_are_those_that_kio_would_make(key: int, version: int) -> None:
    assert description(made_class(key, version, EntityType.request)) == description(
        load_request_of_kio(key, version)
    )
    assert description(made_class(key, version, EntityType.response)) == description(
        load_response_of_kio(key, version)
    )


def test_what_kio_lacks_is_just_this() -> None:
    lacked: dict[str, set[int]] = {}
    for key, version in DEFINED:
        if not known_to_kio(key, version):
            lacked.setdefault(API_NAMES[key], set()).add(version)

    assert lacked == LACKED
    assert len(DEFINED) - sum(map(len, LACKED.values())) > 30


def test_a_version_that_nobody_has_is_unknown() -> None:
    with pytest.raises(UnknownEntity):
        load_request_schema(8, 11)
    with pytest.raises(UnknownEntity):
        load_request_schema(11, 99)
    assert 99 not in schema_name_map["join_group"]


COMMIT_HEAD = "0008 {version:04x} 00000007 0001 63 0001 67"
COMMIT_TAIL = "00000001 0001 74 00000001 00000002 000000000000002a"


@pytest.mark.parametrize(
    ("version", "who", "timestamp"),
    [(0, "", ""), (1, "00000005 0001 6d", "0000000000000009")],
)
def test_a_commit_of_a_first_version_is_written_as_kafka_reads_it(
    version: int, who: str, timestamp: str
) -> None:
    member: Fields = {"generation_id_or_member_epoch": 5, "member_id": "m"} if version else {}
    timed: Fields = {"commit_timestamp": 9} if version else {}
    partition: Fields = {"partition_index": 2, "committed_offset": 42, "committed_metadata": "y", **timed}
    fields: Fields = {"group_id": "g", **member, "topics": ({"name": "t", "partitions": (partition,)},)}

    frame = encode_request("OffsetCommit", version, correlation_id=7, client_id="c", fields=fields)

    expected = f"{COMMIT_HEAD.format(version=version)} {who} {COMMIT_TAIL} {timestamp} 0001 79"
    assert frame.hex() == expected.replace(" ", "")
    decoded = decode_request("OffsetCommit", version, frame)
    assert decoded.reencodes
    assert decoded.fields["topics"] == [{"name": "t", "partitions": [partition]}]


@pytest.mark.parametrize(
    ("api", "version", "frame", "fields"),
    [
        (
            "OffsetCommit",
            0,
            "00000007 00000001 0001 74 00000001 00000002 0023",
            {
                "topics": [
                    {
                        "name": "t",
                        "partitions": [{"partition_index": 2, "error_code": "UNSUPPORTED_VERSION"}],
                    }
                ]
            },
        ),
        (
            "DeleteTopics",
            0,
            "00000007 00000001 0001 74 0003",
            {"responses": [{"name": "t", "error_code": "UNKNOWN_TOPIC_OR_PARTITION"}]},
        ),
        (
            "DescribeLogDirs",
            0,
            "00000007 00000000 00000001 0000 0001 2f 00000000",
            {"throttle_time_ms": 0, "results": [{"error_code": "NONE", "log_dir": "/", "topics": []}]},
        ),
        (
            "WriteTxnMarkers",
            0,
            "00000007 00000001 0000000000000003 00000000",
            {"markers": [{"producer_id": 3, "topics": []}]},
        ),
    ],
)
def test_an_answer_of_a_first_version_is_read_as_kafka_writes_it(
    api: str, version: int, frame: str, fields: Fields
) -> None:
    decoded = decode_response(api, version, bytes.fromhex(frame))

    assert decoded.fields == fields
    assert encode_response(api, version, correlation_id=7, fields=fields).hex() == frame.replace(" ", "")


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [("3+", (3, 99), (2,)), ("3-5", (3, 5), (2, 6)), ("3", (3,), (2, 4)), ("none", (), (0,))],
)
def test_versions_are_read_as_kafka_reads_them(
    text: str, inside: tuple[int, ...], outside: tuple[int, ...]
) -> None:
    versions = Versions.parse(text)

    assert all(version in versions for version in inside)
    assert not any(version in versions for version in outside)

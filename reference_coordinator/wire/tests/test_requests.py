"""Requests as frames, in every version, and frames that are none."""

import contextlib
import struct
from collections.abc import Mapping
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference_coordinator.broker_messages import (
    ApiVersionsRequest,
    CreatableTopic,
    CreateTopicsRequest,
    FindCoordinatorRequest,
    MetadataRequest,
    MetadataRequestTopic,
)
from reference_coordinator.core.ids import GroupId, Millis
from reference_coordinator.messages import (
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    ListGroupsRequest,
    OffsetFetchRequest,
)
from reference_coordinator.profile.api_versions import Api, served_ranges
from reference_coordinator.profile.profiles import profile_for
from reference_coordinator.tests.requests import offset_delete
from reference_coordinator.tests.wire_client import received, request_frame
from reference_coordinator.wire import MalformedRequestError, read_request

RANGES = served_ranges(profile_for("4.4"))
ALL_VERSIONS = [
    (api, version)
    for api, served in RANGES.items()
    for version in range(served.min_version, served.max_version + 1)
]
message = partial(received, RANGES)
GROUP = GroupId("g")


@pytest.mark.parametrize(("api", "version"), ALL_VERSIONS)
def test_every_served_version_of_an_empty_request_is_read(api: Api, version: int) -> None:
    request = read_request(request_frame(api.name.lower(), version), ranges=RANGES)

    assert (request.header.api, request.header.api_version) == (api, version)
    assert (request.header.correlation_id, request.header.client_id) == (7, "client")


@pytest.mark.parametrize(("api", "version"), ALL_VERSIONS)
def test_a_frame_cut_short_anywhere_is_malformed(api: Api, version: int) -> None:
    frame = request_frame(api.name.lower(), version)

    for length in range(len(frame)):
        with pytest.raises(MalformedRequestError):
            read_request(frame[:length], ranges=RANGES)


def since(version: int, fields: Mapping[int, Mapping[str, Any]]) -> dict[str, Any]:
    """The fields that a version has, by the version that brought them."""
    return {name: value for first, each in fields.items() if version >= first for name, value in each.items()}


def test_admin_requests_are_read() -> None:
    assert message("describe_groups", 2, groups=("g",)) == DescribeGroupsRequest(groups=(GROUP,))
    assert message(
        "describe_groups", 6, groups=("g",), include_authorized_operations=True
    ) == DescribeGroupsRequest(groups=(GROUP,), include_authorized_operations=True)
    assert message("list_groups", 0) == ListGroupsRequest()
    assert message(
        "list_groups", 5, states_filter=("Empty",), types_filter=("classic",)
    ) == ListGroupsRequest(states_filter=("Empty",), types_filter=("classic",))
    assert message("delete_groups", 2, groups_names=("g",)) == DeleteGroupsRequest(groups_names=(GROUP,))


@pytest.mark.parametrize("version", range(2, 8))
def test_offset_fetch_tells_all_topics_from_none(version: int) -> None:
    everything = message("offset_fetch", version, group_id="g", topics=None)
    nothing = message("offset_fetch", version, group_id="g", topics=())

    assert isinstance(everything, OffsetFetchRequest)
    assert everything.groups[0].topics is None
    assert isinstance(nothing, OffsetFetchRequest)
    assert nothing.groups[0].topics == ()


def test_offset_delete_is_read() -> None:
    topics = ({"name": "orders", "partitions": ({"partition_index": 2},)},)

    assert message("offset_delete", 0, group_id="g", topics=topics) == offset_delete(2, topic="orders")


def test_find_coordinator_brings_one_key_before_v4_and_a_batch_since() -> None:
    assert message("find_coordinator", 0, key="g") == FindCoordinatorRequest(
        key_type=0, coordinator_keys=("g",)
    )
    assert message("find_coordinator", 3, key="t", key_type=1) == FindCoordinatorRequest(
        key_type=1, coordinator_keys=("t",)
    )
    assert message("find_coordinator", 4, coordinator_keys=("a", "b")) == FindCoordinatorRequest(
        key_type=0, coordinator_keys=("a", "b")
    )


def test_metadata_asks_for_all_topics_with_an_empty_array_in_v0_and_with_null_since() -> None:
    assert message("metadata", 0, topics=()) == MetadataRequest(topics=None)
    assert message("metadata", 1, topics=None) == MetadataRequest(topics=None)
    assert message("metadata", 1, topics=()) == MetadataRequest(topics=())
    assert message("metadata", 12, topics=({"name": "orders"},)) == MetadataRequest(
        topics=(MetadataRequestTopic(name="orders"),)
    )


def test_create_topics_is_read() -> None:
    topic = {"name": "orders", "num_partitions": 3, "replication_factor": 1}

    assert message(
        "create_topics", 7, topics=(topic,), timeout=100, validate_only=True
    ) == CreateTopicsRequest(
        topics=(CreatableTopic(name="orders", num_partitions=3, replication_factor=1),),
        timeout_ms=Millis(100),
        validate_only=True,
    )


def test_api_versions_in_a_version_that_is_not_served_is_answered_in_v0() -> None:
    for header in (struct.pack(">hhihB", 18, 99, 7, -1, 0), struct.pack(">hhih", 18, -1, 7, -1)):
        request = read_request(header, ranges=RANGES)

        assert request.message == ApiVersionsRequest(unsupported=True)
        assert request.header.api_version == 0


@pytest.mark.parametrize(
    ("frame", "why"),
    [
        (b"", "RequestHeader"),
        (struct.pack(">hhih", 999, 0, 7, -1), "no API with key 999"),
        (struct.pack(">hhih", 11, 10, 7, -1), "JOIN_GROUP v10 is not served"),
        (struct.pack(">hhih", 11, -1, 7, -1), "JOIN_GROUP v-1 is not served"),
        (struct.pack(">hhih", 18, 99, 7, -1), "tagged fields"),
        (struct.pack(">hhihh", 12, 0, 7, -1, -1), "group_id is null"),
        (struct.pack(">hhihi", 15, 0, 7, -1, -1), "groups is null"),
        (struct.pack(">hhihi", 15, 0, 7, -1, 2**31 - 1), "2147483647 elements were announced in 0 bytes"),
    ],
)
def test_what_is_no_request_says_why(frame: bytes, why: str) -> None:
    with pytest.raises(MalformedRequestError, match=why):
        read_request(frame, ranges=RANGES)


def test_bytes_behind_a_request_are_not_looked_at() -> None:
    assert (
        message("heartbeat", 0)
        == read_request(request_frame("heartbeat", 0) + b"more", ranges=RANGES).message
    )


def test_tagged_fields_that_no_schema_knows_are_skipped() -> None:
    frame = request_frame("heartbeat", 4, group_id="g")

    assert read_request(frame[:-1] + b"\x01\x07\x02\xff\xff", ranges=RANGES).message == message(
        "heartbeat", 4, group_id="g"
    )


def test_tagged_fields_of_a_protocol_are_kept() -> None:
    frame = request_frame("join_group", 9, protocols=({"name": "range", "metadata": b""},))
    protocol = b"\x06range\x01"

    tagged = frame.replace(protocol + b"\x00", protocol + b"\x01\x07\x02\xff\xfe")

    request = read_request(tagged, ranges=RANGES).message
    assert isinstance(request, JoinGroupRequest)
    assert request.protocols[0].unknown_tags == ((7, b"\xff\xfe"),)


def test_a_null_client_id_is_reported_from_an_empty_one() -> None:
    for client_id in (None, ""):
        frame = request_frame("heartbeat", 4, client_id=client_id)

        assert read_request(frame, ranges=RANGES).header.client_id == client_id


def test_text_that_is_not_utf_8_is_mended() -> None:
    for version in (0, 4):
        frame = request_frame("heartbeat", version, group_id="gggg").replace(b"gggg", b"g\xff\xffg")

        request = read_request(frame, ranges=RANGES).message
        assert isinstance(request, HeartbeatRequest)
        assert request.group_id == "g\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}g"


def test_a_compact_length_below_zero_is_null_and_a_count_below_zero_is_none() -> None:
    minus_one = b"\xff\xff\xff\xff\x0f"
    frame = request_frame("heartbeat", 4, group_id="g", group_instance_id=None)
    assert frame.endswith(b"\0\0")

    for ending in (minus_one + b"\0", b"\0" + minus_one):
        request = read_request(frame[:-2] + ending, ranges=RANGES).message
        assert request == message("heartbeat", 4, group_id="g", group_instance_id=None)
    with pytest.raises(MalformedRequestError, match="-1 bytes were announced"):
        read_request(frame[:-1] + b"\x01\x07" + minus_one, ranges=RANGES)


@given(st.sampled_from(ALL_VERSIONS), st.binary(max_size=80))
def test_any_bytes_are_a_request_or_malformed(served: tuple[Api, int], body: bytes) -> None:
    api, version = served

    with contextlib.suppress(MalformedRequestError):
        request = read_request(struct.pack(">hhih", api, version, 7, -1) + body, ranges=RANGES)
        assert request.header.api is api


def test_texts_and_arrays_have_kafkas_bounds_and_ours() -> None:
    ranges = served_ranges(profile_for("3.9"))
    long_text = request_frame("heartbeat", 4, group_id="x" * 32_768)
    with pytest.raises(MalformedRequestError, match="a text of 32768 bytes"):
        read_request(long_text, ranges=ranges)
    read_request(request_frame("heartbeat", 4, group_id="x" * 32_767), ranges=ranges)
    with pytest.raises(MalformedRequestError, match="more than 50000 elements"):
        read_request(request_frame("delete_groups", 2, groups_names=("g",) * 50_001), ranges=ranges)
    read_request(request_frame("delete_groups", 2, groups_names=("g",) * 50_000), ranges=ranges)

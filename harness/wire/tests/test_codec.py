from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.wire.codec import Fields, decode_request, decode_response, encode_request, error_name
from harness.wire.errors import MalformedResponse, WireError
from harness.wire.schema import API_KEYS, has_version, request_shape, response_shape

GROUP_APIS = (
    "JoinGroup",
    "SyncGroup",
    "Heartbeat",
    "LeaveGroup",
    "DescribeGroups",
    "ListGroups",
    "DeleteGroups",
    "OffsetCommit",
    "OffsetFetch",
    "OffsetDelete",
    "FindCoordinator",
    "ApiVersions",
)


def heartbeat_v4(*, error_code: int) -> bytes:
    return (
        (7).to_bytes(4, "big")
        + b"\0"
        + (5).to_bytes(4, "big")
        + error_code.to_bytes(2, "big", signed=True)
        + b"\0"
    )


def test_a_response_becomes_plain_fields_by_kafkas_names() -> None:
    decoded = decode_response("Heartbeat", 4, heartbeat_v4(error_code=27))
    assert decoded.correlation_id == 7
    assert decoded.fields == {"throttle_time_ms": 5, "error_code": "REBALANCE_IN_PROGRESS"}
    assert decoded.reencodes


def test_an_error_code_that_no_release_knows_is_shown_not_refused() -> None:
    decoded = decode_response("Heartbeat", 4, heartbeat_v4(error_code=997))
    assert decoded.fields["error_code"] == "ERROR_997"
    assert error_name(-1) == "UNKNOWN_SERVER_ERROR"


@pytest.mark.parametrize(
    ("payload", "says", "correlation_id"),
    [
        (b"", "0 bytes are too few", None),
        (b"\0\0", "2 bytes are too few", None),
        (heartbeat_v4(error_code=0)[:-3], "not a Heartbeat v4 response", 7),
        (heartbeat_v4(error_code=0) + b"\0\0", "2 bytes are left over", 7),
        (heartbeat_v4(error_code=0)[:-1] + b"\x01\x05\x02ab", "tag", 7),
    ],
    ids=["empty", "no-correlation-id", "short", "trailing", "unknown-tag"],
)
def test_bytes_that_are_no_response_say_what_is_wrong(
    payload: bytes, says: str, correlation_id: int | None
) -> None:
    with pytest.raises(MalformedResponse, match=says) as caught:
        decode_response("Heartbeat", 4, payload)
    assert caught.value.correlation_id == correlation_id


def test_a_non_canonical_encoding_is_found() -> None:
    # The tagged-field count 0 as a two-byte varint reads as 0 but is not what anybody writes.
    decoded = decode_response("Heartbeat", 4, heartbeat_v4(error_code=0)[:-1] + b"\x80\x00")
    assert not decoded.reencodes


@given(payload=st.binary(max_size=200), api=st.sampled_from(GROUP_APIS), version=st.integers(0, 11))
def test_no_bytes_make_the_decoder_raise_anything_but_its_declared_errors(
    payload: bytes, api: str, version: int
) -> None:
    with suppress(WireError):
        decode_response(api, version, payload)


@pytest.mark.parametrize("api", GROUP_APIS)
def test_every_version_that_kio_knows_can_be_written_from_no_fields_at_all(api: str) -> None:
    versions = [version for version in range(16) if has_version(api, version)]
    assert versions
    for version in versions:
        frame = encode_request(api, version, correlation_id=1, fields={})
        assert frame[:8] == API_KEYS[api].to_bytes(2, "big") + version.to_bytes(2, "big") + b"\0\0\0\x01"


def test_a_version_that_kio_lacks_is_written_and_read() -> None:
    orders = "6bd2e1c5-5e0a-4bd5-8cde-6a4ae2f2b0aa"
    fields: Fields = {
        "transactional_id": "x",
        "group_id": "g",
        "producer_id": 3,
        "producer_epoch": 1,
        "topics": ({"topic_id": orders, "partitions": ({"partition_index": 1, "committed_offset": 42},)},),
    }

    frame = encode_request("TxnOffsetCommit", 6, correlation_id=7, client_id="c", fields=fields)

    assert frame.hex() == (
        "001c00060000000700016300" + "0278026700000000000000030001" + "ffffffff0100"
        "026bd2e1c55e0a4bd58cde6a4ae2f2b0aa" + "0200000001000000000000002affffffff01000000"
    )
    assert decode_request("TxnOffsetCommit", 6, frame).reencodes
    answer = bytes.fromhex(f"000000070000000000 02{orders.replace('-', '')} 0200000001006400 00 00")
    assert decode_response("TxnOffsetCommit", 6, answer).fields["topics"] == [
        {"topic_id": orders, "partitions": [{"partition_index": 1, "error_code": "UNKNOWN_TOPIC_ID"}]}
    ]
    deleted = bytes.fromhex("000000070000000000 02 0267 0045 036e6f 00 00")
    assert decode_response("DeleteGroups", 3, deleted).fields["results"] == [
        {"group_id": "g", "error_code": "GROUP_ID_NOT_FOUND", "error_message": "no"}
    ]


def test_durations_are_milliseconds_and_left_out_fields_have_kafkas_default() -> None:
    shape = request_shape("JoinGroup", 9)
    assert shape.fields["rebalance_timeout_ms"].default == -1
    assert shape.fields["group_instance_id"].default is None
    assert shape.fields["member_id"].default == ""
    assert "throttle_time_ms" in response_shape("JoinGroup", 9).fields


@pytest.mark.parametrize("version", [0, 1])
def test_a_heartbeat_that_leaves_out_its_partitions_says_null_as_kafkas_clients_do(version: int) -> None:
    left_out = encode_request("ConsumerGroupHeartbeat", version, correlation_id=1, fields={})

    fields = decode_request("ConsumerGroupHeartbeat", version, left_out).fields
    assert fields["topic_partitions"] is None
    assert fields["subscribed_topic_names"] is None
    owns_none = encode_request(
        "ConsumerGroupHeartbeat", version, correlation_id=1, fields={"topic_partitions": ()}
    )
    assert owns_none != left_out


@pytest.mark.parametrize(
    ("api", "version", "fields", "says"),
    [
        ("Heartbeat", 0, {"group_instance_id": "i"}, "no field 'group_instance_id'; it has group_id"),
        ("Heartbeat", 99, {}, "kio knows no Heartbeat v99"),
        ("Hartbeat", 0, {}, "no API is called 'Hartbeat'"),
        ("JoinGroup", 5, {"protocols": "range"}, "protocols takes a sequence"),
        ("JoinGroup", 5, {"protocols": ["range"]}, "protocols takes fields"),
        ("Heartbeat", 4, {"generation_id": "one"}, "cannot be written"),
    ],
)
def test_a_request_that_cannot_be_written_says_why(
    api: str, version: int, fields: dict[str, object], says: str
) -> None:
    with pytest.raises(WireError, match=says):
        encode_request(api, version, correlation_id=1, fields=fields)  # type: ignore[arg-type] # wrong on purpose


def test_a_null_for_a_field_that_the_version_lacks_is_left_out() -> None:
    with_null = encode_request("Heartbeat", 0, correlation_id=1, fields={"group_instance_id": None})
    assert with_null == encode_request("Heartbeat", 0, correlation_id=1, fields={})

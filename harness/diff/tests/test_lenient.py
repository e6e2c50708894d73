"""What no client reads is lenient, and what some client reads is not."""

from collections.abc import Mapping

import pytest

from harness.apis.table import APIS
from harness.diff.lenient import UNREAD, is_unread
from harness.wire.schema import Shape, response_shape

REFUSED = {"error_code": "UNKNOWN_MEMBER_ID", "member_epoch": 0}
FINE = {"error_code": "NONE", "member_epoch": 3}
LEFT = {"error_code": "NONE", "member_epoch": -1}
COORDINATORS = {"coordinators": [{"error_code": "NONE"}, {"error_code": "INVALID_GROUP_ID"}]}
METADATA = "groups[0].topics[1].partitions[0].metadata"


@pytest.mark.parametrize(
    ("api", "field", "values", "answer"),
    [
        ("Heartbeat", "error_message", ('"a"', '"b"'), FINE),
        ("ConsumerGroupDescribe", "groups[0].error_message", ('"a"', "null"), FINE),
        ("ConsumerGroupHeartbeat", "heartbeat_interval_ms", ("0", "5000"), REFUSED),
        ("ShareGroupHeartbeat", "heartbeat_interval_ms", ("0", "5000"), LEFT),
        ("JoinGroup", "member_id", ('""', '"nobody"'), REFUSED),
        ("OffsetFetch", METADATA, ('""', "null"), FINE),
        ("FindCoordinator", "node_id", ("-1", "0"), REFUSED),
        ("FindCoordinator", "coordinators[1].port", ("-1", "0"), COORDINATORS),
    ],
)
def test_what_no_client_reads_is_lenient(
    api: str, field: str, values: tuple[str, str], answer: Mapping[str, object]
) -> None:
    assert is_unread(api, field, *values, answer)


@pytest.mark.parametrize(
    ("api", "field", "values", "answer"),
    [
        ("ConsumerGroupHeartbeat", "heartbeat_interval_ms", ("5000", "0"), FINE),
        ("ConsumerGroupHeartbeat", "error_code", ('"NONE"', '"UNKNOWN_MEMBER_ID"'), REFUSED),
        ("JoinGroup", "member_id", ('"member:ana"', '""'), {"error_code": "MEMBER_ID_REQUIRED"}),
        ("JoinGroup", "member_id", ('"member:ana"', '"member:bob"'), FINE),
        ("LeaveGroup", "members[0].group_instance_id", ("null", '""'), FINE),
        ("OffsetFetch", METADATA, ('"mine"', "null"), FINE),
        ("FindCoordinator", "coordinators[0].port", ("9092", "0"), COORDINATORS),
        ("OffsetFetch", None, ("an answer", "no answer in time"), FINE),
    ],
)
def test_what_some_client_reads_is_not(
    api: str, field: str | None, values: tuple[str, str], answer: Mapping[str, object]
) -> None:
    assert not is_unread(api, field, *values, answer)


def has_field(shape: Shape, path: str) -> bool:
    name, _, rest = path.partition(".")
    field = shape.fields.get(name.removesuffix("[]"))
    if field is None or not rest:
        return field is not None
    return field.nested is not None and has_field(field.nested, rest)


def test_every_row_is_about_a_field_that_there_is_and_says_why() -> None:
    for row in UNREAD:
        assert row.evidence
        if row.api:
            assert row.api in APIS
            assert any(has_field(response_shape(row.api, version), row.field) for version in (1, 5, 8))

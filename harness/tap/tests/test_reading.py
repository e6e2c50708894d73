"""What a trace says of streams that were kept."""

import json
import struct
from collections.abc import Iterator
from dataclasses import asdict

import pytest

from harness.tap.journal import Entry, Kind, Opening, left_out
from harness.tap.reading import TraceReader
from harness.tests.tapped import framed, request
from harness.trace.events import Event, EventKind
from harness.wire.codec import Fields, encode_response
from harness.wire.schema import API_KEYS

RANGES: list[Fields] = [{"api_key": API_KEYS["ApiVersions"], "min_version": 0, "max_version": 3}]
OPENING = Opening(conversation="tap", client="client:1", broker="node 1", address="broker:1")


def read(*pieces: tuple[Kind, bytes], only: frozenset[str] | None = None) -> list[Event]:
    def entries() -> Iterator[Entry]:
        opened = json.dumps(asdict(OPENING)).encode()
        for number, (kind, content) in enumerate([(Kind.OPENED, opened), *pieces]):
            yield Entry(kind=kind, connection=1, at_ms=float(number), content=content)

    return list(TraceReader(run_id="run-1", target="kafka", only=only).events(entries()))


def asked(api: str, version: int, correlation_id: int) -> tuple[Kind, bytes]:
    return Kind.REQUEST_BYTES, framed(request(api, version, {}, correlation_id=correlation_id))


def answered(api: str, version: int, correlation_id: int, fields: Fields) -> tuple[Kind, bytes]:
    payload = encode_response(api, version, correlation_id=correlation_id, fields=fields)
    return Kind.RESPONSE_BYTES, framed(payload)


def test_answers_meet_their_requests_in_whichever_order() -> None:
    events = read(
        asked("Heartbeat", 4, 1),
        asked("LeaveGroup", 4, 2),
        answered("LeaveGroup", 4, 2, {"error_code": "UNKNOWN_MEMBER_ID"}),
        answered("Heartbeat", 4, 1, {}),
    )

    assert [(each.kind, each.api) for each in events[2:]] == [
        (EventKind.RESPONSE, "LeaveGroup"),
        (EventKind.RESPONSE, "Heartbeat"),
    ]
    assert [each.elapsed_ms for each in events[2:]] == [1.0, 3.0]


def test_a_correlation_id_that_is_used_twice_means_the_older_request_first() -> None:
    events = read(
        asked("Heartbeat", 4, 1),
        asked("Heartbeat", 4, 1),
        answered("Heartbeat", 4, 1, {}),
        answered("Heartbeat", 4, 1, {}),
    )

    assert [each.elapsed_ms for each in events[2:]] == [2.0, 2.0]


def test_an_answer_that_nobody_asked_for_is_unsolicited() -> None:
    (event,) = read(answered("Heartbeat", 4, 9, {}))

    assert (event.kind, event.correlation_id, event.api) == (EventKind.UNSOLICITED, 9, None)


def test_a_refused_version_of_api_versions_is_answered_in_version_0() -> None:
    refused: Fields = {"error_code": "UNSUPPORTED_VERSION", "api_keys": RANGES}
    _, event = read(asked("ApiVersions", 4, 1), answered("ApiVersions", 0, 1, refused))

    assert event.kind == EventKind.RESPONSE
    assert event.fields is not None
    assert json.loads(event.fields)["error_code"] == "UNSUPPORTED_VERSION"


@pytest.mark.parametrize(
    ("payload", "says"),
    [
        (struct.pack(">hhihh", 999, 0, 1, -1, 0), "no API is known by the key 999"),
        (struct.pack(">hhihh", 12, 99, 1, -1, 0), "kio knows no Heartbeat v99"),
        (struct.pack(">hhih", 12, 0, 1, -1) + b"x", "not a Heartbeat v0 request"),
    ],
)
def test_a_request_that_cannot_be_read_is_one_with_a_note(payload: bytes, says: str) -> None:
    (event,) = read((Kind.REQUEST_BYTES, framed(payload)))

    assert (event.kind, event.fields) == (EventKind.REQUEST, None)
    assert says in (event.note or "")


def test_an_answer_that_cannot_be_read_is_malformed() -> None:
    _, event = read(asked("Heartbeat", 4, 1), (Kind.RESPONSE_BYTES, framed(b"\0\0\0\1rest")))

    assert (event.kind, event.api) == (EventKind.MALFORMED, "Heartbeat")
    assert "not a Heartbeat v4 response" in (event.note or "")


def test_a_frame_whose_rest_was_left_out_is_followed_by_the_next() -> None:
    kind, whole = asked("Heartbeat", 4, 1)
    _, next_one = asked("LeaveGroup", 4, 2)
    size = len(whole) - 4
    lengthened = struct.pack(">i", size + 1000) + whole[4:]
    long, following = read(
        (kind, lengthened), (Kind.REQUEST_BYTES_LEFT_OUT, left_out(1000)), (kind, next_one)
    )

    assert long.note == f"of {size + 1000} bytes the first {size} were kept"
    assert following.api == "LeaveGroup"


def test_of_other_apis_than_are_wanted_no_fields_are_read() -> None:
    wanted, other = read(asked("Heartbeat", 4, 1), asked("LeaveGroup", 4, 2), only=frozenset({"Heartbeat"}))

    assert wanted.fields is not None
    assert (other.fields, other.note) == (None, None)

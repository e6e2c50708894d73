"""What a tap changes on the way, and that it changes nothing else, however the bytes are cut."""

from collections.abc import Mapping
from itertools import cycle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.tap.framing import FRAME_BYTES_KEPT, Dialogue, RequestStream, ResponseStream
from harness.tap.journal import Remark
from harness.tests.tapped import framed, request
from harness.wire.codec import Fields, FieldValue, decode_response, encode_response
from harness.wire.rewriting import NEWEST_READ
from harness.wire.schema import API_KEYS, has_version

HERE = ("tap", 7000)
BROKERS: list[Fields] = [{"node_id": node_id, "host": "broker", "port": 9000 + node_id} for node_id in (1, 2)]
ERRORS: Fields = {"throttle_time_ms": 0, "error_code": "NONE", "error_message": None}


class Passing:
    """Both streams of a connection, one after the other."""

    def __init__(self) -> None:
        self.remarks: list[Remark] = []
        self.moved: list[tuple[str, int, int]] = []
        dialogue = Dialogue(relocate=self._relocate, remark=self.remarks.append)
        self.requests = RequestStream(dialogue)
        self.responses = ResponseStream(dialogue)

    def _relocate(self, host: str, port: int, node_id: int) -> tuple[str, int]:
        self.moved.append((host, port, node_id))
        return HERE[0], HERE[1] + node_id

    def answered(self, api: str, version: int, fields: Fields) -> dict[str, FieldValue]:
        """Return what the client reads when a broker answers its request with these fields."""
        asked = framed(request(api, version, _LEAST.get(api, {}), correlation_id=5))
        assert self.requests.take(asked) == asked
        passed = self.responses.take(framed(encode_response(api, version, correlation_id=5, fields=fields)))
        assert int.from_bytes(passed[:4], "big") == len(passed) - 4
        return decode_response(api, version, passed[4:]).fields


def items(fields: Fields, name: str) -> list[Fields]:
    value = fields[name]
    assert isinstance(value, list)
    return value


_LEAST: Mapping[str, Fields] = {
    "Metadata": {"topics": []},
    "FindCoordinator": {},
    "DescribeCluster": {},
    "Produce": {"acks": 1, "timeout_ms": 1, "topic_data": []},
    "Fetch": {"max_wait_ms": 1, "min_bytes": 1, "topics": []},
}


@pytest.mark.parametrize("version", [0, 5, 9, 13])
def test_brokers_of_metadata_are_found_at_the_tap(version: int) -> None:
    passing = Passing()
    found = passing.answered("Metadata", version, {"brokers": BROKERS, "topics": []})

    moved = [(each["host"], each["port"]) for each in items(found, "brokers")]
    assert moved == [("tap", 7001), ("tap", 7002)]
    assert passing.moved == [("broker", 9001, 1), ("broker", 9002, 2)]
    (remark,) = passing.remarks
    assert remark.text == "broker:9001 advertised as tap:7001, broker:9002 advertised as tap:7002"
    assert remark.correlation_id == 5


def test_coordinators_and_described_brokers_that_are_there_are_found_at_the_tap() -> None:
    nowhere: Fields = {"node_id": -1, "host": "", "port": -1, "error_code": "COORDINATOR_NOT_AVAILABLE"}
    somewhere: Fields = {"node_id": 1, "host": "broker", "port": 9001, "error_code": "NONE"}
    missing: Fields = {"key": "b", "error_message": None, **nowhere}
    there: Fields = {"key": "a", "error_message": None, **somewhere}
    found = Passing().answered("FindCoordinator", 4, {"coordinators": [there, missing]})

    assert found["coordinators"] == [{**there, "host": "tap", "port": 7001}, missing]
    for version in (0, 3):
        found = Passing().answered("FindCoordinator", version, somewhere)
        assert (found["host"], found["port"], found["node_id"]) == ("tap", 7001, 1)
    brokers: list[Fields] = [{"broker_id": 3, "host": "broker", "port": 9003, "rack": None}]
    found = Passing().answered("DescribeCluster", 0, {**ERRORS, "cluster_id": "c", "brokers": brokers})
    assert found["brokers"] == [{"broker_id": 3, "host": "tap", "port": 7003, "rack": None}]


@pytest.mark.parametrize(("api", "version"), [("Produce", 10), ("Produce", 13), ("Fetch", 16), ("Fetch", 18)])
def test_leaders_that_produce_and_fetch_name_are_found_at_the_tap(api: str, version: int) -> None:
    endpoints: list[Fields] = [{"node_id": 2, "host": "broker", "port": 9002, "rack": "r"}]
    passing = Passing()

    found = passing.answered(api, version, {"responses": [], "node_endpoints": endpoints})
    assert found["node_endpoints"] == [{"node_id": 2, "host": "tap", "port": 7002, "rack": "r"}]
    assert passing.answered(api, version, {"responses": []})["node_endpoints"] in ([], None)
    assert len(passing.remarks) == 1


def test_no_version_is_promised_whose_addresses_could_not_be_changed() -> None:
    ranges: list[Fields] = [
        {"api_key": key, "min_version": 0, "max_version": 99} for key in API_KEYS.values()
    ]
    passing = Passing()
    found = passing.answered("ApiVersions", 3, {"error_code": "NONE", "api_keys": ranges})

    newest = {each["api_key"]: each["max_version"] for each in items(found, "api_keys")}
    for api, key in API_KEYS.items():
        is_changed = key in NEWEST_READ
        assert newest[key] == (NEWEST_READ[key] if is_changed else 99), api
        assert not is_changed or has_version(api, NEWEST_READ[key])
    assert "Metadata up to v13 instead of v99" in passing.remarks[0].text


def test_an_unknown_version_of_api_versions_is_refused_by_the_broker_and_its_answer_understood() -> None:
    passing = Passing()
    asked = bytearray(framed(request("ApiVersions", 4, {}, correlation_id=5)))
    asked[6:8] = (7).to_bytes(2, "big")
    passed = passing.requests.take(bytes(asked))
    assert passed[6:8] == b"\x7f\xff"
    assert passed[:6] + passed[8:] == asked[:6] + asked[8:]

    ranges: list[Fields] = [{"api_key": API_KEYS["ApiVersions"], "min_version": 0, "max_version": 7}]
    refused: Fields = {"error_code": "UNSUPPORTED_VERSION", "api_keys": ranges}
    answer = passing.responses.take(
        framed(encode_response("ApiVersions", 0, correlation_id=5, fields=refused))
    )
    (reported,) = items(decode_response("ApiVersions", 0, answer[4:]).fields, "api_keys")
    assert reported["max_version"] == NEWEST_READ[API_KEYS["ApiVersions"]]


def test_an_answer_that_cannot_be_read_is_passed_as_it_came_and_said_to_be() -> None:
    passing = Passing()
    passing.requests.take(framed(request("Metadata", 9, {"topics": []}, correlation_id=5)))
    answer = framed((5).to_bytes(4, "big") + b"no metadata")

    assert passing.responses.take(answer) == answer
    assert "passed as it came, with any address in it" in passing.remarks[0].text


CONVERSATION: tuple[tuple[str, int, Fields], ...] = (
    ("Metadata", 9, {"brokers": BROKERS, "topics": []}),
    ("Heartbeat", 4, {"error_code": "NONE"}),
    ("FindCoordinator", 3, {"error_code": "NONE", "node_id": 2, "host": "broker", "port": 9002}),
    ("Heartbeat", 4, {"error_code": "NONE"}),
)


@given(st.lists(st.integers(min_value=1, max_value=60), min_size=1))
def test_it_makes_no_difference_where_the_bytes_are_cut(cuts: list[int]) -> None:
    asked = b"".join(
        framed(request(api, version, _LEAST.get(api, {}), correlation_id=number))
        for number, (api, version, _) in enumerate(CONVERSATION)
    )
    answers = b"".join(
        framed(encode_response(api, version, correlation_id=number, fields=fields))
        for number, (api, version, fields) in enumerate(CONVERSATION)
    )
    whole, cut = Passing(), Passing()

    assert whole.requests.take(asked) == asked
    assert b"".join(cut.requests.take(piece) for piece in _pieces(asked, cuts)) == asked
    passed = whole.responses.take(answers)
    assert b"".join(cut.responses.take(piece) for piece in _pieces(answers, cuts)) == passed
    assert cut.moved == whole.moved
    assert len(cut.moved) == 3


@settings(max_examples=30)
@given(
    st.lists(st.sampled_from([10, 400, FRAME_BYTES_KEPT - 1, FRAME_BYTES_KEPT + 5, 3 * FRAME_BYTES_KEPT])),
    st.integers(min_value=5_000, max_value=1 << 17),
)
def test_of_each_frame_only_the_beginning_is_kept_however_it_is_cut(
    sizes: list[int], piece_size: int
) -> None:
    stream = Passing().requests
    frames = [framed(request("Heartbeat", 4, {}) + bytes(size)) for size in sizes]
    data = b"".join(frames)

    assert (
        b"".join(stream.take(data[begin:][:piece_size]) for begin in range(0, len(data), piece_size)) == data
    )
    kept = b"".join(bytes(kept) for kept, _ in stream.kept)
    assert kept == b"".join(frame[: 4 + FRAME_BYTES_KEPT] for frame in frames)
    assert len(kept) + sum(left_out for _, left_out in stream.kept) == len(data)


def _pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    pieces, sizes = list[bytes](), cycle(cuts)
    while data:
        size = next(sizes)
        pieces.append(data[:size])
        data = data[size:]
    return pieces

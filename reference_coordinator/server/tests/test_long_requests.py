"""Answers far larger than their request: made in parts, others served between them, and limited."""

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reference_coordinator.broker.answer_sizes import ESTIMATED
from reference_coordinator.broker.listener import CloseConnection, ConnectionId, Listener, SendFrame
from reference_coordinator.core import parts
from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import Millis
from reference_coordinator.profile.api_versions import Api
from reference_coordinator.server import long_requests
from reference_coordinator.server.long_requests import LongRequest
from reference_coordinator.server.tests.test_server import HEARTBEAT, JOIN, TIMEOUT_S, listener
from reference_coordinator.tests.attack import ask
from reference_coordinator.tests.server_process import server_process
from reference_coordinator.tests.wire_client import framed, read_response, request_frame

NOW_MS = Millis(1_000_000)
PARTITIONS = 3
SMALL_LIMIT = 50_000
ALL_OF_ONE_GROUP = {"group_id": "g", "topics": None}


def commit(metadata: str = "m" * 100) -> bytes:
    rows = tuple(
        {"partition_index": each, "committed_offset": 5, "committed_metadata": metadata}
        for each in range(PARTITIONS)
    )
    return request_frame(
        "offset_commit",
        5,
        group_id="g",
        generation_id_or_member_epoch=-1,
        topics=({"name": "orders", "partitions": rows},),
    )


def fetch(times: int) -> bytes:
    return request_frame("offset_fetch", 8, groups=(ALL_OF_ONE_GROUP,) * times)


@pytest.fixture(name="broker")
def broker_with_offsets() -> Listener:
    broker = listener("4.4")("127.0.0.1", 0)
    answered(broker, request_frame("find_coordinator", 0, key="g"), commit())
    return broker


def answered(broker: Listener, *frames: bytes) -> list[bytes]:
    """The answers to frames on a new connection."""
    connection = broker.connected(client_host="127.0.0.1")
    outgoing = [each for frame in frames for each in broker.received(connection, frame, now_ms=NOW_MS)]
    return [each.frame for each in outgoing if isinstance(each, SendFrame)]


def in_parts(
    broker: Listener, connection: ConnectionId, frame: bytes, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Any, ...] | None]:
    """Yield None at each pause, and then the outcome."""
    monkeypatch.setattr(long_requests, "_SLICE_S", 0)
    request = LongRequest(lambda now_ms: broker.received(connection, frame, now_ms=now_ms))
    while not request.proceed(now_ms=NOW_MS):
        yield None
    yield request.outcome()


def test_others_are_answered_between_the_parts_and_the_answer_is_the_same(
    broker: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    (at_once,) = answered(broker, fetch(10))
    connection = broker.connected(client_host="127.0.0.1")
    *pauses, outcome = [
        each if each is not None else answered(broker, HEARTBEAT)
        for each in in_parts(broker, connection, fetch(10), monkeypatch)
    ]

    assert len(pauses) > 10
    for (heartbeat,) in pauses:
        assert read_response("heartbeat", 0, heartbeat).error_code == Errors.UNKNOWN_MEMBER_ID
    assert outcome == (SendFrame(connection=connection, frame=at_once),)


def test_an_answer_that_becomes_too_large_while_it_is_written_closes_its_connection(
    broker: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "ANSWER_MAX_BYTES", 1_000)
    connection = broker.connected(client_host="127.0.0.1")
    *_, outcome = in_parts(broker, connection, fetch(10), monkeypatch)

    assert outcome is not None
    (closed,) = outcome
    assert isinstance(closed, CloseConnection)
    assert "1000 are allowed" in closed.reason
    assert answered(broker, fetch(1))


def test_a_metadata_is_made_while_time_goes_on(broker: Listener, monkeypatch: pytest.MonkeyPatch) -> None:
    connection = broker.connected(client_host="127.0.0.1")
    frame = request_frame("metadata", 9, topics=({"name": "orders"}, {"name": "new"}))
    now_ms = NOW_MS
    for each in in_parts(broker, connection, frame, monkeypatch):
        now_ms = Millis(now_ms + 1_000)
        broker.advance(now_ms=now_ms)
        if each is not None:
            assert isinstance(each[0], SendFrame)


@pytest.mark.parametrize(
    ("api", "version", "fields"),
    [
        ("offset_fetch", 8, {"groups": (ALL_OF_ONE_GROUP,) * 5}),
        (
            "offset_fetch",
            8,
            {"groups": ({"group_id": "g", "topics": ({"name": "orders", "partition_indexes": (0, 0, 7)},)},)},
        ),
        ("describe_groups", 5, {"groups": ("h",) * 5}),
        ("list_groups", 4, {}),
        ("metadata", 9, {"topics": None}),
        ("metadata", 9, {"topics": ({"name": "orders"},)}),
        ("describe_log_dirs", 4, {"topics": None}),
        (
            "describe_configs",
            4,
            {"resources": ({"resource_type": 2, "resource_name": "orders", "configuration_keys": None},)},
        ),
        ("consumer_group_describe", 1, {"group_ids": ("c",) * 5}),
        ("share_group_describe", 1, {"group_ids": ("g", "s")}),
        ("streams_group_describe", 0, {"group_ids": ("g", "s")}),
        (
            "describe_share_group_offsets",
            1,
            {"groups": (ALL_OF_ONE_GROUP, {"group_id": "s", "topics": None})},
        ),
    ],
)
def test_an_estimate_is_no_larger_than_the_answer(
    broker: Listener, api: str, version: int, fields: dict[str, Any]
) -> None:
    """Or else an answer would be refused that is not too large."""
    join = request_frame(
        "join_group",
        3,
        group_id="h",
        session_timeout=10_000,
        rebalance_timeout=10_000,
        protocol_type="consumer",
        protocols=({"name": "range", "metadata": b"m" * 100},),
    )
    heartbeat = request_frame(
        "consumer_group_heartbeat",
        1,
        group_id="c",
        member_id="member",
        rebalance_timeout=10_000,
        subscribed_topic_names=("orders",),
        topic_partitions=(),
    )
    answered(broker, join)
    answered(broker, heartbeat)
    connection = broker.connected(client_host="127.0.0.1")
    frame = request_frame(api, version, **fields)
    estimated = broker.answer_bytes(connection, frame)
    (answer,) = answered(broker, frame)

    assert Api[api.upper()] in ESTIMATED
    assert 0 < estimated <= len(answer)


def test_what_is_no_request_has_no_estimate(broker: Listener) -> None:
    connection = broker.connected(client_host="127.0.0.1")
    for frame in (b"", b"\0", b"\0\x09", fetch(1)[:-1], HEARTBEAT, JOIN):
        assert broker.answer_bytes(connection, frame) == 0


def test_a_small_request_for_a_huge_answer_is_closed_and_a_large_answer_arrives_whole(tmp_path: Path) -> None:
    given = ("--profile", "4.4", "--topic", "orders:3")
    with server_process(tmp_path, *given) as server:

        def connected() -> socket.socket:
            return socket.create_connection(("127.0.0.1", server.port), timeout=TIMEOUT_S)

        with connected() as greedy, connected() as healthy:
            ask(healthy, request_frame("find_coordinator", 0, key="g"))
            ask(healthy, commit("m" * 4_000))
            groups = read_response("offset_fetch", 8, ask(greedy, fetch(300))).groups
            assert [len(each.topics[0].partitions) for each in groups] == [PARTITIONS] * 300

            greedy.sendall(framed(fetch(8_000)))
            assert greedy.recv(1) == b""
            assert ask(healthy, HEARTBEAT)
            assert server.peak_bytes() < 200 << 20
        assert "are allowed" in server.said()

"""What no request may do: end the server, starve its neighbours, or take memory for ever."""

import socket
import struct
from pathlib import Path
from typing import Any

import pytest

from reference_coordinator.broker.error_responses import error_response
from reference_coordinator.core.errors import Errors
from reference_coordinator.profile.api_versions import Api, served_ranges
from reference_coordinator.profile.profiles import profile_for
from reference_coordinator.server.serving import serving
from reference_coordinator.server.tests.test_server import (
    HEARTBEAT,
    JOIN,
    TIMEOUT_S,
    Client,
    elect,
    listener,
    running,
)
from reference_coordinator.tests.attack import ask, attack
from reference_coordinator.tests.mutated_frames import apis_of, seed_frames
from reference_coordinator.tests.server_process import ServerProcess, server_process
from reference_coordinator.tests.wire_client import framed, read_response, request_frame
from reference_coordinator.topic_logs.messages import Unanswered
from reference_coordinator.wire import read_request, write_response

MIB = 1 << 20
FRAMES = 4_000


def connected(server: ServerProcess) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout=TIMEOUT_S)


@pytest.mark.slow
def test_mutated_frames_end_nothing(tmp_path: Path) -> None:
    outcome = attack(tmp_path, profile="4.4", frames=FRAMES, seed=1)

    assert outcome.is_running
    assert outcome.exit_status == 0
    assert outcome.failures == 0
    assert outcome.heartbeats > 0
    assert outcome.peak_bytes < 150 * MIB
    assert outcome.closed < FRAMES
    assert apis_of(seed_frames("4.4")) == set(served_ranges(profile_for("4.4")))


def test_a_marker_of_no_coordinator_can_be_read(tmp_path: Path) -> None:
    marker = request_frame(
        "write_txn_markers",
        1,
        markers=(
            {
                "producer_id": 1,
                "transaction_result": True,
                "coordinator_epoch": -1,
                "topics": ({"name": "__consumer_offsets", "partition_indexes": (0,)},),
            },
        ),
    )
    latest = request_frame(
        "list_offsets",
        1,
        replica_id=-1,
        topics=({"name": "__consumer_offsets", "partitions": ({"partition_index": 0, "timestamp": -1},)},),
    )
    with server_process(tmp_path) as server, connected(server) as client:
        ask(client, request_frame("find_coordinator", 0, key="g"))
        ask(client, marker)
        answer = read_response("list_offsets", 1, ask(client, latest))

        assert answer.topics[0].partitions[0].offset == 1
        assert server.stop() == 0


def test_a_handler_that_fails_is_answered_and_logged_with_its_frame(
    caplog: pytest.LogCaptureFixture,
) -> None:
    broken = listener("3.9")("127.0.0.1", 0)

    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("on purpose")

    with (
        serving(lambda _host, _port: broken, host="127.0.0.1", port=0) as serves,
        running(serves),
        Client(serves.port) as victim,
        Client(serves.port) as other,
    ):
        handle = broken.apis.handle
        broken.apis.handle = fail  # type: ignore[method-assign, assignment] # a fault of ours
        assert victim.heartbeat() == Errors.UNKNOWN_SERVER_ERROR
        broken.apis.handle = handle  # type: ignore[method-assign]
        assert victim.heartbeat() == Errors.NOT_COORDINATOR
        assert other.heartbeat() == Errors.NOT_COORDINATOR

    assert HEARTBEAT.hex() in caplog.text
    assert "on purpose" in caplog.text


@pytest.mark.parametrize("profile", ["2.4.1", "3.9", "4.4"])
def test_every_request_has_an_answer_for_its_failure(profile: str) -> None:
    ranges = served_ranges(profile_for(profile))
    reported = set()
    code = Errors.UNKNOWN_SERVER_ERROR.to_bytes(2, "big", signed=True)
    for frame in seed_frames(profile):
        request = read_request(frame, ranges=ranges)
        version = request.header.api_version
        response = error_response(request.message, Errors.UNKNOWN_SERVER_ERROR, api_version=version)
        if isinstance(response, Unanswered) or code in write_response(request.header, response):
            reported.add(request.header.api)

    # Until v3 a request for log directories that fails is answered with none of them (KIP-784).
    silent = {Api.DESCRIBE_LOG_DIRS} if ranges[Api.DESCRIBE_LOG_DIRS].max_version < 3 else set()
    assert reported == set(ranges) - silent


def test_an_answer_that_has_no_bytes_is_an_error_and_the_connection_stays() -> None:
    long_type = b"\xff" * 11_000
    join = b"".join(
        (
            struct.pack(">hhihcixh", 11, 2, 7, 1, b"c", 0, 0)[:11],
            struct.pack(">h", 1) + b"g",
            struct.pack(">iih", 10_000, 10_000, 0),
            struct.pack(">h", len(long_type)) + long_type,
            struct.pack(">ih", 1, 5) + b"range" + struct.pack(">i", 0),
        )
    )
    with serving(listener("3.9"), host="127.0.0.1", port=0) as serves, running(serves):
        elect(serves.port)
        with Client(serves.port) as owner, Client(serves.port) as caller:
            owner.send(join)
            assert owner.take("join_group", 2).error_code == Errors.NONE
            for _ in range(2):
                caller.send(request_frame("list_groups", 2))
                listed = caller.take("list_groups", 2)
                assert listed.error_code == Errors.UNKNOWN_SERVER_ERROR
                assert not listed.groups
            caller.send(request_frame("describe_groups", 3, groups=("g",)))
            (group,) = caller.take("describe_groups", 3).groups
            assert group.error_code == Errors.UNKNOWN_SERVER_ERROR
            assert owner.heartbeat() != Errors.UNKNOWN_SERVER_ERROR


@pytest.mark.slow
def test_a_client_that_does_not_read_its_answers_keeps_nothing_but_itself(tmp_path: Path) -> None:
    """Its answers would be 600 MB."""
    with server_process(tmp_path, "--topic", *(f"orders-{each}:100" for each in range(20))) as server:
        all_topics = struct.pack(">i", 18) + request_frame("metadata", 1, client_id="greedy", topics=None)
        all_topics = struct.pack(">i", len(all_topics) - 4) + all_topics[4:]
        with connected(server) as greedy, connected(server) as healthy:
            ask(healthy, HEARTBEAT)
            before = server.resident_bytes()
            greedy.settimeout(1)
            with pytest.raises(TimeoutError):
                greedy.sendall(all_topics * 1_000_000)
            for _ in range(20):
                ask(healthy, HEARTBEAT)

            assert server.resident_bytes() - before < 32 * MIB
            greedy.settimeout(TIMEOUT_S)
            assert len(greedy.recv(1 << 16)) > 0


@pytest.mark.slow
def test_what_comes_behind_a_parked_request_stays_with_the_client(tmp_path: Path) -> None:
    slow = ("--config", "group.initial.rebalance.delay.ms=60000")
    large = struct.pack(">i", 64 * MIB) + bytes(64 * MIB)
    with server_process(tmp_path, *slow) as server, connected(server) as parked, connected(server) as healthy:
        ask(healthy, request_frame("find_coordinator", 0, key="g"))
        before = server.resident_bytes()
        parked.sendall(framed(JOIN))
        parked.settimeout(1)
        with pytest.raises(TimeoutError):
            parked.sendall(large * 3)

        ask(healthy, HEARTBEAT)
        assert server.resident_bytes() - before < 8 * MIB


def test_a_request_of_many_elements_closes_its_connection_at_once(tmp_path: Path) -> None:
    topics = 5 * MIB
    frame = struct.pack(">hhihi", 3, 1, 7, -1, topics) + bytes(2 * topics)
    with server_process(tmp_path) as server, connected(server) as greedy, connected(server) as healthy:
        ask(healthy, HEARTBEAT)
        greedy.sendall(framed(frame))
        assert greedy.recv(1) == b""
        ask(healthy, HEARTBEAT)

        assert server.peak_bytes() < 150 * MIB


def test_the_largest_request_is_as_configured(tmp_path: Path) -> None:
    limit = ("--config", "socket.request.max.bytes=1000")
    with server_process(tmp_path, *limit) as server, connected(server) as client:
        ask(client, HEARTBEAT.ljust(1000, b"\0"))
        client.sendall(struct.pack(">i", 1001))
        assert client.recv(1) == b""


def test_a_server_without_descriptors_refuses_new_clients_and_serves_the_others(tmp_path: Path) -> None:
    limited: Any = ("sh", "-c", 'ulimit -n 40; exec "$@"', "limited")
    with server_process(tmp_path, command=limited) as server:
        clients = [connected(server) for _ in range(60)]
        served = []
        for client in clients:
            try:
                served.append(bool(ask(client, HEARTBEAT)))
            except OSError:
                served.append(False)
        assert 10 < sum(served) < 40
        assert served == sorted(served, reverse=True)
        for client in clients:
            client.close()
        with connected(server) as again:
            assert ask(again, HEARTBEAT)


@pytest.mark.slow
def test_a_directory_of_many_partitions_needs_few_descriptors(tmp_path: Path) -> None:
    limited: Any = ("sh", "-c", 'ulimit -n 256; exec "$@"', "limited")
    longest = "x" * 249
    given = ("--data-dir", str(tmp_path / "data"), "--topic", "orders:1000", f"{longest}:12")
    for _ in range(2):
        with server_process(tmp_path, *given, command=limited) as server, connected(server) as client:
            asked = ({"name": "orders"}, {"name": longest})
            answer = read_response("metadata", 1, ask(client, request_frame("metadata", 1, topics=asked)))
            assert [len(topic.partitions) for topic in answer.topics] == [1000, 12]
            assert server.stop() == 0

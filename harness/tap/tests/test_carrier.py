"""Bytes through a tap: they arrive as they were sent; who goes, stays away or sends rubbish is endured."""

import os
import signal
import socket
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from harness.tap import Tap, TapError, events_of_journal
from harness.tests.tapped import (
    PATIENCE_S,
    RUN_ID,
    TARGET,
    Line,
    Tapped,
    connected,
    framed,
    request,
    tapped_port,
)
from harness.trace.events import EventKind
from harness.wire.codec import Fields

HEARTBEAT = framed(
    request("Heartbeat", 4, {"group_id": "g", "generation_id": 1, "member_id": "m"}, correlation_id=7)
)
HEARTBEAT_ANSWER = framed(struct.pack(">i", 7) + b"\0" + bytes(4) + bytes(2) + b"\0")
TLS_HELLO = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(range(200))


@pytest.fixture
def tapped(tmp_path: Path) -> Iterator[Tapped]:
    with tapped_port(tmp_path) as tapped:
        yield tapped


def exchange(client: Line, broker: Line) -> None:
    client.send(HEARTBEAT)
    assert broker.receive(len(HEARTBEAT)) == HEARTBEAT
    broker.send(HEARTBEAT_ANSWER)
    assert client.receive(len(HEARTBEAT_ANSWER)) == HEARTBEAT_ANSWER


def memory_bytes(pid: int) -> int:
    (resident,) = (
        line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS")
    )
    return int(resident.split()[1]) * 1024


def test_an_exchange_arrives_as_it_was_sent_and_stands_in_the_trace(tapped: Tapped) -> None:
    client, broker = tapped.open()
    exchange(client, broker)

    asked, answered = tapped.events()
    assert (asked.kind, asked.actor) == (EventKind.REQUEST, "ana")
    assert (asked.api, asked.api_version) == ("Heartbeat", 4)
    assert (answered.kind, answered.api, answered.correlation_id) == (EventKind.RESPONSE, "Heartbeat", 7)
    assert asked.raw == HEARTBEAT[4:].hex()
    assert answered.raw == HEARTBEAT_ANSWER[4:].hex()
    assert answered.elapsed_ms is not None
    assert answered.canonical is not None


def test_what_comes_byte_by_byte_arrives_whole(tapped: Tapped) -> None:
    client, broker = tapped.open()
    client.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for byte in HEARTBEAT:
        client.send(bytes([byte]))
    assert broker.receive(len(HEARTBEAT)) == HEARTBEAT
    for byte in HEARTBEAT_ANSWER:
        broker.send(bytes([byte]))

    assert client.receive(len(HEARTBEAT_ANSWER)) == HEARTBEAT_ANSWER
    assert [event.kind for event in tapped.events()] == [EventKind.REQUEST, EventKind.RESPONSE]


@pytest.mark.parametrize(
    "rubbish",
    [
        TLS_HELLO,
        b"GET / HTTP/1.1\r\n\r\n",
        struct.pack(">i", -1) + b"x" * 9,
        struct.pack(">i", 1 << 30),
        bytes(64),
    ],
    ids=["tls", "http", "negative size", "absurd size", "zeros"],
)
def test_rubbish_arrives_at_the_broker_as_it_was_sent_and_hurts_nobody_else(
    tapped: Tapped, rubbish: bytes
) -> None:
    client, broker = tapped.open()
    other = tapped.open()
    client.send(rubbish)
    assert broker.receive(len(rubbish)) == rubbish
    broker.close()
    with suppress(ConnectionResetError):
        assert client.receive(1) == b""

    exchange(*other)
    (malformed,) = [event for event in tapped.events() if event.kind == EventKind.MALFORMED]
    assert malformed.note is not None
    assert "from the client" in malformed.note
    assert "passed unread" in malformed.note
    assert malformed.raw == rubbish.hex()


def test_half_a_frame_and_then_the_end_arrives_so(tapped: Tapped) -> None:
    client, broker = tapped.open()
    client.send(HEARTBEAT[:20])
    client.close()

    assert broker.receive(len(HEARTBEAT)) == HEARTBEAT[:20]
    broker.close()
    notes = [event.note or "" for event in tapped.events()]
    assert any("20 bytes of a frame that is not whole" in note for note in notes)


def test_who_ends_the_connection_is_reported(tapped: Tapped) -> None:
    leaving, broker = tapped.open()
    exchange(leaving, broker)
    leaving.close()
    assert broker.receive(1) == b""
    left, ending = tapped.open()
    exchange(left, ending)
    ending.close()
    assert left.receive(1) == b""

    kinds = (EventKind.CLOSED, EventKind.DISCONNECTED)
    endings = [event for event in tapped.events() if event.kind in kinds]
    assert [(event.kind, event.note) for event in endings] == [
        (EventKind.DISCONNECTED, "by the client: closed"),
        (EventKind.CLOSED, "by the broker: closed"),
    ]


def test_who_says_no_more_still_hears_the_answer(tapped: Tapped) -> None:
    client, broker = tapped.open()
    client.send(HEARTBEAT)
    client.socket.shutdown(socket.SHUT_WR)
    assert broker.receive(len(HEARTBEAT) + 1) == HEARTBEAT
    broker.send(HEARTBEAT_ANSWER)
    broker.close()

    assert client.receive(len(HEARTBEAT_ANSWER) + 1) == HEARTBEAT_ANSWER


def test_a_reset_is_passed_on_as_one(tapped: Tapped) -> None:
    client, broker = tapped.open()
    exchange(client, broker)
    broker.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    broker.close()

    with pytest.raises(ConnectionResetError):
        client.receive(1)


def test_a_broker_that_is_gone_is_felt_as_a_reset(tmp_path: Path) -> None:
    with tapped_port(tmp_path) as tapped:
        port = int(tapped.tap.bootstrap_servers.rpartition(":")[2])
        exchange(*tapped.open())
        tapped.serve_no_more()
        # The reset may come before the client has noticed that it is connected.
        with pytest.raises(ConnectionResetError), connected(f"127.0.0.1:{port}") as client:
            client.receive(1)
        assert tapped.tap.failure() is None
        assert any("Connection refused" in (event.note or "") for event in tapped.events())


@pytest.mark.slow
def test_a_broker_that_reads_nothing_stops_its_client_and_fills_no_memory(tapped: Tapped) -> None:
    client, broker = tapped.open()
    before = memory_bytes(tapped.tap.pid)
    client.socket.settimeout(1.0)
    fields: Fields = {"group_id": "g" * 30_000, "generation_id": 1, "member_id": "m"}
    flood = framed(request("Heartbeat", 4, fields)) * 10_000
    with pytest.raises(TimeoutError):
        client.send(flood)

    assert memory_bytes(tapped.tap.pid) - before < 16 << 20
    exchange(*tapped.open())
    client.close()
    broker.close()


def test_of_a_very_long_frame_all_is_passed_and_the_beginning_kept(tapped: Tapped) -> None:
    client, broker = tapped.open()
    payload = request("Heartbeat", 4, {"group_id": "g", "generation_id": 1, "member_id": "m"}) + bytes(
        1 << 20
    )
    broker.socket.settimeout(PATIENCE_S)
    client.socket.settimeout(0)
    unsent, received = memoryview(framed(payload)), b""
    while len(received) < len(payload) + 4:
        with suppress(BlockingIOError):
            unsent = unsent[client.socket.send(unsent) :] if unsent else unsent
        received += broker.socket.recv(1 << 16)
    client.socket.settimeout(PATIENCE_S)
    exchange(client, broker)

    assert received == framed(payload)
    long, *others = tapped.events()
    assert long.note == f"of {len(payload)} bytes the first {1 << 18} were kept"
    assert long.raw == payload[: 1 << 18].hex()
    assert [event.kind for event in others] == [EventKind.REQUEST, EventKind.RESPONSE]
    assert tapped.tap.journal.stat().st_size < 1 << 19


def test_conversations_are_kept_apart(tapped: Tapped) -> None:
    exchange(*tapped.open("one"))
    exchange(*tapped.open("other"))
    exchange(*tapped.open("one"))

    places = [(event.scenario_id, event.sequence) for event in tapped.events()]
    assert places == [("one", 0), ("one", 1), ("other", 0), ("other", 1), ("one", 2), ("one", 3)]
    assert tapped.tap.conversation("one") == tapped.tap.conversation("one")


def test_an_answer_that_came_too_late_is_not_taken_for_the_next_ones(tapped: Tapped) -> None:
    tapped.tap._link.sendall(b'{"conversation": "given up"}\n')
    assert tapped.tap.conversation("next") != tapped.tap.conversation("given up")
    assert tapped.tap.conversation("next") == tapped.tap.conversation("next")


def test_a_tap_that_is_killed_loses_nothing_that_it_passed_before(tmp_path: Path) -> None:
    with tapped_port(tmp_path) as tapped:
        exchange(*tapped.open())
        client, broker = tapped.open()
        exchange(client, broker)
        exchange(client, broker)
        os.kill(tapped.tap.pid, signal.SIGKILL)
        os.waitid(os.P_PID, tapped.tap.pid, os.WEXITED | os.WNOWAIT)
        assert broker.receive(1) == b""
        assert "exit status -9" in (tapped.tap.failure() or "")
        with pytest.raises(TapError, match="exit status -9"):
            tapped.tap.conversation("another")

        kinds = [event.kind for event in tapped.events()]
        # The answer that was passed last may not have been kept before the blow fell.
        assert kinds[:5] == [EventKind.REQUEST, EventKind.RESPONSE] * 2 + [EventKind.REQUEST]


def test_a_stopped_tap_has_closed_everything_and_lives_no_more(tmp_path: Path) -> None:
    with tapped_port(tmp_path) as tapped:
        client, broker = tapped.open()
        exchange(client, broker)
        tapped.tap.stop()
        tapped.tap.stop()

        assert client.receive(1) == b""
        assert not Path(f"/proc/{tapped.tap.pid}").exists()
        assert tapped.tap.failure() is None
        assert tapped.events()[-1].note == "by the tap: the tap was stopped"


def test_two_taps_cannot_keep_one_journal(tapped: Tapped) -> None:
    with pytest.raises(TapError, match="another tap's journal"):
        Tap("127.0.0.1:1", tapped.tap.journal.parent)


@pytest.mark.parametrize(
    ("bootstrap", "listen", "says"),
    [
        ("nowhere", "127.0.0.1:0", "'nowhere' is not an address"),
        ("127.0.0.1:9092", "localhost", "'localhost' is not an address"),
        ("127.0.0.1:9092", "0.0.0.0:0", "say which host clients are told"),
        ("127.0.0.1:9092", "192.0.2.1:0", "nobody can listen on 192.0.2.1:0"),
    ],
)
def test_a_tap_that_makes_no_sense_says_so(tmp_path: Path, bootstrap: str, listen: str, says: str) -> None:
    with pytest.raises(TapError, match=says):
        Tap(bootstrap, tmp_path, listen=listen)


def test_a_journal_that_was_cut_anywhere_gives_the_events_before(tapped: Tapped, tmp_path: Path) -> None:
    exchange(*tapped.open())
    whole = tapped.tap.journal.read_bytes()
    events = tapped.events()
    cut = tmp_path / "cut.bin"
    for size in range(len(whole) - len(HEARTBEAT) - len(HEARTBEAT_ANSWER), len(whole)):
        cut.write_bytes(whole[:size])
        found = list(events_of_journal(cut, run_id=RUN_ID, target=TARGET))
        assert found == events[: len(found)]
        assert len(found) < len(events)

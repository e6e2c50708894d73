"""Captures of scans and of what is no Kafka: nothing stays of connections without a frame."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pytest
from dpkt import tcp

from harness.captures import streams
from harness.captures.judging import judge_here
from harness.captures.notes import Notes
from harness.captures.rows import Row
from harness.captures.segments import Segment
from harness.captures.sources import sources_of
from harness.captures.streams import rows_of_segments
from harness.captures.tests.made_captures import Sent, terms_of, wire_of, write_pcap
from harness.tap.journal import Endpoint
from harness.tests.replayed import Recording, two_members

MANY = 300
BROKER = (bytes((10, 0, 0, 5)), 9092)
NO_KAFKA = b"GET / HTTP/1.1\r\n\r\n"
CLIENT_HELLO = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"


@pytest.fixture(scope="module")
def recording() -> Recording:
    return two_members()


@pytest.fixture(name="few", autouse=True)
def only_few_are_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "_OPEN_MAX", 10)
    monkeypatch.setattr(streams, "_COUNTED_MAX", 10)


class Followed:
    """A reader that keeps what it is given, and how many others were open and over by then."""

    all_of_them: ClassVar[list["Followed"]] = []

    def __init__(self, name: str, _: Notes) -> None:
        self.name, self.data, self.position, self.place = name, b"", 0, -1
        self.beside = sum(each.place < 0 for each in self.all_of_them)
        self.all_of_them.append(self)

    def is_captured(self, at_ms: float, *, is_whole: bool) -> None:
        """Need nothing of it."""

    def take(self, _: Endpoint, data: bytes, at_ms: float, *, lost: int) -> Iterator[Row]:
        self.position += lost + len(data)
        self.data += data
        assert data in (b"", b"x", b"y") or data[-1] == self.position - 1
        yield from ()

    def end(self) -> Iterator[Row]:
        self.place = sum(each.place >= 0 for each in self.all_of_them)
        yield from ()


@pytest.fixture
def followed(monkeypatch: pytest.MonkeyPatch) -> list[Followed]:
    monkeypatch.setattr(Followed, "all_of_them", [])
    monkeypatch.setattr(streams, "ConnectionReader", Followed)
    return Followed.all_of_them


def segment(port: int, seq: int, data: bytes = b"", *, is_syn: bool = False, at_ms: float = 0.0) -> Segment:
    return Segment(
        *(at_ms, (bytes((10, 0, 0, 9)), port), BROKER, Endpoint.CLIENT, seq, None),
        *(is_syn, False, False, data),
    )


def scans(ports: range, data: bytes = b"") -> Iterator[Segment]:
    for port in ports:
        yield segment(port, 5, is_syn=True)
        if data:
            yield segment(port, 6, data)


def in_between(recording: Recording, data: bytes) -> list[Sent]:
    """The packets of a recording, and connections in front of each."""
    sent = []
    for number, each in enumerate(wire_of(recording.events).sent):
        for port in range(20_000 + 3 * number, 20_003 + 3 * number):
            opening = Sent(each.at_ms, port, is_from_client=True, seq=5, ack=0, flags=tcp.TH_SYN)
            sent += [opening, replace(opening, seq=6, data=data, flags=tcp.TH_ACK)] if data else [opening]
        sent.append(each)
    return sent


def test_the_connection_that_was_idle_longest_is_given_up(followed: list[Followed]) -> None:
    assert not list(rows_of_segments(scans(range(1, MANY), b"x"), Notes()))
    assert [each.place for each in followed] == list(range(MANY - 1))
    assert max(each.beside for each in followed) == 10


def test_of_connections_without_anything_nothing_is_said(followed: list[Followed]) -> None:
    notes = Notes()

    assert not list(rows_of_segments(scans(range(1, MANY)), notes))
    assert notes.connections == MANY - 1
    assert not followed


def test_a_connection_with_data_outlives_many_without(followed: list[Followed]) -> None:
    spoken = [segment(40_000, 5, is_syn=True), segment(40_000, 6, b"x")]
    last = segment(40_000, 7, b"y")

    assert not list(rows_of_segments([*spoken, *scans(range(1, MANY)), last], Notes()))
    assert [each.data for each in followed] == [b"xy"]


def test_every_name_is_of_one_connection(followed: list[Followed]) -> None:
    again = (replace(each, seq=each.seq + 9) for each in scans(range(1, MANY), b"x"))

    assert not list(rows_of_segments([*scans(range(1, MANY), b"x"), *again], Notes()))
    assert len(followed) == len({each.name for each in followed}) == 2 * (MANY - 1)


@pytest.mark.parametrize("data", [b"", NO_KAFKA, b"x"])
def test_a_recording_among_scans_is_judged_as_without_them(
    recording: Recording, tmp_path: Path, data: bytes
) -> None:
    alone = write_pcap(tmp_path / "alone.pcap", wire_of(recording.events).sent)
    among = write_pcap(tmp_path / "among.pcap", in_between(recording, data))
    terms = terms_of(recording)

    assert judge_here(sources_of([among]), terms).groups == judge_here(sources_of([alone]), terms).groups


def test_connections_without_a_frame_are_counted_and_leave_nothing() -> None:
    notes = Notes()
    assert not list(rows_of_segments(scans(range(MANY), NO_KAFKA), notes))
    assert list(notes.in_words()) == [f"{MANY} of {MANY} connections have bytes, and no whole frame of Kafka"]
    assert not any((notes.lost, notes.skipped, notes.without_request))


def test_the_first_connections_with_tls_are_named_and_the_others_counted() -> None:
    notes = Notes()
    assert not list(rows_of_segments(scans(range(MANY), CLIENT_HELLO), notes))
    assert [*notes.in_words()][100:] == ["200 more connections speak TLS: they cannot be read"]


def test_segments_that_wait_behind_holes_come_in_order(
    followed: list[Followed], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "_WAITING_SEGMENTS_MAX", 5)
    places = [*range(2, 60, 2), *range(3, 61, 2)]
    came = [segment(1, 5, is_syn=True), *(segment(1, 6 + each, bytes((each,))) for each in places)]

    assert not list(rows_of_segments(came, Notes()))
    (only,) = followed
    assert only.data == bytes(sorted(only.data))
    assert set(range(2, 60, 2)) <= set(only.data)

"""What captures may contain beside frames of Kafka, and files that are damaged."""

import random
from pathlib import Path

import pytest
from dpkt import tcp

from harness.captures import JudgedCaptures, Terms, judge_here, sources_of
from harness.captures.tests.made_captures import (
    PORT,
    Sent,
    Wire,
    in_halves,
    pcap_bytes,
    pcapng_bytes,
    wire_of,
    write_pcap,
)
from harness.replay import specification
from harness.results.stored_data import ReportError
from harness.tests.replayed import Recording, two_members
from harness.tests.tapped import framed
from harness.trace.schema import TraceError
from harness.wire.codec import encode_request, encode_response

SEEDS = 40
CLIENT_HELLO = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"


@pytest.fixture(scope="module")
def recording() -> Recording:
    return two_members()


def judged(*paths: Path, port: int = PORT) -> JudgedCaptures:
    terms = Terms(spec=specification("3.9", {}), ports=frozenset((port,)), is_whole=True)
    return judge_here(sources_of(paths), terms)


def compared(found: JudgedCaptures) -> int:
    return sum(group.replayed.compared for group in found.groups)


def test_tls_is_recognised(tmp_path: Path) -> None:
    wire = Wire()
    wire.sends(0.0, 40_000, CLIENT_HELLO, is_from_client=True)
    wire.sends(1.0, 40_000, b"\x16\x03\x03" + bytes(500), is_from_client=False)

    found = judged(write_pcap(tmp_path / "c.pcap", wire.sent))

    assert list(found.notes.in_words()) == [
        "connection 10.0.0.5:9092 from 10.0.0.9:40000 speaks TLS: it cannot be read"
    ]


def test_an_acknowledgement_of_a_former_connection_acknowledges_nothing(
    recording: Recording, tmp_path: Path
) -> None:
    wire = wire_of(recording.events)
    opening = wire.sent[0]
    stray = Sent(opening.at_ms, opening.client_port, is_from_client=False, seq=99, ack=416_273_827)
    reset = Sent(
        opening.at_ms, opening.client_port, is_from_client=True, seq=stray.ack, ack=0, flags=tcp.TH_RST
    )

    found = judged(write_pcap(tmp_path / "c.pcap", [opening, stray, reset, *wire.sent]))

    assert list(found.notes.in_words()) == []
    assert compared(found) == compared(judged(write_pcap(tmp_path / "all.pcap", wire.sent)))


def test_other_ports_are_left_out_and_named(recording: Recording, tmp_path: Path) -> None:
    path = write_pcap(tmp_path / "c.pcap", wire_of(recording.events).sent)

    found = judged(path, port=19092)

    assert found.groups == ()
    (line,) = found.notes.in_words()
    assert "name it with --port, most packets are of 9092" in line


@pytest.mark.parametrize("end", [-1, -20, -90])
def test_what_comes_before_the_end_of_a_truncated_capture_is_judged(
    recording: Recording, tmp_path: Path, end: int
) -> None:
    whole = pcap_bytes(wire_of(recording.events).sent)
    path = tmp_path / "c.pcap"
    path.write_bytes(whole[:end])

    found = judged(path)

    (damage,) = found.notes.damages
    assert str(path) in damage
    assert f"of {len(whole) + end}: the file ends" in damage
    assert compared(found) > 0


def test_a_damaged_block_of_pcapng_is_printed_with_its_place(recording: Recording, tmp_path: Path) -> None:
    whole = bytearray(pcapng_bytes(wire_of(recording.events).sent))
    place = len(whole) // 2 // 4 * 4
    whole[place : place + 2_000] = b"\xff" * 2_000
    path = tmp_path / "c.pcapng"
    path.write_bytes(whole)

    found = judged(path)

    assert "damaged behind byte" in found.notes.damages[0]
    assert compared(found) > 0


def test_a_client_without_an_id_is_found_in_the_middle_of_its_connection(tmp_path: Path) -> None:
    wire = Wire()
    beat = encode_request("Heartbeat", 0, correlation_id=7, client_id="", fields={"group_id": "g"})
    answer = encode_response("Heartbeat", 0, correlation_id=7, fields={"error_code": "UNKNOWN_MEMBER_ID"})
    wire.sends(0.0, 40_000, b"rest of a request", is_from_client=True)
    wire.sends(1.0, 40_000, framed(beat), is_from_client=True)
    wire.sends(2.0, 40_000, framed(answer), is_from_client=False)

    found = judged(write_pcap(tmp_path / "c.pcap", wire.sent[3:]))

    (group,) = found.groups
    assert (group.group, sum(group.replayed.not_compared.values())) == ("g", 1)


def test_what_is_no_capture_is_refused(tmp_path: Path) -> None:
    (tmp_path / "c.txt").write_text("no capture")

    with pytest.raises(TraceError, match="neither pcap nor pcapng"):
        judged(tmp_path / "c.txt")
    with pytest.raises(ReportError, match="no such file"):
        judged(tmp_path / "gone")


def test_files_of_one_capture_are_read_as_one(recording: Recording, tmp_path: Path) -> None:
    sent = wire_of(recording.events).sent

    found = judged(*reversed(in_halves(tmp_path, sent)))

    assert compared(found) == compared(judged(write_pcap(tmp_path / "all.pcap", sent)))
    assert list(found.notes.in_words()) == []


def test_records_are_not_kept_and_a_loss_within_them_costs_nothing(
    recording: Recording, tmp_path: Path
) -> None:
    records = b"secret" * 2_000
    wire = wire_of(recording.events)
    head = encode_request("ApiVersions", 0, correlation_id=90_001, client_id="ana", fields={})
    produce = b"\x00\x00\x00\x09" + head[4:] + records
    begin, end = wire.sent[:-4], wire.sent[-4:]
    wire.sent.clear()
    wire.sends(begin[-1].at_ms, 40_000, framed(produce), is_from_client=True)
    lost = wire.sent.pop(3)
    later = encode_request("Heartbeat", 3, correlation_id=90_002, client_id="ana", fields={})
    wire.sends(begin[-1].at_ms, 40_000, framed(later), is_from_client=True)

    found = judged(write_pcap(tmp_path / "c.pcap", [*begin, *wire.sent, *end]))

    assert sum(found.notes.lost.values()) == len(lost.data)
    assert "secret" not in repr(found)


@pytest.mark.parametrize("form", ["pcap", "pcapng"])
def test_no_damage_ends_in_a_traceback(recording: Recording, tmp_path: Path, form: str) -> None:
    sent = wire_of(recording.events, cut=60).sent
    whole = pcap_bytes(sent) if form == "pcap" else pcapng_bytes(sent)
    path = tmp_path / "c"
    for seed in range(SEEDS):
        chance = random.Random(seed)
        damaged = bytearray(whole)
        for _ in range(chance.randrange(1, 30)):
            damaged[chance.randrange(4, len(damaged))] = chance.randrange(256)
        if chance.random() < 0.3:
            del damaged[chance.randrange(4, len(damaged)) :]
        path.write_bytes(damaged)

        assert judged(path).notes.packets >= 0


def test_what_looks_like_a_request_of_eight_bytes_is_skipped(tmp_path: Path) -> None:
    # A topic's partitions in an OffsetCommit: a count, partition 0, offset 80,000, no metadata.
    inside_a_commit = bytes.fromhex("00000001 00000000 0000000000013880 0000")
    wire = Wire()
    wire.opens(0.0, 40_000)
    wire.sends(1.0, 40_000, inside_a_commit, is_from_client=True)
    found = judged(write_pcap(tmp_path / "c.pcap", wire.sent[2:]))
    assert list(found.notes.in_words()) == ["1 of 1 connections have bytes, and no whole frame of Kafka"]

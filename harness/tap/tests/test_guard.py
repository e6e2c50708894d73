"""A tap in front of a broker of others: what its clients may send, and what becomes of the rest."""

from pathlib import Path

from harness.tests.tapped import Tapped, framed, request, tapped_port
from harness.wire.codec import Fields, decode_response, encode_response

PREFIX = "kafka-conformance.run.."


def heartbeat(group: str) -> bytes:
    return framed(request("Heartbeat", 3, {"group_id": group, "generation_id": 1, "member_id": "m"}))


def commit(producer_id: int) -> bytes:
    fields: Fields = {"producer_id": producer_id, "producer_epoch": 3, "topics": []}
    names: Fields = {"transactional_id": f"{PREFIX}id", "group_id": f"{PREFIX}g"}
    return framed(request("TxnOffsetCommit", 2, {**names, **fields}))


def give_producer(tapped: Tapped) -> bytes:
    """Let a client be given producer 5 in epoch 3, and return what it sends with it."""
    asked = framed(request("InitProducerId", 1, {"transactional_id": f"{PREFIX}id"}))
    client, broker = tapped.open()
    client.send(asked)
    assert broker.receive(len(asked)) == asked
    reported = {"producer_id": 5, "producer_epoch": 3}
    broker.send(framed(encode_response("InitProducerId", 1, correlation_id=1, fields=reported)))
    assert decode_response("InitProducerId", 1, client.receive_frame()).fields["producer_id"] == 5
    return commit(5)


def test_a_request_about_others_things_is_not_passed(tmp_path: Path) -> None:
    with tapped_port(tmp_path, prefix=PREFIX) as tapped:
        client, broker = tapped.open("script")
        ours = heartbeat(f"{PREFIX}g")
        client.send(ours + heartbeat("payroll") + ours)
        assert broker.receive(2 * len(ours)) == ours
        assert client.receive(1) == b""
        refused = tapped.tap.refusal("script")
        assert refused == "would touch what is not ours (Heartbeat: payroll)"
        assert tapped.tap.refusal("another") is None
        assert f"by the tap: {refused}" in {event.note for event in tapped.events()}


def test_what_is_refused_or_no_frame_is_not_passed_even_byte_by_byte(tmp_path: Path) -> None:
    with tapped_port(tmp_path, prefix=PREFIX) as tapped:
        by_bytes = [bytes([each]) for each in heartbeat("payroll")]
        for name, pieces in (("script", by_bytes), ("browser", [b"GET / HTTP/1.1\r\n\r\n"])):
            client, broker = tapped.open(name)
            for piece in pieces:
                client.send(piece)
            assert broker.receive(1) == b""
            assert tapped.tap.refusal(name) is not None


def test_a_producer_counts_as_the_runs_once_the_broker_gave_it(tmp_path: Path) -> None:
    with tapped_port(tmp_path, prefix=PREFIX) as tapped:
        ours = give_producer(tapped)
        client, broker = tapped.open("script")
        client.send(ours)
        assert broker.receive(len(ours)) == ours
        client.send(commit(6))
        assert broker.receive(1) == b""
        assert "a producer of others" in (tapped.tap.refusal("script") or "")


def test_clients_are_promised_no_produce_by_a_topics_id(tmp_path: Path) -> None:
    asked = framed(request("ApiVersions", 2, {}))
    ranges = [{"api_key": 0, "min_version": 3, "max_version": 13}]
    answer = framed(encode_response("ApiVersions", 2, correlation_id=1, fields={"api_keys": ranges}))
    with tapped_port(tmp_path, prefix=PREFIX) as tapped:
        client, broker = tapped.open()
        client.send(asked)
        assert broker.receive(len(asked)) == asked
        broker.send(answer)
        reported = decode_response("ApiVersions", 2, client.receive_frame()).fields
        assert reported["api_keys"] == [{"api_key": 0, "min_version": 3, "max_version": 12}]

"""What no broker would send: addresses, configurations, refusals, and answers that never end."""

import asyncio
from collections.abc import Mapping

import pytest

from harness.targets.base import prepare as preparing
from harness.targets.base.dialogue import Dialogue, NotYet
from harness.targets.base.interface import Connection, ConnectionLost, Frame, NoAnswer, TargetError
from harness.targets.base.limits import ANSWER_BYTES
from harness.targets.base.nonsense import blaming_target, checked_config, shown, why_no_address
from harness.targets.base.tcp import StreamConnection, TcpSession, new_connect_slots
from harness.tests.answering import Answering
from harness.wire.codec import encode_response

HOSTS: Mapping[str, str] = {
    "a label too long": "x" * 70,
    "30,000 characters": "x" * 30_000,
    "30,000 characters in labels": ".".join(["abc"] * 7_500),
    "NUL": "broker\0.example",
    "an empty label": "a..b",
    "two dots": "..",
    "nothing": "",
    "no IDNA": "\u00ad\u200b.\u2488",
    "a space": "a b",
    "a line": "a\nb",
}


@pytest.mark.parametrize("host", HOSTS.values(), ids=HOSTS)
def test_a_host_that_is_none_is_reported_in_short_and_never_raises_anything_else(host: str) -> None:
    reported = why_no_address(host, 9092)
    assert reported is not None
    assert len(reported) < 300
    assert reported.isprintable()
    with pytest.raises(ConnectionLost, match="is not an address"):
        asyncio.run(StreamConnection.open(host, 9092))


@pytest.mark.parametrize("port", [99_999, -5, 0, 65_536, 2**31 - 1])
def test_a_port_that_is_none_is_reported(port: int) -> None:
    assert why_no_address("127.0.0.1", port) == f"127.0.0.1:{port} is not an address: a port is 1 to 65535"
    with pytest.raises(ConnectionLost, match="a port is 1 to 65535"):
        asyncio.run(StreamConnection.open("127.0.0.1", port))


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "::1", "kafka_1", "broker.example.", "bücher.example", "fe80::1%lo"]
)
def test_an_address_that_there_may_be_is_let_pass(host: str) -> None:
    assert why_no_address(host, 9092) is None


@pytest.mark.parametrize(
    "config",
    [
        {"offsets.topic.num.partitions": str(2**31 - 1)},
        {"offsets.topic.num.partitions": "9" * 5_000},
        {"group.max.size": "-" + "1" * 5_000},
    ],
)
def test_numbers_beyond_all_use_are_nonsense(config: Mapping[str, str]) -> None:
    with pytest.raises(TargetError, match="sent nonsense"):
        checked_config(config)


def test_a_configuration_that_makes_sense_is_returned() -> None:
    config = {"offsets.topic.num.partitions": "50", "log.dirs": "1" * 10 + "/x" * 50, "a": str(-(2**63))}
    assert checked_config(config) == config


@pytest.mark.parametrize("error", [ValueError("v"), OverflowError("o"), KeyError("k"), RecursionError("r")])
def test_what_makes_no_sense_is_the_fault_of_the_target(error: Exception) -> None:
    with pytest.raises(TargetError, match=f"sent nonsense: {type(error).__name__}"), blaming_target():
        raise error


def test_an_assertion_of_ours_is_our_fault() -> None:
    with pytest.raises(AssertionError), blaming_target():
        raise AssertionError


def test_what_is_shown_is_short_and_printable() -> None:
    assert shown("a\x1b[2J\u202eb") == "a\\x1b[2J\\u202eb"
    assert shown("x" * 100) == f"{'x' * 60}… (100 characters)"


def versions_with(error: str) -> bytes:
    return encode_response("ApiVersions", 0, correlation_id=1, fields={"error_code": error, "api_keys": []})


def test_error_35_to_api_versions_is_reported_as_such_and_not_tried_again() -> None:
    dialogue = Dialogue(Answering(versions_with("UNSUPPORTED_VERSION")))
    with pytest.raises(TargetError, match=r"refuses ApiVersions v0 with UNSUPPORTED_VERSION \(error 35\)"):
        asyncio.run(dialogue.learn_versions())


def test_another_error_to_api_versions_is_reported_and_may_pass() -> None:
    dialogue = Dialogue(Answering(versions_with("BROKER_NOT_AVAILABLE")))
    with pytest.raises(NotYet, match="ApiVersions v0 answers BROKER_NOT_AVAILABLE"):
        asyncio.run(dialogue.learn_versions())


def test_a_question_waits_no_longer_than_is_left_and_is_not_asked_when_nothing_is() -> None:
    left_ms = [70.0, 0.0]
    connection = Answering()
    dialogue = Dialogue(connection, left_ms=lambda: left_ms.pop(0))
    with pytest.raises(NotYet):
        asyncio.run(dialogue.learn_versions())
    with pytest.raises(NotYet, match="no time is left"):
        asyncio.run(dialogue.learn_versions())
    assert connection.waited_ms == [70.0]


class Slow(Answering):
    """Takes almost as long for each answer as anybody waits, by a clock of its own."""

    def __init__(self, clock: list[float]) -> None:
        super().__init__()
        self._clock = clock
        self._asked = 0

    async def receive(self, *, timeout_ms: float) -> Frame:
        self._asked += 1
        self._clock[0] += min(timeout_ms, 4_000)
        if timeout_ms < 4_000:
            raise NoAnswer("nothing")
        return Frame(payload=encode_response("ApiVersions", 0, correlation_id=self._asked, fields={}))


class SlowSession(TcpSession):
    """A broker session by that clock."""

    def __init__(self) -> None:
        super().__init__("127.0.0.1", 9, connect_slots=new_connect_slots())
        self.clock = [0.0]

    def now_ms(self) -> float:
        return self.clock[0]

    async def connect(self, *_: object, principal: str | None = None) -> Connection:
        return Slow(self.clock)


def test_readiness_is_bounded_in_all_however_slow_each_answer_is() -> None:
    session = SlowSession()

    async def ask_for_ever(dialogue: Dialogue) -> None:
        while True:
            await dialogue.learn_versions()

    with pytest.raises(TargetError, match="did not get ready within 20 s"):
        asyncio.run(preparing.ask_until(session, ask_for_ever, timeout_ms=20_000, failure=lambda: None))
    assert session.clock[0] <= 20_001


async def test_an_answer_over_the_limit_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ANSWER_BYTES.variable, "1000")

    async def announce(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write((1001).to_bytes(4, "big"))
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(announce, "127.0.0.1", 0)
    async with server:
        connection = await StreamConnection.open("127.0.0.1", server.sockets[0].getsockname()[1])
        with pytest.raises(ConnectionLost, match=r"1001 bytes .*1000 are the most of an answer"):
            await connection.receive(timeout_ms=5_000)
        await connection.close()

"""librdkafka's mock cluster as a target: what it is, how it ends, and how it is judged."""

import asyncio
import os
import re
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from harness.results.status import ExitCode
from harness.targets.base.dialogue import Dialogue
from harness.targets.base.interface import (
    Broker,
    BrokerSession,
    ConnectionLost,
    TargetError,
)
from harness.targets.librdkafka.inflexible import SPOKEN, InflexibleConnection
from harness.targets.librdkafka.mock import INFLEXIBLE_SUFFIX, SPEC, claimed_release
from harness.targets.spec import parse_target
from harness.tests.answering import Answering
from harness.tests.in_process import CommandLine
from harness.tests.patience import NOW_OR_NEVER_S
from harness.tests.started import JOIN
from harness.wire.codec import Fields, decode_request, decode_response, encode_request, encode_response

pytest_plugins = ["harness.tests.command_line_fixture"]

Open = Callable[[str], BrokerSession]


@asynccontextmanager
async def mock(directory: Path, spec: str = SPEC) -> AsyncIterator[tuple[Broker, Open]]:
    sessions: list[BrokerSession] = []
    broker = await parse_target(spec).start(broker_config={}, directory=directory, progress=lambda _: None)

    def opened(name: str) -> BrokerSession:
        sessions.append(broker.open_session(name))
        return sessions[-1]

    try:
        yield broker, opened
    finally:
        for session in sessions:
            await session.close()
        await broker.stop()


async def dialogue(session: BrokerSession) -> Dialogue:
    conversation = Dialogue(await session.connect())
    await conversation.learn_versions()
    return conversation


def programs(log: Path) -> set[int]:
    """Return the ids of the processes that have a log as their output: the program and its clusters."""
    found = set()
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdecimal() and (folder / "fd" / "1").resolve() == log.resolve():
                found.add(int(folder.name))
        except OSError:
            continue
    return found


async def test_it_is_compared_with_the_newest_release_of_which_it_claims_an_api(tmp_path: Path) -> None:
    async with mock(tmp_path) as (broker, _):
        reported = broker.description
        assert reported.profile == claimed_release(reported.api_ranges) == "4.1"
        assert re.fullmatch(r"mock cluster of librdkafka \d+\.\d+\.\d+\S*", reported.implementation)
        assert any("newest release of which it claims an API" in note for note in reported.notes)
        assert not broker.shares_coordinator


@pytest.mark.parametrize(("suffix", "is_reported"), [("", False), (INFLEXIBLE_SUFFIX, True)])
async def test_the_report_is_reported_which_versions_are_spoken_instead(
    tmp_path: Path, suffix: str, *, is_reported: bool
) -> None:
    async with mock(tmp_path, f"{SPEC}{suffix}") as (broker, _):
        reported = broker.description.notes
    assert any("JoinGroup v6 as v5" in note for note in reported) is is_reported
    assert sum("no configuration" in note for note in reported) == 1


def test_it_takes_no_configuration(tmp_path: Path) -> None:
    started = parse_target(SPEC).start(
        broker_config={"group.max.size": "2"}, directory=tmp_path, progress=lambda _: None
    )
    with pytest.raises(TargetError, match="no configuration"):
        asyncio.run(started)


@pytest.mark.slow
async def test_each_session_has_a_cluster_of_its_own_with_the_topics_of_the_suites(tmp_path: Path) -> None:
    async with mock(tmp_path) as (_, opened):
        sessions = [opened(name) for name in ("one", "other")]
        for session in sessions:
            answer = await (await dialogue(session)).ask("JoinGroup", 3, JOIN)
            assert (answer.text("error_code"), answer.number("generation_id")) == ("NONE", 2)
        topics = await (await dialogue(sessions[0])).ask("Metadata", 4, {"topics": None})
        rows = {row.text("name"): len(row.rows("partitions")) for row in topics.rows("topics")}
        assert rows == {"orders": 3, "payments": 2}


@pytest.mark.slow
async def test_a_cluster_that_ends_itself_takes_nobody_with_it(tmp_path: Path) -> None:
    log = tmp_path / "mock.log"

    async with mock(tmp_path) as (broker, opened):
        session = opened("it")
        await dialogue(session)
        # The first is the program that makes clusters, and every other process a cluster.
        (_, cluster) = sorted(programs(log))
        parked = await session.connect()
        os.kill(cluster, signal.SIGABRT)
        with pytest.raises(ConnectionLost, match="the mock cluster has ended itself"):
            await parked.receive(timeout_ms=5000)
        with pytest.raises(ConnectionLost, match="the mock cluster has ended itself"):
            await session.connect()
        assert broker.failure() is None
        another = opened("another")
        assert (await (await dialogue(another)).ask("FindCoordinator", 2, {"key": "g"})).text("host")

    assert "ended itself with SIGABRT" in log.read_text(encoding="utf-8")
    assert programs(log) == set()


async def test_a_program_that_is_gone_is_reported(tmp_path: Path) -> None:
    async with mock(tmp_path) as (broker, opened):
        os.kill(min(programs(tmp_path / "mock.log")), signal.SIGKILL)
        async with asyncio.timeout(NOW_OR_NEVER_S):
            while broker.failure() is None:  # noqa: ASYNC110 - a process sets no event of asyncio's
                await asyncio.sleep(0.01)
        assert "signal SIGKILL" in (broker.failure() or "")
        with pytest.raises(TargetError, match="makes no cluster"):
            await opened("late").connect()


@pytest.mark.slow
async def test_spoken_to_in_versions_that_it_can_read_it_lets_members_in(tmp_path: Path) -> None:
    async with mock(tmp_path, SPEC + INFLEXIBLE_SUFFIX) as (_, opened):
        connection = await opened("it").connect()
        await connection.send(encode_request("JoinGroup", 6, correlation_id=1, fields=JOIN))
        answer = decode_response("JoinGroup", 6, (await connection.receive(timeout_ms=5000)).payload)
        assert answer.fields["error_code"] == "NONE"
        assert answer.reencodes


@pytest.mark.parametrize("client_id", ["ana", "", None])
@pytest.mark.parametrize(("api", "version"), SPOKEN)
def test_a_request_goes_out_in_a_lower_version_and_its_answer_comes_in_its_own(
    api: str, version: int, client_id: str | None
) -> None:
    inner, lower = Answering(), SPOKEN[api, version]
    connection = InflexibleConnection(inner)
    fields: Fields = {"group_id": "g"}
    asked = encode_request(api, version, correlation_id=7, client_id=client_id, fields=fields)
    inner.answers = [encode_response(api, lower, correlation_id=7, fields={"error_code": "NONE"})]
    asyncio.run(connection.send(asked))
    assert inner.sent == [encode_request(api, lower, correlation_id=7, client_id=client_id, fields=fields)]
    assert decode_request(api, lower, inner.sent[0]).fields["group_id"] == "g"
    frame = asyncio.run(connection.receive(timeout_ms=1))
    assert decode_response(api, version, frame.payload).fields["error_code"] == "NONE"


def test_what_is_of_other_versions_or_cannot_be_read_goes_through_as_it_is() -> None:
    inner = Answering()
    connection = InflexibleConnection(inner)
    whole = encode_request("JoinGroup", 6, correlation_id=7, fields=JOIN)
    sent = [encode_request("JoinGroup", 3, correlation_id=1, fields=JOIN), whole[:-3], b"", b"nonsense"]
    inner.answers = [b"\0\0\0\x07nothing", b""]
    for payload in sent:
        asyncio.run(connection.send(payload))
    assert inner.sent == sent
    assert asyncio.run(connection.receive(timeout_ms=1)).payload == b"\0\0\0\x07nothing"
    assert asyncio.run(connection.receive(timeout_ms=1)).payload == b""


@pytest.mark.slow
def test_a_report_says_what_clients_suffer_from_it(kafka_conformance: CommandLine, tmp_path: Path) -> None:
    run = ("run", "classic/heartbeat/unknown-group", "--no-report", "--run-id", "it")
    code = kafka_conformance(*run, "--target", SPEC, "--out", tmp_path)
    assert code == ExitCode.UNEXPECTED
    asked = ("diff", "reference-4.1", SPEC, "--run", tmp_path / "it", "--format", "markdown")
    assert kafka_conformance(*asked) == ExitCode.EXPECTED
    page = kafka_conformance.out
    assert page.startswith("# reference:4.1 (run it) → librdkafka-mock, 4.1 (run it)\n")
    assert "\n- Heartbeat: GROUP\\_ID\\_NOT\\_FOUND instead of UNKNOWN\\_MEMBER\\_ID: classic" in page
    assert "A consumer whose group is gone does not learn it from its heartbeats" in page
    assert f"`kafka-conformance run --target {SPEC} --profile 4.1 classic/heartbeat/unknown-group`" in page
    assert "- what clients do: " in page
    assert "unknown cause" not in page

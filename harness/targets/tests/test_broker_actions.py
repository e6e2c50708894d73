"""What can be done to real brokers: stopped and started, killed, halted, held, led elsewhere."""

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from harness.targets.base.dialogue import Dialogue
from harness.targets.base.interface import (
    Breakpoint,
    BrokerAction,
    BrokerSession,
    ConnectionLost,
    Role,
    TargetError,
)
from harness.targets.debugger.breakpoints import code_points
from harness.targets.debugger.jdwp import CodePoint, Debugger
from harness.targets.kafka.local import LocalBroker
from harness.targets.kafka.released import KafkaTarget
from harness.tests.patience import NOW_OR_NEVER_S
from harness.tests.started import ask, started
from harness.wire.codec import Fields

pytestmark = pytest.mark.broker
_LEFT: Fields = {"group_id": "g", "member_id": "nobody"}
LOADING = "COORDINATOR_LOAD_IN_PROGRESS"
SERVING = "UNKNOWN_MEMBER_ID"
ELSEWHERE = "NOT_COORDINATOR"


@asynccontextmanager
async def running(
    directory: Path,
    target: KafkaTarget,
    breakpoints: Collection[Breakpoint] = (),
    broker_actions: Collection[BrokerAction] = (),
) -> AsyncIterator[tuple[LocalBroker, BrokerSession]]:
    """Start a broker, and look at the end that nothing is left of it."""
    how = started(target, directory, breakpoints=breakpoints, broker_actions=broker_actions)
    async with how as (broker, session):
        assert isinstance(broker, LocalBroker)
        yield broker, session
    assert not any(Path(f"/proc/{pid}").exists() for pid in broker.pids)  # noqa: ASYNC240 - no disk


async def answer(session: BrokerSession, role: Role = Role.COORDINATOR) -> str | None:
    """Return what a member is told that leaves a group that is not there."""
    return (await ask(session, "LeaveGroup", 1, _LEFT, role)).text("error_code")


async def answers(session: BrokerSession, expected: str, role: Role = Role.COORDINATOR) -> None:
    """Wait until a broker answers so."""
    async with asyncio.timeout(NOW_OR_NEVER_S):
        while await answer(session, role) != expected:
            await session.elapse(10)


@pytest.mark.parametrize("version", ["2.8.2", pytest.param("3.9.2", marks=pytest.mark.release), "4.3.1"])
async def test_a_broker_that_is_paused_in_its_load_loads_until_it_resumes(
    tmp_path: Path, version: str
) -> None:
    async with running(tmp_path, KafkaTarget(version), breakpoints=[Breakpoint.LOADING]) as (
        broker,
        session,
    ):
        pids = broker.pids
        await session.pause_at(Breakpoint.LOADING)
        assert await answer(session) == SERVING

        await session.carry_out(BrokerAction.RESTART, {})
        assert broker.pids[-1] != pids[-1]
        assert [await answer(session) for _ in range(3)] == [LOADING] * 3
        await session.resume_from(Breakpoint.LOADING)
        await answers(session, SERVING)

        await session.carry_out(BrokerAction.RESTART, {"group.max.size": "3"})
        await answers(session, SERVING)
        assert "group.max.size=3\n" in (tmp_path / "server.properties").read_text()


@pytest.mark.parametrize("version", ["2.8.2", "3.9.2"])
async def test_a_broker_that_is_killed_comes_back_at_once(tmp_path: Path, version: str) -> None:
    async with running(tmp_path, KafkaTarget(version)) as (_, session):
        await session.carry_out(BrokerAction.KILL, {})
        await answers(session, SERVING)
        # A broker that was killed awaits the end of its former session, which is short therefore.
        assert "broker.session.timeout.ms=1500\n" in (tmp_path / "server.properties").read_text()

        connection = await session.connect()
        await session.carry_out(BrokerAction.PAUSE, {})
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1):
                await Dialogue(connection).ask("LeaveGroup", 1, _LEFT)
        await session.carry_out(BrokerAction.RESUME, {})
        await answers(session, SERVING)


async def test_a_debugger_that_hangs_up_leaves_the_broker_running(tmp_path: Path) -> None:
    async with running(tmp_path, KafkaTarget("3.9.2"), breakpoints=[Breakpoint.LOADING]) as (
        broker,
        session,
    ):
        await session.pause_at(Breakpoint.LOADING)
        await session.carry_out(BrokerAction.RESTART, {})
        (node,) = broker.nodes
        await node.hang_up()
        await answers(session, SERVING)


async def test_a_method_that_a_kafka_lacks_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (point,) = code_points("4.3.1", java_coordinator=False).values()
    lacking = CodePoint(class_name=point.class_name, method="load_all")
    monkeypatch.setattr(
        "harness.targets.kafka.local.code_points", lambda *_, **__: {Breakpoint.LOADING: lacking}
    )

    async with running(tmp_path, KafkaTarget("4.3.1"), breakpoints=[Breakpoint.LOADING]) as (_, session):
        await session.pause_at(Breakpoint.LOADING)
        with pytest.raises(TargetError, match=r"CoordinatorLoaderImpl#load_all is not in this Kafka"):
            await session.carry_out(BrokerAction.RESTART, {})


async def test_who_listens_for_debuggers_but_is_none_is_reported_from_one(tmp_path: Path) -> None:
    async def greets(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-OpenSSH")
        writer.close()

    async with await asyncio.start_server(greets, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(TargetError, match="does not answer as a debug agent"):
            await Debugger.attach("127.0.0.1", port, timeout_s=NOW_OR_NEVER_S)


@pytest.mark.parametrize("version", ["2.8.2", "4.3.1"])
async def test_in_a_cluster_another_broker_takes_over(tmp_path: Path, version: str) -> None:
    async with running(
        tmp_path,
        KafkaTarget(version, node_count=3),
        breakpoints=[Breakpoint.LOADING],
        broker_actions=[BrokerAction.DISCONNECT],
    ) as (broker, session):
        assert (await answer(session), await answer(session, Role.OTHER)) == (SERVING, ELSEWHERE)
        former = broker.address(Role.COORDINATOR)

        await session.pause_at(Breakpoint.LOADING)
        await session.carry_out(BrokerAction.MOVE, {})
        assert broker.address(Role.COORDINATOR) != former
        assert (await answer(session), await answer(session, Role.OTHER)) == (LOADING, ELSEWHERE)
        await session.resume_from(Breakpoint.LOADING)
        await answers(session, SERVING)

        moved = broker.address(Role.COORDINATOR)
        await session.carry_out(BrokerAction.DISCONNECT, {})
        assert broker.address(Role.FORMER) == moved
        with pytest.raises(ConnectionLost):
            await answer(session, Role.FORMER)
        await answers(session, SERVING)
        await session.carry_out(BrokerAction.RECONNECT, {})
        await answers(session, ELSEWHERE, Role.FORMER)

        survivor = broker.address(Role.COORDINATOR)
        await session.carry_out(BrokerAction.KILL, {})
        assert broker.address(Role.COORDINATOR) != survivor
        await answers(session, SERVING)
        assert await answer(session, Role.OTHER) == ELSEWHERE

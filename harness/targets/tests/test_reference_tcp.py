"""What can be done to the reference's server: ended and started again, and, in a cluster, led elsewhere."""

import asyncio
from pathlib import Path

import pytest

from harness.targets.base.dialogue import NotYet
from harness.targets.base.interface import (
    BrokerAction,
    BrokerSession,
    ConnectionLost,
    Role,
    TargetError,
)
from harness.tests.started import JOIN, ask, only_member, started
from harness.wire.codec import Fields

pytestmark = pytest.mark.slow

ALL = frozenset(BrokerAction) - {BrokerAction.LENGTHEN}


async def member_of(session: BrokerSession) -> Fields:
    """Return a heartbeat of the only member of a Stable group that has committed offset 7."""
    member = await only_member(session)
    partitions: list[Fields] = [
        {"partition_index": 0, "committed_offset": 7, "committed_leader_epoch": -1, "committed_metadata": ""}
    ]
    commit: Fields = {
        "group_id": "g",
        "generation_id_or_member_epoch": 1,
        "member_id": member["member_id"],
        "topics": [{"name": "orders", "partitions": partitions}],
    }
    answer = await ask(session, "OffsetCommit", 6, commit)
    assert answer.rows("topics")[0].rows("partitions")[0].text("error_code") == "NONE"
    return member


async def error_of_heartbeat(
    session: BrokerSession, member: Fields, role: Role = Role.COORDINATOR
) -> str | None:
    return (await ask(session, "Heartbeat", 2, member, role)).text("error_code")


async def committed(session: BrokerSession) -> int:
    wanted: list[Fields] = [{"name": "orders", "partition_indexes": [0]}]
    answer = await ask(session, "OffsetFetch", 5, {"group_id": "g", "topics": wanted})
    return answer.rows("topics")[0].rows("partitions")[0].number("committed_offset")


@pytest.mark.parametrize(
    ("spec", "broker_actions"),
    [
        ("reference-tcp", (BrokerAction.RESTART, BrokerAction.KILL)),
        ("reference-tcp:3.9.2*3", (BrokerAction.MOVE, BrokerAction.RESTART, BrokerAction.KILL)),
    ],
)
async def test_whatever_befalls_a_server_who_coordinates_next_knows_members_and_offsets(
    spec: str, broker_actions: tuple[BrokerAction, ...], tmp_path: Path
) -> None:
    async with started(spec, tmp_path, broker_actions=ALL) as (_, session):
        member = await member_of(session)
        for action in broker_actions:
            await session.carry_out(action, {})
            assert await error_of_heartbeat(session, member) == "NONE", action
            assert await committed(session) == 7


async def test_of_a_cluster_one_coordinates_and_the_others_say_so(tmp_path: Path) -> None:
    async with started("reference-tcp*3", tmp_path, broker_actions=ALL) as (_, session):
        member = await member_of(session)
        assert await error_of_heartbeat(session, member, Role.OTHER) == "NOT_COORDINATOR"
        await session.carry_out(BrokerAction.MOVE, {})
        assert await error_of_heartbeat(session, member, Role.FORMER) == "NOT_COORDINATOR"


@pytest.mark.parametrize("action", [BrokerAction.KILL, BrokerAction.DISCONNECT])
async def test_who_is_gone_is_reached_by_nobody_until_it_is_back(
    action: BrokerAction, tmp_path: Path
) -> None:
    async with started("reference-tcp*3", tmp_path, broker_actions=ALL) as (broker, session):
        member = await member_of(session)
        await session.carry_out(action, {})
        with pytest.raises((ConnectionLost, NotYet)):
            await error_of_heartbeat(session, member, Role.FORMER)
        await (
            broker.mend() if action is BrokerAction.KILL else session.carry_out(BrokerAction.RECONNECT, {})
        )
        assert await error_of_heartbeat(session, member, Role.FORMER) == "NOT_COORDINATOR"


@pytest.mark.parametrize("spec", ["reference-tcp", "reference-tcp*3"])
async def test_who_stands_still_answers_when_it_goes_on(spec: str, tmp_path: Path) -> None:
    async with started(spec, tmp_path, broker_actions=ALL) as (_, session):
        member = await member_of(session)
        await session.carry_out(BrokerAction.PAUSE, {})
        answer = asyncio.create_task(error_of_heartbeat(session, member))
        await session.elapse(300)
        assert not answer.done()
        await session.carry_out(BrokerAction.RESUME, {})
        assert await answer == "NONE"


@pytest.mark.parametrize("spec", ["reference-tcp", "reference-tcp*3"])
async def test_a_restart_may_change_the_configuration(spec: str, tmp_path: Path) -> None:
    async with started(spec, tmp_path, broker_actions=ALL) as (_, session):
        await session.carry_out(BrokerAction.RESTART, {"group.max.session.timeout.ms": "20000"})
        refused = await ask(session, "JoinGroup", 3, JOIN)
        assert refused.text("error_code") == "INVALID_SESSION_TIMEOUT"


async def test_a_server_that_was_not_started_to_be_ended_says_so(tmp_path: Path) -> None:
    async with started("reference-tcp", tmp_path, broker_actions=()) as (_, session):
        with pytest.raises(TargetError, match="was not started to be started again"):
            await session.carry_out(BrokerAction.KILL, {})
        with pytest.raises(TargetError, match="not a cluster"):
            await session.connect(Role.OTHER)

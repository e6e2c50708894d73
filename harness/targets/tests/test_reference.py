"""The reference as a target: in process on a clock of its own, and over TCP."""

from pathlib import Path

import pytest

from harness.targets.base.dialogue import Dialogue
from harness.targets.base.interface import (
    Breakpoint,
    BrokerAction,
    ConnectionLost,
    NoAnswer,
    Role,
    TargetError,
)
from harness.tests.started import JOIN, ask, only_member, started
from harness.wire.codec import Fields, encode_request


@pytest.mark.parametrize("profile", ["2.4", "2.8.2", "3.9.2", "4.0.0", "4.3.1", "4.4"])
async def test_a_session_of_any_profile_opens_at_time_0_with_topics_and_a_coordinator(profile: str) -> None:
    async with started(f"reference:{profile}") as (broker, session):
        member: Fields = {"group_id": "g", "generation_id": 1, "member_id": "nobody"}
        answer = await ask(session, "Heartbeat", 3, member)
        assert answer.text("error_code") == "UNKNOWN_MEMBER_ID"
        metadata = await ask(session, "Metadata", 7, {"topics": [{"name": "orders"}]})
        assert len(metadata.rows("topics")[0].rows("partitions")) == 3
        assert session.now_ms() == 0

    assert broker.description.profile == profile
    assert broker.description.api_ranges


async def test_a_join_waits_for_the_initial_delay_in_no_time_at_all() -> None:
    async with started(broker_config={"group.initial.rebalance.delay.ms": "3000"}) as (_, session):
        answer = await ask(session, "JoinGroup", 3, JOIN)
        assert answer.text("error_code") == "NONE"
        assert session.now_ms() == 3000


async def test_time_passes_when_one_waits_and_not_otherwise() -> None:
    async with started() as (_, session):
        connection = await session.connect()
        await session.elapse(1234.5)
        assert session.now_ms() == 1235
        with pytest.raises(NoAnswer):
            await connection.receive(timeout_ms=100)
        assert session.now_ms() == 1335


async def test_a_silent_members_session_ends_while_time_elapses() -> None:
    async with started() as (_, session):
        joined = await ask(session, "JoinGroup", 3, JOIN)
        await session.elapse(30_001)
        member: Fields = {"group_id": "g", "generation_id": 1, "member_id": joined.text("member_id")}
        answer = await ask(session, "Heartbeat", 3, member)
        assert answer.text("error_code") == "UNKNOWN_MEMBER_ID"


async def _bytes_of_a_join(scenario_id: str) -> bytes:
    async with started(scenario_id=scenario_id) as (_, session):
        connection = await session.connect()
        await connection.send(encode_request("JoinGroup", 3, correlation_id=1, fields=JOIN))
        return (await connection.receive(timeout_ms=10_000)).payload


async def test_a_scenario_gets_the_same_bytes_each_time_and_another_gets_others() -> None:
    assert await _bytes_of_a_join("classic/join/first") == await _bytes_of_a_join("classic/join/first")
    assert await _bytes_of_a_join("classic/join/first") != await _bytes_of_a_join("classic/join/second")


async def test_broker_sessions_share_nothing() -> None:
    async with started() as (broker, one):
        other = broker.open_session("other")
        await ask(one, "JoinGroup", 3, JOIN)
        await one.elapse(500)

        assert len((await ask(one, "ListGroups", 3, {})).rows("groups")) == 1
        assert (await ask(other, "ListGroups", 3, {})).rows("groups") == ()
        assert other.now_ms() == 0


async def test_bytes_that_are_no_request_cost_the_connection() -> None:
    async with started() as (_, session):
        connection = await session.connect()
        await connection.send(b"\x00")
        with pytest.raises(ConnectionLost, match="closed by the peer"):
            await connection.receive(timeout_ms=10)
        with pytest.raises(ConnectionLost):
            await connection.send(b"")


async def test_a_paused_load_is_answered_as_loading_until_it_resumes() -> None:
    async with started() as (_, session):
        await session.connect()
        await session.pause_at(Breakpoint.LOADING)
        await session.carry_out(BrokerAction.RESTART, {})
        answer = await ask(session, "JoinGroup", 3, JOIN)
        assert answer.text("error_code") == "COORDINATOR_LOAD_IN_PROGRESS"
        await session.resume_from(Breakpoint.LOADING)
        answer = await ask(session, "JoinGroup", 3, JOIN)
        assert answer.text("error_code") == "NONE"


@pytest.mark.parametrize("spec", ["reference", "reference-tcp"])
async def test_an_unknown_property_is_refused_by_name(spec: str, tmp_path: Path) -> None:
    with pytest.raises(TargetError, match=r"group\.max\.sizes"):
        async with started(spec, tmp_path, broker_config={"group.max.sizes": "1"}):
            pytest.fail("the broker started")


@pytest.mark.slow
async def test_the_reference_serves_over_tcp_and_stops(tmp_path: Path) -> None:
    async with started("reference-tcp:3.9.2", tmp_path) as (broker, session):
        answer = await ask(session, "JoinGroup", 3, JOIN)
        assert answer.text("error_code") == "NONE"
        metadata = await ask(session, "Metadata", 7, {"topics": [{"name": "payments"}]})
        assert len(metadata.rows("topics")[0].rows("partitions")) == 2

    assert broker.description.profile == "3.9.2"
    assert broker.failure() is None


@pytest.mark.parametrize("action", [BrokerAction.MOVE, BrokerAction.KILL, BrokerAction.RESTART])
async def test_whatever_befalls_the_coordinator_the_next_connection_finds_who_knows_the_group(
    action: BrokerAction,
) -> None:
    async with started() as (_, session):
        member = await only_member(session)
        await session.carry_out(action, {})
        assert (await ask(session, "Heartbeat", 2, member)).text("error_code") == "NONE"


async def test_a_connection_stays_with_the_coordinator_that_it_was_opened_to() -> None:
    async with started() as (_, session):
        member = await only_member(session)
        former = Dialogue(await session.connect())
        await session.carry_out(BrokerAction.MOVE, {})
        assert (await former.ask("Heartbeat", 2, member)).text("error_code") == "NOT_COORDINATOR"


async def test_another_broker_is_one_that_does_not_coordinate() -> None:
    async with started() as (_, session):
        member = await only_member(session)
        elsewhere = Dialogue(await session.connect(Role.OTHER))
        assert (await elsewhere.ask("Heartbeat", 2, member)).text("error_code") == "NOT_COORDINATOR"
        await session.carry_out(BrokerAction.MOVE, {})
        assert (await elsewhere.ask("Heartbeat", 2, member)).text("error_code") == "NONE"


async def test_a_restart_may_change_the_configuration_and_a_wrong_one_is_refused_by_name() -> None:
    async with started() as (_, session):
        await session.connect()
        await session.carry_out(BrokerAction.RESTART, {"group.max.session.timeout.ms": "9999"})
        assert (await ask(session, "JoinGroup", 3, JOIN)).text("error_code") == "INVALID_SESSION_TIMEOUT"
        with pytest.raises(TargetError, match=r"group\.max\.sizes"):
            await session.carry_out(BrokerAction.RESTART, {"group.max.sizes": "1"})


async def test_brokers_that_are_killed_one_after_the_other_leave_one_that_is_started_again() -> None:
    async with started() as (_, session):
        member = await only_member(session)
        for _ in range(4):
            await session.carry_out(BrokerAction.KILL, {})
            assert (await ask(session, "Heartbeat", 2, member)).text("error_code") == "NONE"
        with pytest.raises(TargetError, match="no other broker is up"):
            await session.connect(Role.OTHER)


async def test_a_broker_that_stands_still_answers_when_it_goes_on() -> None:
    async with started() as (_, session):
        member = await only_member(session)
        connection = await session.connect()
        await session.carry_out(BrokerAction.PAUSE, {})
        await connection.send(encode_request("Heartbeat", 2, correlation_id=1, fields=member))
        with pytest.raises(NoAnswer):
            await connection.receive(timeout_ms=500)
        await session.carry_out(BrokerAction.RESUME, {})
        assert (await connection.receive(timeout_ms=1)).payload


@pytest.mark.parametrize(
    ("profile", "error"), [("3.9", "COORDINATOR_NOT_AVAILABLE"), ("4.4", "UNKNOWN_MEMBER_ID")]
)
async def test_a_broker_can_be_paused_at_a_dead_group_where_there_is_one(profile: str, error: str) -> None:
    async with started(f"reference:{profile}") as (_, session):
        member = await only_member(session)
        await ask(session, "LeaveGroup", 1, {"group_id": "g", "member_id": member["member_id"]})
        await session.pause_at(Breakpoint.DEAD)
        deleting = await session.connect()
        delete: Fields = {"groups_names": ["g"]}
        await deleting.send(encode_request("DeleteGroups", 1, correlation_id=1, fields=delete))
        assert (await ask(session, "Heartbeat", 2, member)).text("error_code") == error
        await session.resume_from(Breakpoint.DEAD)
        assert (await deleting.receive(timeout_ms=1)).payload
        assert (await ask(session, "Heartbeat", 2, member)).text("error_code") == "UNKNOWN_MEMBER_ID"

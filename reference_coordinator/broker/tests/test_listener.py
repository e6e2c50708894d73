"""One request at a time, faults that stay with their connection, and the coordinator's lifecycle."""

import struct
from collections.abc import Mapping

import pytest

from reference_coordinator.core.effects import AppendRecords
from reference_coordinator.core.errors import Errors
from reference_coordinator.profile.api_versions import Api
from reference_coordinator.tests.wire_broker import INITIAL_DELAY_MS, WireBroker, elected
from reference_coordinator.tests.wire_client import request_frame

_FIRST_FETCH_OF_GROUPS = 8


@pytest.fixture(name="broker")
def elected_broker() -> WireBroker:
    return elected(offsets_topic_num_partitions="1")


@pytest.mark.parametrize(
    "frame",
    [
        b"",
        b"\0",
        request_frame("heartbeat", 4, group_id="g")[:-1],
        struct.pack(">hhih", 999, 0, 7, -1),
        struct.pack(">hhih", 12, 5, 7, -1),
        struct.pack(">hhih", 0, 7, 7, -1),
    ],
    ids=["empty", "short header", "short body", "unknown key", "version too high", "api not served"],
)
def test_a_malformed_frame_closes_its_connection_and_no_other(broker: WireBroker, frame: bytes) -> None:
    bad, good = broker.connect(), broker.connect()

    bad.send_frame(frame)

    assert bad.close_reason()
    bad.send("heartbeat", 0, group_id="g")
    assert bad.frames() == []
    assert good.heartbeat() == Errors.UNKNOWN_MEMBER_ID


def test_what_is_behind_a_malformed_frame_is_never_looked_at(broker: WireBroker) -> None:
    client = broker.connect()
    client.join()
    client.send_frame(b"")
    client.send("heartbeat", 0, group_id="g")

    broker.elapse(INITIAL_DELAY_MS)

    assert len(client.frames()) == 1
    assert client.close_reason()


def test_a_request_behind_a_parked_one_is_judged_after_its_answer(broker: WireBroker) -> None:
    client = broker.connect()
    client.join()
    client.send("heartbeat", 0, group_id="g", generation_id=1, member_id="nobody")
    client.send("list_groups", 0)
    assert client.frames() == []

    broker.elapse(INITIAL_DELAY_MS)

    assert client.take("join_group", 3).generation_id == 1
    assert client.take("heartbeat", 0).error_code == Errors.UNKNOWN_MEMBER_ID
    assert [group.group_id for group in client.take("list_groups", 0).groups] == ["g"]


def test_a_parked_request_delays_its_own_connection_only(broker: WireBroker) -> None:
    parked, other = broker.connect(), broker.connect()
    parked.join()

    assert other.heartbeat() == Errors.UNKNOWN_MEMBER_ID
    assert parked.frames() == []


def test_a_parked_member_that_goes_away_stays_a_member(broker: WireBroker) -> None:
    client = broker.connect()
    client.join()
    client.close()

    broker.elapse(INITIAL_DELAY_MS)

    assert client.frames() == []
    (group,) = broker.connect().ask("describe_groups", 0, groups=("g",)).groups
    assert (group.group_state, len(group.members)) == ("CompletingRebalance", 1)
    assert group.members[0].client_host == "/127.0.0.1"


def _answered_fields(api: Api, version: int) -> Mapping[str, object]:
    """Return what a request has to say in order to be answered."""
    if api is Api.OFFSET_FETCH and version >= _FIRST_FETCH_OF_GROUPS:
        return {"groups": ({"group_id": "g", "topics": None},)}
    return {"acks": 1} if api is Api.PRODUCE else {}


def test_requests_in_all_versions_are_answered_in_theirs(broker: WireBroker) -> None:
    client = broker.connect()

    for api, served in broker.listener.ranges.items():
        for version in range(served.min_version, served.max_version + 1):
            client.send(api.name.lower(), version, **_answered_fields(api, version))
            client.take(api.name.lower(), version)


def test_a_restart_cuts_connections_and_forgets_what_was_not_written(broker: WireBroker) -> None:
    client = broker.connect()
    client.join()

    broker.restart()

    assert client.close_reason() == "the broker ended"
    client.reconnect()
    (group,) = client.ask("describe_groups", 0, groups=("g",)).groups
    assert group.group_state == "Dead"


def test_a_restart_brings_back_what_was_written(broker: WireBroker) -> None:
    client = broker.connect()
    member_id = client.is_member()

    broker.restart()
    client.reconnect()

    assert client.heartbeat(member_id) == Errors.NONE
    (group,) = client.ask("describe_groups", 0, groups=("g",)).groups
    assert (group.group_state, group.members[0].member_assignment) == ("Stable", b"a")


def test_a_paused_load_lasts_until_it_resumes(broker: WireBroker) -> None:
    client = broker.connect()
    member_id = client.is_member()
    broker.restart(pause_at_loading=True)
    client.reconnect()
    leave = {"group_id": "g", "member_id": member_id}

    assert client.ask("leave_group", 0, **leave).error_code == Errors.COORDINATOR_LOAD_IN_PROGRESS
    assert client.ask("find_coordinator", 0, key="g").error_code == Errors.NONE
    broker.elapse(60_000)
    assert client.ask("leave_group", 0, **leave).error_code == Errors.COORDINATOR_LOAD_IN_PROGRESS

    broker.resume_from_loading()
    assert client.ask("leave_group", 0, **leave).error_code == Errors.NONE


def test_a_resume_without_a_paused_load_changes_nothing(broker: WireBroker) -> None:
    client = broker.connect()
    member_id = client.is_member()

    broker.resume_from_loading()

    assert client.heartbeat(member_id) == Errors.NONE


def test_a_restart_before_there_is_a_log_changes_nothing() -> None:
    broker = WireBroker()

    broker.restart()

    assert broker.connect().heartbeat() == Errors.NOT_COORDINATOR


def test_a_failed_write_is_not_in_the_log(broker: WireBroker) -> None:
    client = broker.connect()
    broker.listener.apis.append_outcome = lambda _: Errors.NOT_ENOUGH_REPLICAS

    assert client.commit(5) == Errors.COORDINATOR_NOT_AVAILABLE
    assert broker.listener.apis.append_log == []


def test_a_write_left_open_delays_its_answer(broker: WireBroker) -> None:
    client = broker.connect()
    opened: list[AppendRecords] = []

    def leave_open(append: AppendRecords) -> None:
        opened.append(append)

    broker.listener.apis.append_outcome = leave_open
    client.send_commit(5)
    assert client.frames() == []

    (append,) = opened
    answers = broker.listener.apis.append_completed(append.append_id, Errors.NONE, now_ms=broker.now_ms)

    assert len(answers) == 1
    assert broker.listener.apis.append_log == list(append.records)

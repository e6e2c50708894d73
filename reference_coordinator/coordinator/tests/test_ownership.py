"""Not the coordinator, loading, unloading, reloading: catalogue rows CO-07 to CO-14, LD-*, PR-*, RP-*."""

import pytest

from reference_coordinator.coordinator.tests.test_loading import elected
from reference_coordinator.core.errors import Errors
from reference_coordinator.messages import ListGroupsRequest, OffsetFetchResponse
from reference_coordinator.tests.kit import JAVA, SCALA, Broker
from reference_coordinator.tests.requests import fetch_all, join


def given_by_every_api(broker: Broker) -> dict[str, object]:
    described = broker.describe(version=5)
    left = broker.leave("m")
    fetched = broker.send(fetch_all("g")).as_(OffsetFetchResponse)
    return {
        "join": broker.join("m").error,
        "sync": broker.sync("m").error,
        "heartbeat": broker.heartbeat("m").error,
        "leave": (left.error, left.leave.members),
        "commit": broker.commit({0: 1, 1: 2}).partition_errors,
        "fetch": fetched.groups[0].error_code,
        "offset delete": broker.offset_delete(0).error,
        "describe": (described.error_code, described.group_state),
        "list": broker.send(ListGroupsRequest()).error,
        "delete": broker.delete("g")["g"],
    }


def test_a_new_broker_is_nobodys_coordinator(profile: str) -> None:
    no = Errors.NOT_COORDINATOR

    assert given_by_every_api(Broker(profile, owned=False)) == {
        "join": no,
        "sync": no,
        "heartbeat": no,
        "leave": (no, ()),
        "commit": [no, no],
        "fetch": no,
        "offset delete": no,
        "describe": (no, ""),
        "list": Errors.NONE,
        "delete": no,
    }


@pytest.mark.parametrize(
    ("profile", "of_sync"),
    [(SCALA, Errors.REBALANCE_IN_PROGRESS), (JAVA, Errors.COORDINATOR_LOAD_IN_PROGRESS)],
)
def test_a_loading_coordinator_says_so_to_nearly_all(profile: str, of_sync: Errors) -> None:
    wait = Errors.COORDINATOR_LOAD_IN_PROGRESS

    assert given_by_every_api(elected(profile)) == {
        "join": wait,
        "sync": of_sync,
        "heartbeat": Errors.NONE,
        "leave": (wait, ()),
        "commit": [wait, wait],
        "fetch": wait,
        "offset delete": wait,
        "describe": (wait, ""),
        "list": wait,
        "delete": wait,
    }


@pytest.mark.parametrize(("profile", "echoed"), [(SCALA, "m"), ("3.9-java", ""), (JAVA, "")])
def test_only_scala_echoes_the_member_id_with_a_coordinators_error(profile: str, echoed: str) -> None:
    assert Broker(profile, owned=False).send(join("m")).join.member_id == echoed
    assert elected(profile).send(join("m")).join.member_id == echoed


@pytest.mark.parametrize(
    ("profile", "reported"),
    [
        (SCALA, Errors.NOT_COORDINATOR),
        ("3.7-java", Errors.NOT_COORDINATOR),
        ("3.8-java", Errors.INVALID_SESSION_TIMEOUT),
        (JAVA, Errors.INVALID_SESSION_TIMEOUT),
    ],
)
def test_a_bad_session_timeout_comes_first_on_java_from_3_8(profile: str, reported: Errors) -> None:
    assert Broker(profile, owned=False).send(join("m", session_ms=1)).error is reported


def test_the_group_id_comes_before_everything(profile: str) -> None:
    broker = Broker(profile, owned=False)
    invalid = Errors.INVALID_GROUP_ID

    refused = broker.join("m", session_ms=1, group="").join
    assert (refused.error_code, refused.member_id) == (invalid, "m")
    assert broker.sync("m", group="").error is invalid
    assert broker.heartbeat("m", group="").error is invalid
    assert broker.leave("m", group="").error is invalid
    assert broker.offset_delete(0, group="").error is invalid


@pytest.mark.parametrize(("profile", "reported"), [(SCALA, Errors.NONE), (JAVA, Errors.NOT_COORDINATOR)])
def test_a_write_that_unloading_overtakes_is_refused_on_java(
    broker: Broker, profile: str, reported: Errors
) -> None:
    broker.delays_appends = True
    call = broker.commit({0: 1})
    broker.unload()
    assert call.is_parked is (profile == SCALA)

    broker.release()

    assert call.partition_errors == [reported]


@pytest.mark.parametrize(("profile", "state"), [(SCALA, "Dead"), (JAVA, "Empty")])
def test_a_group_that_never_synced_survives_on_java_as_a_shell(broker: Broker, state: str) -> None:
    (member_id,) = broker.joined_members(join())
    broker.join(group="pending")

    broker.restart()

    assert (broker.state(), broker.state("pending")) == (state, state)
    assert broker.heartbeat(member_id).error is Errors.UNKNOWN_MEMBER_ID
    (call,) = broker.parked_members(join())
    broker.elapse(3_000)
    assert call.join.generation_id == 1

"""Faults of some releases: answers that could not be written, and groups that outlived their log."""

from collections.abc import Mapping
from typing import Any

import pytest

from reference_coordinator.core.errors import Errors
from reference_coordinator.tests.wire_broker import INITIAL_DELAY_MS, connected, elected


@pytest.mark.parametrize(
    ("profile", "error"),
    [
        ("2.4.1", Errors.NONE),
        ("2.5.0", Errors.UNSUPPORTED_VERSION),
        ("3.3.1", Errors.UNSUPPORTED_VERSION),
        ("3.3.2", Errors.NONE),
    ],
)
def test_a_leader_before_v5_of_a_static_member(profile: str, error: Errors) -> None:
    broker = elected(profile)
    leader, follower = broker.connect(), broker.connect()
    leader.join(version=3)
    follower.join(version=5, group_instance_id="i")
    broker.elapse(10 * INITIAL_DELAY_MS)

    answer = leader.take("join_group", 3)

    assert (answer.error_code, len(answer.members)) == (error, 0 if error else 2)


DYNAMIC: Mapping[str, Any] = {}
STATIC: Mapping[str, Any] = {"version": 5, "group_instance_id": "i"}


@pytest.mark.parametrize(
    ("profile", "member", "version", "error"),
    [
        ("2.4.1", STATIC, 3, Errors.NONE),
        ("2.5.0", STATIC, 0, Errors.UNSUPPORTED_VERSION),
        ("2.5.0", STATIC, 3, Errors.UNSUPPORTED_VERSION),
        ("2.5.0", STATIC, 4, Errors.NONE),
        ("2.5.0", DYNAMIC, 0, Errors.NONE),
        ("2.5.1", STATIC, 3, Errors.NONE),
    ],
)
def test_a_member_described(profile: str, member: Mapping[str, Any], version: int, error: Errors) -> None:
    client = connected(profile)
    client.joined(**member)

    (group,) = client.ask("describe_groups", version, groups=("g",)).groups

    assert (group.error_code, len(group.members)) == (error, 0 if error else 1)


@pytest.mark.parametrize(
    ("profile", "version", "error"),
    [
        ("3.3.2", 2, Errors.INVALID_GROUP_ID),
        ("3.4.0", 0, Errors.UNSUPPORTED_VERSION),
        ("3.5.1", 2, Errors.UNSUPPORTED_VERSION),
        ("3.5.2", 2, Errors.INVALID_GROUP_ID),
        ("3.6.0", 1, Errors.UNSUPPORTED_VERSION),
        ("3.6.0", 3, Errors.INVALID_GROUP_ID),
        ("3.6.1", 1, Errors.INVALID_GROUP_ID),
    ],
)
def test_a_leave_that_is_refused_as_a_whole(profile: str, version: int, error: Errors) -> None:
    member = {"member_id": "m"} if version < 3 else {"members": ({"member_id": "m"},)}

    assert connected(profile).ask("leave_group", version, group_id="", **member).error_code == error


def test_a_member_that_is_refused_by_name_gets_that_from_every_version() -> None:
    client = connected("3.6.0")

    assert client.ask("leave_group", 0, group_id="g", member_id="m").error_code == Errors.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(
    ("profile", "without_log", "with_another"),
    [
        ("3.9.2", Errors.NOT_COORDINATOR, Errors.UNKNOWN_MEMBER_ID),
        ("3.9.2-java", Errors.NONE, Errors.NONE),
        ("4.0.0", Errors.NONE, Errors.NONE),
        ("4.0.1", Errors.NOT_COORDINATOR, Errors.UNKNOWN_MEMBER_ID),
    ],
)
def test_groups_and_their_log(profile: str, without_log: Errors, with_another: Errors) -> None:
    broker = elected(profile)
    client = broker.connect()
    member_id = client.joined()
    client.ask("delete_topics", 4, topic_names=("__consumer_offsets",))

    before = client.heartbeat(member_id)
    broker.elect()
    after = client.heartbeat(member_id)

    assert (before, after) == (without_log, with_another)

"""A group that DeleteGroups marked Dead, held before it is removed, as Scala coordinators allow."""

import pytest

from reference_coordinator.core.errors import Errors
from reference_coordinator.tests.calls import Call
from reference_coordinator.tests.kit import JAVA, SCALA, Broker
from reference_coordinator.tests.requests import delete, join

GONE = Errors.COORDINATOR_NOT_AVAILABLE


def paused(profile: str, *groups: str) -> tuple[Broker, Call]:
    """Groups that once had a member and an offset, and a DeleteGroups of them that is being held."""
    broker = Broker(profile)
    for group in groups:
        (ana,) = broker.stable_group(join(group=group))
        broker.commit({0: 7}, member_id=ana, generation=1, group=group)
        broker.leave(ana, group=group)
    broker.coordinator.pause_at_dead()
    return broker, broker.send(delete(*groups))


def release(broker: Broker) -> None:
    broker.settle(broker.coordinator.resume_from_dead(now_ms=broker.now))


def test_whoever_writes_to_a_dead_group_is_reported_that_nobody_coordinates_it() -> None:
    """GroupCoordinatorTest#testHeartbeatDeadGroup, #testOffsetCommitDeadGroup and their like (3.9.2)."""
    broker, _ = paused(SCALA, "g")

    assert broker.send(join(), version=3).error is GONE
    assert broker.join("m").error is GONE
    assert broker.sync("m", 2).error is GONE
    assert broker.heartbeat("m", 2).error is GONE
    left = broker.leave("m")
    assert (left.error, left.leave.members) == (GONE, ())
    assert broker.commit({0: 1}).partition_errors == [GONE]
    assert broker.commit({0: 1}, member_id="m", generation=2).partition_errors == [GONE]
    assert broker.txn_commit({0: 1}).partition_errors == [GONE]


def test_an_administrator_sees_the_dead_group() -> None:
    broker, _ = paused(SCALA, "g")

    assert broker.fetch(0) == [(-1, Errors.NONE)]
    assert broker.fetch(0, stable=True) == [(-1, Errors.NONE)]
    described = broker.describe()
    assert (described.error_code, described.group_state, described.members) == (Errors.NONE, "Dead", ())
    assert broker.listed() == broker.listed(("Dead",)) == ["g"]
    assert broker.delete("g") == {"g": Errors.GROUP_ID_NOT_FOUND}
    assert broker.offset_delete(0).error is Errors.GROUP_ID_NOT_FOUND


def test_the_deletion_is_answered_on_release_and_the_group_is_gone() -> None:
    broker, call = paused(SCALA, "g", "h")
    assert call.is_parked

    release(broker)

    assert call.deleted == {"g": Errors.NONE, "h": Errors.NONE}
    assert broker.listed() == []
    assert broker.heartbeat("m", 2).error is Errors.UNKNOWN_MEMBER_ID


def test_expiry_does_not_remove_a_paused_group() -> None:
    broker, call = paused(SCALA, "g")

    broker.elapse(600_000)

    assert (broker.state(), call.is_parked) == ("Dead", True)
    release(broker)
    assert not call.is_parked


def test_a_deletion_that_finds_nothing_to_delete_is_not_run() -> None:
    broker = Broker(SCALA)
    broker.coordinator.pause_at_dead()

    assert broker.delete("g") == {"g": Errors.GROUP_ID_NOT_FOUND}


def test_groups_that_are_unloaded_meanwhile_are_not_removed_twice() -> None:
    broker, call = paused(SCALA, "g")
    broker.unload()
    written = len(broker.log)

    release(broker)

    assert call.deleted == {"g": Errors.NONE}
    assert len(broker.log) == written


def test_after_the_resume_nothing_is_paused_any_more() -> None:
    broker, _ = paused(SCALA, "g")
    release(broker)
    broker.commit({0: 1})

    assert broker.delete("g") == {"g": Errors.NONE}


def test_java_has_no_such_moment() -> None:
    broker, call = paused(JAVA, "g")

    assert not call.is_parked
    assert broker.state() == "Dead"
    assert broker.listed() == []
    release(broker)


@pytest.mark.parametrize("is_paused", [True, False])
def test_a_pause_changes_nothing_for_groups_with_members(broker: Broker, *, is_paused: bool) -> None:
    broker.stable_group(join())
    if is_paused:
        broker.coordinator.pause_at_dead()

    assert broker.delete("g") == {"g": Errors.NON_EMPTY_GROUP}

"""What a write that is too large leaves behind on the Java coordinator of 3.8 to 4.1.0."""

import pytest

from reference_coordinator.core.effects import AppendRecords, Effect
from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import MemberId
from reference_coordinator.messages import OffsetFetchResponse
from reference_coordinator.profile.config import GroupCoordinatorConfig
from reference_coordinator.profile.profiles import profile_for
from reference_coordinator.runtime.limits import log_limits
from reference_coordinator.tests.kit import Broker
from reference_coordinator.tests.requests import commit, delete, fetch, join

SMALL_LOG = {
    "message.max.bytes": "600",
    "offsets.commit.timeout.ms": "700",
    "offsets.topic.num.partitions": "1",
}
TIMEOUT_MS = 700
LARGE = b"x" * 3000


class SmallLog(Broker):
    """A broker whose log judges writes by their size."""

    def _write(self, append: AppendRecords) -> tuple[Effect, ...]:
        config = GroupCoordinatorConfig.from_properties(self.properties)
        self.append_error = log_limits(config, profile_for(self.profile))(append)
        return super()._write(append)


def after_too_large_a_sync(profile: str) -> tuple[SmallLog, MemberId]:
    """A group of one member whose assignment could not be written, in its next generation."""
    broker = SmallLog(profile, SMALL_LOG)
    (ana,) = broker.stable_group(join())
    broker.join(ana)
    assert broker.sync(ana, 2, assignments={ana: LARGE}).error is Errors.UNKNOWN_SERVER_ERROR
    assert broker.join(ana).join.generation_id == 3
    return broker, ana


@pytest.mark.parametrize(
    ("profile", "waits"),
    [("3.7-java", False), ("3.8.0-java", True), ("3.9.2-java", True), ("4.0.0", False), ("4.0.2", False)],
)
def test_a_request_that_writes_nothing_waits_for_an_empty_batch(profile: str, *, waits: bool) -> None:
    broker, ana = after_too_large_a_sync(profile)

    call = broker.heartbeat(ana, 3)

    assert call.is_parked is waits
    broker.elapse(TIMEOUT_MS - 1)
    assert call.is_parked is waits
    broker.elapse(1)
    assert call.error is (Errors.COORDINATOR_NOT_AVAILABLE if waits else Errors.NONE)


@pytest.mark.parametrize(
    ("profile", "waits"),
    [
        ("3.7-java", False),
        ("3.9.2-java", True),
        ("4.0.1", True),
        ("4.0.2", False),
        ("4.1.0", True),
        ("4.1.1", False),
    ],
)
def test_a_write_waits_in_the_open_batch_until_it_gets_that_answer(profile: str, *, waits: bool) -> None:
    broker, ana = after_too_large_a_sync(profile)

    call = broker.sync(ana, 3, assignments={ana: b"a"})
    assert call.is_parked is waits
    broker.elapse(TIMEOUT_MS)

    assert call.error is (Errors.COORDINATOR_NOT_AVAILABLE if waits else Errors.NONE)


def test_what_is_refused_is_refused_at_once() -> None:
    broker, ana = after_too_large_a_sync("3.9.2-java")

    assert broker.heartbeat(ana, 9).error is Errors.ILLEGAL_GENERATION
    assert broker.heartbeat("nobody", 3).error is Errors.UNKNOWN_MEMBER_ID
    assert broker.join("nobody").error is Errors.UNKNOWN_MEMBER_ID


def test_a_join_that_is_parked_is_reported_after_a_while() -> None:
    broker, _ = after_too_large_a_sync("3.9.2-java")
    minted = broker.join().join
    assert minted.error_code is Errors.MEMBER_ID_REQUIRED

    call = broker.join(minted.member_id)
    broker.elapse(TIMEOUT_MS)

    assert call.error is Errors.COORDINATOR_NOT_AVAILABLE


def test_a_full_batch_is_written_and_all_who_waited_are_answered() -> None:
    broker, ana = after_too_large_a_sync("3.9.2-java")
    waiting = [broker.heartbeat(ana, 3), broker.leave("nobody")]
    written = broker.commit({0: 7}, group="a" * 300)
    assert written.is_parked

    last = broker.commit({0: 7}, group="b" * 300)

    assert written.partition_errors == last.partition_errors == [Errors.NONE]
    assert [each.is_parked for each in waiting] == [False, False]
    assert broker.heartbeat(ana, 3).error is Errors.NONE


def test_a_write_that_was_given_up_may_still_come_to_pass() -> None:
    broker, _ = after_too_large_a_sync("3.9.2-java")
    given_up = broker.commit({0: 7}, group="a" * 300)
    broker.elapse(TIMEOUT_MS)
    assert given_up.partition_errors == [Errors.COORDINATOR_NOT_AVAILABLE]
    assert broker.fetch(0, group="a" * 300)[0][0] == -1

    broker.commit({0: 7}, group="b" * 300)

    assert broker.fetch(0, group="a" * 300)[0][0] != -1


@pytest.mark.parametrize(("profile", "is_kept"), [("3.7-java", False), ("4.0.1", True), ("4.0.2", False)])
def test_a_group_whose_creation_was_too_large_may_be_there(profile: str, *, is_kept: bool) -> None:
    broker = SmallLog(profile, SMALL_LOG)
    group = "g" * 700
    minted = broker.join(group=group).join

    again = broker.join(minted.member_id, group=group)

    assert again.is_parked is is_kept
    assert broker.state(group) == "Dead"


@pytest.mark.parametrize(
    ("profile", "error"),
    [("3.7-java", Errors.MESSAGE_TOO_LARGE), ("4.4", Errors.UNKNOWN_SERVER_ERROR)],
)
def test_before_3_8_a_leaver_is_reported_what_the_log_said(profile: str, error: Errors) -> None:
    broker = SmallLog(profile, SMALL_LOG)
    (ana,) = broker.stable_group(join())
    broker.properties = {**SMALL_LOG, "message.max.bytes": "50"}

    assert broker.leave(ana).leave.error_code is error


@pytest.mark.parametrize(
    ("profile", "error"), [("3.9.2-java", Errors.REQUEST_TIMED_OUT), ("4.0.1", Errors.NOT_COORDINATOR)]
)
def test_a_fetch_of_what_is_stable_is_sent_elsewhere_since_4_0(profile: str, error: Errors) -> None:
    broker, _ = after_too_large_a_sync(profile)
    broker.commit({0: 7}, group="a")

    call = broker.send(fetch(0, group="a", stable=True))
    broker.elapse(TIMEOUT_MS)

    assert call.as_(OffsetFetchResponse).groups[0].error_code is error


def test_of_two_restarts_that_wait_for_the_log_the_second_is_reported_its_own_id() -> None:
    broker = SmallLog("3.9.2-java", SMALL_LOG)
    (ana,) = broker.stable_group(join(instance="seat"))
    assert broker.sync(ana, 1, assignments={ana: LARGE}).sync.error_code is Errors.NONE
    broker.commit({0: 7}, group="c" * 500)
    first, second = (broker.send(join(instance="seat"), version=6) for _ in range(2))
    assert first.join.error_code is Errors.FENCED_INSTANCE_ID

    broker.commit({0: 7}, group="b" * 300)

    assert second.join.member_id not in {ana, first.join.member_id}


LINGER_MS = 300
TOO_LARGE = commit({0: 7}, metadata="m" * 3_000, group="large")
LINGERING = SMALL_LOG | {"group.coordinator.append.linger.ms": str(LINGER_MS)}


def lingering(profile: str) -> tuple[SmallLog, MemberId]:
    """A group of one member, with nothing left to be written."""
    broker = SmallLog(profile, LINGERING)
    minted = broker.join().join.member_id
    joined = broker.join(minted)
    broker.elapse(10_000)
    synced = broker.sync(minted, 1, assignments={minted: b"a"})
    broker.elapse(LINGER_MS)
    assert (joined.error, synced.error) == (Errors.NONE, Errors.NONE)
    return broker, minted


@pytest.mark.parametrize("profile", ["3.8-java", "3.9.2-java", "4.0.0", "4.0.2", "4.4"])
def test_a_write_is_answered_when_its_batch_is_written(profile: str) -> None:
    broker, ana = lingering(profile)

    written = broker.commit({0: 7}, member_id=ana, generation=1)
    waiting = broker.heartbeat(ana, 1)
    broker.elapse(LINGER_MS - 1)
    assert [written.is_parked, waiting.is_parked] == [True, True]
    assert broker.fetch(0)[0][0] == -1
    broker.elapse(1)

    assert (written.partition_errors, waiting.error) == ([Errors.NONE], Errors.NONE)
    assert broker.fetch(0)[0][0] != -1


@pytest.mark.parametrize(
    ("profile", "linger_ms"),
    [("3.9.2-java", "-1"), ("3.9.2-java", "0"), ("4.4", "-1"), ("4.4", "0"), ("3.9.2", str(LINGER_MS))],
)
def test_without_a_linger_or_on_scala_a_write_is_answered_at_once(profile: str, linger_ms: str) -> None:
    broker = SmallLog(profile, SMALL_LOG | {"group.coordinator.append.linger.ms": linger_ms})

    assert broker.commit({0: 7}, group="simple").partition_errors == [Errors.NONE]


@pytest.mark.parametrize(
    ("profile", "waits"), [("3.8-java", True), ("3.9.2-java", True), ("4.0.0", False), ("4.0.2", False)]
)
def test_what_waits_for_an_empty_batch_fails_with_it(profile: str, *, waits: bool) -> None:
    broker, ana = lingering(profile)
    assert broker.send(TOO_LARGE).partition_errors == [Errors.UNKNOWN_SERVER_ERROR]

    first = broker.heartbeat(ana, 1)
    assert first.is_parked is waits
    broker.elapse(LINGER_MS)

    assert first.error is (Errors.UNKNOWN_SERVER_ERROR if waits else Errors.NONE)
    assert broker.heartbeat(ana, 1).error is Errors.NONE


@pytest.mark.parametrize("profile", ["3.9.2-java", "4.0.1", "4.0.2", "4.4"])
def test_a_write_too_large_does_not_touch_what_was_gathered(profile: str) -> None:
    broker, ana = lingering(profile)

    written = broker.commit({0: 7}, member_id=ana, generation=1)
    assert broker.send(TOO_LARGE).partition_errors == [Errors.UNKNOWN_SERVER_ERROR]
    broker.elapse(LINGER_MS)

    assert written.partition_errors == [Errors.NONE]
    assert broker.fetch(0, group="large")[0][0] == -1


@pytest.mark.parametrize("profile", ["3.9.2-java", "4.0.1"])
def test_a_write_is_written_with_the_empty_batch_before_it(profile: str) -> None:
    broker, ana = lingering(profile)
    broker.send(TOO_LARGE)
    broker.elapse(LINGER_MS - 1)

    written = broker.commit({0: 7}, member_id=ana, generation=1)
    broker.elapse(1)

    assert written.partition_errors == [Errors.NONE]


def test_a_batch_that_was_written_answers_nobody_twice() -> None:
    broker, ana = lingering("3.9.2-java")
    calls = [broker.commit({0: 7}, member_id=ana, generation=1), broker.heartbeat(ana, 1)]

    broker.elapse(LINGER_MS)
    broker.heartbeat(ana, 1)
    broker.elapse(2 * TIMEOUT_MS)

    assert [each.is_parked for each in calls] == [False, False]
    assert broker.heartbeat(ana, 1).error is Errors.NONE


@pytest.mark.parametrize(("profile", "answer"), [("4.0.2", Errors.NONE), ("4.1.0", Errors.NON_EMPTY_GROUP)])
def test_a_deletion_may_await_the_batch_before_it(profile: str, answer: Errors) -> None:
    broker = SmallLog(profile, LINGERING)
    broker.commit({0: 7})

    deletion = broker.send(delete("g", "unknown"))
    broker.join(instance="one")
    broker.elapse(LINGER_MS - 1)
    assert deletion.is_parked
    broker.elapse(1)

    assert deletion.deleted == {"g": answer, "unknown": Errors.GROUP_ID_NOT_FOUND}


def test_a_deletion_behind_a_batch_that_stays_open_fails() -> None:
    broker, ana = after_too_large_a_sync("4.1.0")
    broker.sync(ana, 3, assignments={ana: b"a"})

    deletion = broker.send(delete("unknown"))
    broker.elapse(TIMEOUT_MS)

    assert deletion.deleted == {"unknown": Errors.COORDINATOR_NOT_AVAILABLE}


def test_a_deletion_is_written_after_the_batch_before_it() -> None:
    broker = SmallLog("4.4", LINGERING)
    broker.commit({0: 7})

    deletion = broker.send(delete("g"))
    broker.elapse(LINGER_MS)
    assert deletion.is_parked
    broker.elapse(LINGER_MS)

    assert deletion.deleted == {"g": Errors.NONE}
    assert broker.state("g") == "Dead"

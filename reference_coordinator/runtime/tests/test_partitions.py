"""Loading and unloading partition by partition: what each says meanwhile, epochs, failures.

Group `a` is in partition 1 and group `b` in partition 0 of two.
"""

from collections.abc import Callable

import pytest

from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import GroupId
from reference_coordinator.messages import (
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    ListGroupsRequest,
    ListGroupsResponse,
    OffsetFetchResponse,
)
from reference_coordinator.runtime.partitions import Ownership
from reference_coordinator.tests.kit import JAVA, SCALA, Broker
from reference_coordinator.tests.requests import SESSION_MS, commit, delete, fetch, fetch_all, join

TWO = {"offsets.topic.num.partitions": "2", "offsets.retention.check.interval.ms": "1000"}
LOADING = Errors.COORDINATOR_LOAD_IN_PROGRESS
NOT_OURS = Errors.NOT_COORDINATOR
A, B = 1, 0


def broker_of_two(profile: str, *, owned: bool = True) -> Broker:
    return Broker(profile, dict(TWO), owned=owned)


@pytest.fixture(name="broker")
def broker_that_owns_two(profile: str) -> Broker:
    return broker_of_two(profile)


def committed(profile: str) -> Broker:
    """A broker that owns both partitions, with an offset in each."""
    broker = broker_of_two(profile)
    for group in ("a", "b"):
        broker.commit({0: 7}, group=group)
    return broker


def reloading(profile: str) -> Broker:
    """A broker elected anew for both partitions, `b`'s first, that has not read any log yet."""
    broker = committed(profile)
    broker.unload(epoch=1)
    broker.begin_loading(B, A, epoch=2)
    return broker


def reported(broker: Broker, group: str) -> Errors:
    """What an OffsetCommit, which says what it finds, is told."""
    (error,) = broker.commit({0: 1}, group=group).partition_errors
    return error


def test_the_groups_are_where_these_tests_think() -> None:
    broker = broker_of_two(SCALA)
    broker.commit({0: 1}, group="a")
    broker.commit({0: 1}, group="b")

    assert [broker.partition_of(each) for each in broker.log] == [A, B]


@pytest.mark.parametrize(
    ("profile", "queued"), [("2.8.0", LOADING), ("2.8.1", NOT_OURS), ("3.9", NOT_OURS), (JAVA, LOADING)]
)
def test_a_partition_that_awaits_its_turn_is_nobodys_on_scala_from_2_8_1(
    profile: str, queued: Errors
) -> None:
    """CoordinatorRuntimeTest#testScheduleLoading (4.3.1): on Java, all of them are loading at once."""
    broker = reloading(profile)
    assert (reported(broker, "b"), reported(broker, "a")) == (LOADING, queued)

    broker.load(B)
    assert (reported(broker, "b"), reported(broker, "a")) == (Errors.NONE, LOADING)

    broker.finish_loading()
    assert reported(broker, "a") is Errors.NONE


@pytest.mark.parametrize(("profile", "groups"), [(SCALA, ["b"]), (JAVA, [])])
def test_a_list_while_one_partition_loads_has_the_other_on_scala_only(
    profile: str, groups: list[str]
) -> None:
    """GroupCoordinatorServiceTest#testListGroupsWithFailure (4.3.1)."""
    broker = reloading(profile)
    broker.load(B)

    listed = broker.send(ListGroupsRequest()).as_(ListGroupsResponse)

    assert (listed.error_code, [each.group_id for each in listed.groups]) == (LOADING, groups)
    broker.finish_loading()
    assert sorted(broker.listed()) == ["a", "b"]


def test_requests_for_several_groups_are_answered_group_by_group(profile: str) -> None:
    broker = committed(profile)
    broker.unload(A, epoch=1)
    ids = (GroupId("a"), GroupId("b"))

    described = broker.send(DescribeGroupsRequest(groups=ids)).as_(DescribeGroupsResponse).groups
    fetched = broker.send(fetch_all("a", "b")).as_(OffsetFetchResponse)

    assert {each.group_id: (each.error_code, each.group_state) for each in described} == {
        "a": (NOT_OURS, ""),
        "b": (Errors.NONE, "Empty"),
    }
    assert [each.error_code for each in fetched.groups] == [NOT_OURS, Errors.NONE]
    assert broker.delete("a", "b") == {"a": NOT_OURS, "b": Errors.NONE}
    assert broker.listed() == []


def test_unloading_answers_who_is_parked_in_that_partition_alone(broker: Broker) -> None:
    """GroupMetadataManagerTest#testUnloadOffsetsAndGroup (3.9.2)."""
    (in_a,) = broker.parked_members(join(group="a"))
    (in_b,) = broker.parked_members(join(group="b"))

    broker.unload(A, epoch=1)

    assert in_a.error is NOT_OURS
    assert in_b.is_parked
    broker.elapse(3_000)
    assert in_b.error is Errors.NONE


def test_unloading_forgets_that_partition_alone(broker: Broker) -> None:
    (ana,) = broker.stable_group(join(group="a"))
    (bob,) = broker.stable_group(join(group="b"))
    broker.heartbeat(ana, group="a")
    for group in ("a", "b"):
        broker.txn_commit({0: 42}, group=group)
        broker.commit({1: 9}, member_id=ana if group == "a" else bob, generation=1, group=group)

    broker.unload(A, epoch=1)

    assert broker.heartbeat(bob, group="b").error is Errors.NONE
    assert broker.fetch(0, 1, group="b", stable=True) == [
        (-1, Errors.UNSTABLE_OFFSET_COMMIT),
        (9, Errors.NONE),
    ]
    broker.end(7, committed=True, group="b")
    assert broker.fetch(0, group="b") == [(42, Errors.NONE)]
    broker.elapse(SESSION_MS)
    assert broker.state("b") == "Empty"


def test_no_deadline_of_an_unloaded_partition_falls_due(broker: Broker) -> None:
    broker.stable_group(join(group="a"))
    broker.parked_members(join(group="b"))

    broker.unload(A, B, epoch=1)

    assert broker.coordinator.next_deadline() is None


@pytest.mark.parametrize(("profile", "error"), [(SCALA, Errors.NONE), (JAVA, NOT_OURS)])
def test_writes_to_an_unloaded_partition_are_refused_on_java_and_others_go_on(
    broker: Broker, error: Errors
) -> None:
    """CoordinatorRuntimeTest#testScheduleUnloading (4.3.1)."""
    broker.delays_appends = True
    in_a, in_b = (broker.commit({0: 1}, group=each) for each in ("a", "b"))

    broker.unload(A, epoch=1)
    assert in_b.is_parked

    broker.release()
    assert (in_a.partition_errors, in_b.partition_errors) == ([error], [Errors.NONE])


def test_a_fetch_awaits_the_writes_of_its_own_partition_alone_on_java() -> None:
    broker = committed(JAVA)
    broker.delays_appends = True
    broker.commit({0: 8}, group="a")

    waits, does_not = (broker.send(fetch(0, group=each, stable=True)) for each in ("a", "b"))
    assert (waits.is_parked, does_not.is_parked) == (True, False)
    broker.unload(A, epoch=1)

    (fetched,) = waits.as_(OffsetFetchResponse).groups
    assert fetched.error_code is NOT_OURS


TAKES, LETS_GO = Broker.take_over, Broker.unload
SINCE_2_8_1 = [
    (LETS_GO, 4, Errors.NONE),
    (LETS_GO, 5, NOT_OURS),
    (TAKES, 4, NOT_OURS),
    (TAKES, 5, Errors.NONE),
]
"""GroupMetadataManagerTest#testLoadOffsetsAndGroupIgnored, #testUnloadOffsetsAndGroupIgnored (3.9.2)."""
OF_JAVA = [(LETS_GO, 5, Errors.NONE), (LETS_GO, 6, NOT_OURS), (TAKES, 0, Errors.NONE)]
"""CoordinatorRuntimeTest#testScheduleLoadingWithStalePartitionEpoch and the one for unloading (4.3.1)."""


@pytest.mark.parametrize(
    ("profile", "changes"),
    [
        ("2.8.0", [(LETS_GO, 4, NOT_OURS), (TAKES, 3, Errors.NONE)]),
        ("2.8.1", SINCE_2_8_1),
        (SCALA, SINCE_2_8_1),
        (JAVA, OF_JAVA),
    ],
)
def test_epochs_that_are_past_count_before_2_8_1_alone_and_java_takes_none_twice(
    profile: str, changes: list[tuple[Callable[..., None], int, Errors]]
) -> None:
    broker = broker_of_two(profile, owned=False)
    broker.take_over(B, epoch=5)

    for change, epoch, error in changes:
        change(broker, B, epoch=epoch)
        assert reported(broker, "b") is error

    assert broker.fetch(0, group="b") == [(1, Errors.NONE)]


def test_a_newer_epoch_does_not_load_what_is_loaded_but_outdates_what_is_older() -> None:
    broker = broker_of_two(JAVA)
    (ana,) = broker.parked_members(join(group="b"))
    broker.begin_loading(B, epoch=5)
    assert broker.coordinator.partition_to_load is None

    broker.unload(B, epoch=5)
    assert ana.is_parked


def test_a_topic_that_is_no_more_unloads_whatever_the_epoch(profile: str) -> None:
    broker = broker_of_two(profile, owned=False)
    broker.take_over(B, epoch=5)

    broker.unload(B, epoch=None)

    assert reported(broker, "b") is NOT_OURS


@pytest.mark.parametrize(
    ("profile", "error", "ownership"),
    [(SCALA, Errors.NONE, Ownership.OWNED), (JAVA, NOT_OURS, Ownership.FAILED)],
)
def test_a_log_that_cannot_be_read_is_empty_on_scala_and_nobodys_on_java(
    profile: str, error: Errors, ownership: Ownership
) -> None:
    """CoordinatorRuntimeTest#testScheduleLoadingWithFailure (4.3.1)."""
    broker = reloading(profile)
    broker.coordinator.load(B, broker.read(B))

    broker.settle(broker.coordinator.load_failed(B, now_ms=broker.now))
    broker.finish_loading()

    assert broker.coordinator.ownership(B) is ownership
    assert broker.listed() == ["a"]
    assert broker.fetch(0, group="b") == ([(-1, Errors.NONE)] if profile == SCALA else [])
    assert (reported(broker, "a"), reported(broker, "b")) == (Errors.NONE, error)


def test_what_was_read_of_a_log_that_could_not_be_read_to_its_end_is_forgotten() -> None:
    broker = reloading(SCALA)
    broker.coordinator.load(B, broker.read(B))
    broker.settle(broker.coordinator.load_failed(B, now_ms=broker.now))
    broker.finish_loading()

    broker.commit({1: 1}, group="b")

    assert broker.fetch(0, 1, group="b") == [(-1, Errors.NONE), (1, Errors.NONE)]


def test_java_loads_again_after_a_failure_in_a_newer_epoch_only() -> None:
    """CoordinatorRuntimeTest#testScheduleLoadingAfterLoadingFailure (4.3.1)."""
    broker = reloading(JAVA)
    broker.settle(broker.coordinator.load_failed(B, now_ms=broker.now))
    broker.finish_loading()

    broker.take_over(B, epoch=2)
    assert reported(broker, "b") is NOT_OURS
    broker.take_over(B, epoch=3)
    assert broker.fetch(0, group="b") == [(7, Errors.NONE)]


@pytest.mark.parametrize("profile", ["3.8-java", "3.9-java", JAVA])
def test_a_log_that_others_wrote_to_is_loaded_anew(broker: Broker) -> None:
    """CoordinatorRuntimeTest#testStateMachineIsReloadedWhenOutOfSync (4.3.1)."""
    ana, bob = broker.stable_group(join(group="a"), join(group="a"))
    parked = broker.join(ana, group="a")
    (elsewhere,) = broker.parked_members(join(group="b"))
    broker.delays_appends = True
    writes = broker.commit({0: 1}, member_id=ana, generation=1, group="a")

    broker.settle(broker.coordinator.log_out_of_sync(A, now_ms=broker.now))

    assert (writes.partition_errors, parked.error, elsewhere.is_parked) == ([NOT_OURS], NOT_OURS, True)
    assert reported(broker, "a") is LOADING
    broker.finish_loading()
    assert broker.heartbeat(bob, group="a").error is Errors.NONE


def test_offsets_expire_in_owned_partitions_alone(broker: Broker) -> None:
    for group in ("a", "b"):
        broker.send(commit({0: 7}, retention_ms=1, group=group), version=4)
    broker.unload(A, epoch=1)
    written = len(broker.log)

    broker.elapse(1_000)

    assert {broker.partition_of(each) for each in broker.log[written:]} == {B}
    assert broker.state("b") == "Dead"


def test_a_marker_during_the_load_is_reported_by_the_log(broker: Broker) -> None:
    broker.txn_commit({0: 42}, group="b")
    broker.unload(B, epoch=1)
    broker.begin_loading(B, epoch=2)

    broker.end(7, committed=True, group="b")
    broker.finish_loading()

    assert broker.fetch(0, group="b") == [(42, Errors.NONE)]


@pytest.mark.parametrize(("profile", "answer"), [(SCALA, LOADING), (JAVA, NOT_OURS)])
def test_scala_lets_go_of_a_partition_when_the_load_before_is_done(profile: str, answer: Errors) -> None:
    broker = reloading(profile)
    broker.unload(B, epoch=3)
    assert reported(broker, "b") is answer

    broker.finish_loading()

    assert (reported(broker, "b"), reported(broker, "a")) == (NOT_OURS, Errors.NONE)


@pytest.mark.parametrize("profile", ["2.8.0", SCALA])
def test_scala_loads_a_partition_once_however_often_it_is_elected(broker: Broker) -> None:
    (parked,) = broker.parked_members(join(group="b"))

    broker.begin_loading(B, epoch=1)

    assert broker.coordinator.partition_to_load is None
    assert parked.is_parked


def test_a_delete_of_groups_in_two_partitions_survives_the_loss_of_one(profile: str) -> None:
    broker = committed(profile)
    broker.delays_appends = True
    call = broker.send(delete("a", "b"))

    broker.unload(A, epoch=1)
    broker.release()

    assert not call.is_parked

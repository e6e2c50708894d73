"""OffsetCommit, OffsetFetch: catalogue rows OC-*, OF-*."""

from dataclasses import replace

import pytest

from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import GroupId
from reference_coordinator.messages import (
    OffsetCommitRequest,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
)
from reference_coordinator.tests.kit import JAVA, SCALA, Broker
from reference_coordinator.tests.requests import commit, fetch_all, join

NONE = Errors.NONE


def test_a_commit_of_nobody_makes_a_simple_group(broker: Broker) -> None:
    assert broker.commit({0: 7}).partition_errors == [NONE]
    assert (broker.state(), broker.describe().protocol_type) == ("Empty", "")
    assert broker.fetch(0, 1) == [(7, NONE), (-1, NONE)]


@pytest.mark.parametrize(
    ("profile", "version", "reported"),
    [
        (SCALA, 8, Errors.ILLEGAL_GENERATION),
        (SCALA, 9, Errors.ILLEGAL_GENERATION),
        (JAVA, 8, Errors.ILLEGAL_GENERATION),
        (JAVA, 9, Errors.GROUP_ID_NOT_FOUND),
    ],
)
@pytest.mark.parametrize("generation", [0, 5])
def test_a_generation_of_no_group_is_refused(
    broker: Broker, version: int, reported: Errors, generation: int
) -> None:
    refused = broker.send(commit({0: 7, 1: 8}, generation=generation), version=version)

    assert refused.partition_errors == [reported, reported]
    assert broker.listed() == []


def test_in_an_empty_group_only_the_sign_of_the_generation_counts(broker: Broker) -> None:
    broker.commit({0: 1})

    assert broker.commit({0: 2}, generation=-5).partition_errors == [NONE]
    for member in ("", "x"):
        refused = broker.commit({0: 3}, generation=0, member_id=member)
        assert refused.partition_errors == [Errors.UNKNOWN_MEMBER_ID]


@pytest.mark.parametrize(
    ("profile", "reported"),
    [
        ("2.8.2", NONE),
        ("3.0", Errors.UNKNOWN_MEMBER_ID),
        ("3.2", Errors.UNKNOWN_MEMBER_ID),
        ("3.3", NONE),
        (SCALA, NONE),
        (JAVA, NONE),
    ],
)
def test_ids_in_a_simple_commit_are_ignored_except_in_3_0_to_3_2(broker: Broker, reported: Errors) -> None:
    broker.commit({0: 1})

    assert broker.commit({0: 2}, member_id="x").partition_errors == [reported]
    assert broker.commit({0: 2}, instance="i").partition_errors == [reported]
    assert broker.commit({0: 2}).partition_errors == [NONE]


def test_a_member_commits_in_stable_and_while_rebalancing(broker: Broker) -> None:
    ana, _ = broker.stable_group(join(), join())
    request = commit({0: 7}, member_id=ana, generation=1, metadata="m")
    assert broker.send(request).partition_errors == [NONE]
    broker.join(ana)

    assert broker.state() == "PreparingRebalance"
    assert broker.send(request).partition_errors == [NONE]


def test_before_the_sync_checks_come_in_kafkas_order(broker: Broker) -> None:
    (ana,) = broker.joined_members(join(instance="i"))

    for request, error in [
        (commit({0: 1}), Errors.UNKNOWN_MEMBER_ID),
        (commit({0: 1}, member_id="x", generation=7, instance="i"), Errors.FENCED_INSTANCE_ID),
        (commit({0: 1}, member_id="x", generation=7), Errors.UNKNOWN_MEMBER_ID),
        (commit({0: 1}, member_id=ana, generation=7), Errors.ILLEGAL_GENERATION),
        (commit({0: 1}, member_id=ana), Errors.ILLEGAL_GENERATION),
        (commit({0: 1}, member_id=ana, generation=1), Errors.REBALANCE_IN_PROGRESS),
    ]:
        assert broker.send(request).partition_errors == [error]


def test_after_everybody_left_anybody_commits(broker: Broker) -> None:
    (ana,) = broker.stable_group(join())
    broker.leave(ana)

    assert broker.commit({0: 1}).partition_errors == [NONE]


def test_the_empty_group_id_is_as_good_as_any(broker: Broker) -> None:
    assert broker.commit({0: 7}, group="").partition_errors == [NONE]
    assert broker.fetch(0, group="") == [(7, NONE)]


def test_metadata_is_measured_in_utf_16_units(profile: str) -> None:
    broker = Broker(profile, {"offset.metadata.max.bytes": "10"})

    assert broker.commit({0: 1}, metadata="é" * 10).partition_errors == [NONE]
    too_large = broker.commit({0: 2}, metadata="😀" * 6)
    assert too_large.partition_errors == [Errors.OFFSET_METADATA_TOO_LARGE]
    assert broker.fetch(0) == [(1, NONE)]


def twice(first: OffsetCommitRequest, second: OffsetCommitRequest) -> OffsetCommitRequest:
    return replace(first, topics=first.topics + second.topics)


def test_one_partition_too_large_does_not_delay_the_others(profile: str) -> None:
    broker = Broker(profile, {"offset.metadata.max.bytes": "1"})

    mixed = broker.send(twice(commit({0: 1}, metadata="xx"), commit({1: 2}, metadata="x")))

    assert sorted(mixed.partition_errors) == [NONE, Errors.OFFSET_METADATA_TOO_LARGE]
    assert broker.fetch(0, 1) == [(-1, NONE), (2, NONE)]


@pytest.mark.parametrize(("profile", "answers"), [(SCALA, 1), (JAVA, 2)])
def test_a_partition_named_twice_is_answered_once_on_scala(broker: Broker, answers: int) -> None:
    answer = broker.send(twice(commit({0: 1}), commit({0: 2})))

    assert answer.partition_errors == [NONE] * answers
    assert broker.fetch(0) == [(2, NONE)]
    assert len(broker.fetch(0, 0)) == answers


@pytest.mark.parametrize(("profile", "state"), [(SCALA, "Empty"), (JAVA, "Dead")])
def test_a_commit_that_stores_nothing_leaves_a_ghost(profile: str, state: str) -> None:
    broker = Broker(profile, {"offset.metadata.max.bytes": "1"})

    broker.commit({0: 1}, metadata="xx")

    assert broker.state() == state
    assert broker.log == []
    broker.restart()
    assert broker.state() == "Dead"


def test_the_next_write_shows_javas_ghost() -> None:
    broker = Broker(JAVA, {"offset.metadata.max.bytes": "1"})
    broker.commit({0: 1}, metadata="xx")

    broker.commit({0: 1})

    assert broker.state() == "Empty"


@pytest.mark.parametrize(("profile", "unstable"), [("3.7.0", True), ("3.7.1", False), (JAVA, False)])
def test_a_partition_refused_stays_unstable_until_3_7_1(profile: str, *, unstable: bool) -> None:
    broker = Broker(profile, {"offset.metadata.max.bytes": "1"})
    broker.send(twice(commit({0: 1}, metadata="xx"), commit({1: 2})))

    answer = broker.fetch(0, stable=True)

    assert answer == [(-1, Errors.UNSTABLE_OFFSET_COMMIT if unstable else NONE)]
    assert broker.fetch(0) == [(-1, NONE)]


def test_on_scala_an_offset_being_written_is_unstable() -> None:
    broker = Broker(SCALA)
    broker.commit({0: 1})
    broker.delays_appends = True
    broker.commit({0: 2})

    assert broker.fetch(0) == [(1, NONE)]
    assert broker.fetch(0, stable=True) == [(-1, Errors.UNSTABLE_OFFSET_COMMIT)]
    broker.release()
    assert broker.fetch(0, stable=True) == [(2, NONE)]


@pytest.mark.parametrize(
    ("failure", "scala", "java"),
    [
        (Errors.MESSAGE_TOO_LARGE, Errors.INVALID_COMMIT_OFFSET_SIZE, Errors.UNKNOWN_SERVER_ERROR),
        (Errors.REQUEST_TIMED_OUT, Errors.REQUEST_TIMED_OUT, Errors.COORDINATOR_NOT_AVAILABLE),
        (
            Errors.NOT_ENOUGH_REPLICAS,
            Errors.COORDINATOR_NOT_AVAILABLE,
            Errors.COORDINATOR_NOT_AVAILABLE,
        ),
        (Errors.NOT_LEADER_OR_FOLLOWER, Errors.NOT_COORDINATOR, Errors.NOT_COORDINATOR),
    ],
)
def test_a_commit_that_cannot_be_written_is_reported_by_family(
    failure: Errors, scala: Errors, java: Errors
) -> None:
    for profile, reported, state in ((SCALA, scala, "Empty"), (JAVA, java, "Dead")):
        broker = Broker(profile)
        broker.append_error = failure

        assert broker.commit({0: 1, 1: 2}).partition_errors == [reported, reported]
        assert broker.fetch(0, stable=True) == [(-1, NONE)]
        assert broker.state() == state


def test_null_metadata_is_stored_empty_and_leader_epochs_are_kept(broker: Broker) -> None:
    broker.commit({0: 1}, metadata=None)

    (group,) = broker.send(fetch_all("g")).as_(OffsetFetchResponse).groups

    (partition,) = group.topics[0].partitions
    assert (partition.metadata, partition.committed_leader_epoch) == ("", -1)


def test_a_missing_group_has_no_offsets_and_that_is_no_error(broker: Broker) -> None:
    (group,) = broker.send(fetch_all("nope")).as_(OffsetFetchResponse).groups

    assert (group.error_code, group.topics) == (NONE, ())
    assert broker.fetch(0, group="nope") == [(-1, NONE)]


def test_several_groups_are_answered_in_request_order(broker: Broker) -> None:
    broker.commit({0: 1})
    topics = (OffsetFetchRequestTopic(name="t", partition_indexes=(0,)),)
    asked = tuple(OffsetFetchRequestGroup(group_id=GroupId(each), topics=topics) for each in ("g", "x", "g"))

    answer = broker.send(OffsetFetchRequest(groups=asked)).as_(OffsetFetchResponse)

    assert [each.group_id for each in answer.groups] == ["g", "x", "g"]
    assert [each.topics[0].partitions[0].committed_offset for each in answer.groups] == [1, -1, 1]


def test_a_commit_to_a_group_on_its_way_out_is_a_member_commit(broker: Broker) -> None:
    broker.parked_members(join())
    broker.leave(broker.describe().members[0].member_id)

    assert broker.commit({0: 1}).partition_errors == [Errors.UNKNOWN_MEMBER_ID]
    assert broker.heartbeat("x", 0).error is Errors.UNKNOWN_MEMBER_ID
    assert broker.sync("x", 0).error is Errors.UNKNOWN_MEMBER_ID

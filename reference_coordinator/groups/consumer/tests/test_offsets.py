"""Offsets of consumer groups."""

import pytest

from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import GroupId
from reference_coordinator.groups.consumer.tests.consumer_kit import GROUP, Consumers
from reference_coordinator.messages import (
    ListGroupsRequest,
    ListGroupsResponse,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchResponse,
)
from reference_coordinator.tests import requests


def commit(
    consumers: Consumers,
    member: str,
    epoch: int,
    *,
    version: int = 9,
    partition: int = 0,
    instance: str | None = None,
) -> Errors:
    """How a commit of one partition goes."""
    request = requests.commit({partition: 5}, member_id=member, generation=epoch, instance=instance)
    (error,) = consumers.broker.send(request, version=version).partition_errors
    return error


def fetch(consumers: Consumers, member: str | None, epoch: int) -> tuple[Errors, list[int]]:
    """How a fetch of everything goes, and the offsets."""
    group = OffsetFetchRequestGroup(group_id=GROUP, member_id=member, member_epoch=epoch, topics=None)
    answer = consumers.broker.send(OffsetFetchRequest(groups=(group,)), version=9)
    found = answer.as_(OffsetFetchResponse).groups[0]
    offsets = [each.committed_offset for topic in found.topics for each in topic.partitions]
    return found.error_code, offsets


def test_members_commit_in_their_epoch(consumers: Consumers) -> None:
    epoch = consumers.beat("ana", 0, names=("t",)).member_epoch

    assert commit(consumers, "ana", epoch, instance="any") is Errors.NONE
    assert commit(consumers, "ana", epoch, partition=99) is Errors.NONE
    assert commit(consumers, "ana", epoch, version=8) is Errors.UNSUPPORTED_VERSION
    assert commit(consumers, "ana", epoch + 1) is Errors.STALE_MEMBER_EPOCH
    assert commit(consumers, "ana", 0) is Errors.STALE_MEMBER_EPOCH
    assert commit(consumers, "ana", -1) is Errors.STALE_MEMBER_EPOCH
    assert commit(consumers, "bob", epoch) is Errors.UNKNOWN_MEMBER_ID
    assert commit(consumers, "", -1) is Errors.UNKNOWN_MEMBER_ID


def test_an_older_epoch_commits_what_it_had_already_from_4_3_on(release: str) -> None:
    consumers = Consumers.on(release, t=1, u=1)
    first = consumers.beat("ana", 0, names=("t",)).member_epoch
    consumers.beat("ana", first, names=("t", "u"))

    taken = Errors.NONE if release >= "4.3" else Errors.STALE_MEMBER_EPOCH
    assert commit(consumers, "ana", first) is taken
    assert commit(consumers, "ana", first, partition=1) is Errors.STALE_MEMBER_EPOCH
    assert commit(consumers, "ana", first - 1) is Errors.STALE_MEMBER_EPOCH


def test_an_empty_group_takes_commits_of_nobody(consumers: Consumers) -> None:
    epoch = consumers.beat("ana", 0, names=("t",)).member_epoch
    consumers.beat("ana", -1)

    assert commit(consumers, "", -1) is Errors.NONE
    assert commit(consumers, "ana", epoch) is Errors.UNKNOWN_MEMBER_ID
    assert fetch(consumers, None, -1) == (Errors.NONE, [5])
    assert fetch(consumers, "ana", epoch) == (Errors.UNKNOWN_MEMBER_ID, [])


def test_a_fetch_names_the_very_epoch_of_its_member(consumers: Consumers) -> None:
    epoch = consumers.beat("ana", 0, names=("t",)).member_epoch
    commit(consumers, "ana", epoch)

    assert fetch(consumers, "ana", epoch) == (Errors.NONE, [5])
    assert fetch(consumers, None, -1) == (Errors.NONE, [5])
    assert fetch(consumers, "ana", epoch + 1) == (Errors.STALE_MEMBER_EPOCH, [])
    assert fetch(consumers, "bob", epoch) == (Errors.UNKNOWN_MEMBER_ID, [])
    assert fetch(consumers, None, epoch) == (Errors.UNKNOWN_SERVER_ERROR, [])


def test_offsets_of_topics_that_are_read_are_not_deleted(consumers: Consumers) -> None:
    epoch = consumers.beat("ana", 0, names=("t",)).member_epoch
    commit(consumers, "ana", epoch)
    assert consumers.broker.offset_delete(0).partition_errors == [Errors.GROUP_SUBSCRIBED_TO_TOPIC]
    consumers.beat("ana", -1)
    assert consumers.broker.offset_delete(0).partition_errors == [Errors.NONE]
    assert fetch(consumers, None, -1) == (Errors.NONE, [])


def test_administrators_see_a_group_of_consumers(consumers: Consumers) -> None:
    consumers.beat("ana", 0, names=("t",))

    def listed(*states: str, types: tuple[str, ...] = ()) -> list[tuple[str, str, str]]:
        request = ListGroupsRequest(states_filter=states, types_filter=types)
        groups = consumers.broker.send(request).as_(ListGroupsResponse).groups
        return [(each.protocol_type, each.group_state, each.group_type) for each in groups]

    assert listed() == [("consumer", "Stable", "consumer")]
    assert listed(" sTable ", types=("CONSUMER", "bogus")) == listed()
    assert listed("Empty") == []
    assert listed(types=("classic",)) == []
    missing = consumers.broker.describe(version=6)
    assert (missing.error_code, missing.group_state) == (Errors.GROUP_ID_NOT_FOUND, "Dead")
    assert consumers.broker.describe(version=5).error_code is Errors.NONE


def test_a_group_with_members_is_not_deleted(consumers: Consumers) -> None:
    consumers.beat("ana", 0, names=("t",))
    assert consumers.broker.delete(GROUP) == {GROUP: Errors.NON_EMPTY_GROUP}

    consumers.beat("ana", -1)

    assert consumers.broker.delete(GROUP) == {GROUP: Errors.NONE}
    assert consumers.broker.delete(GROUP) == {GROUP: Errors.GROUP_ID_NOT_FOUND}
    assert consumers.error("ana", 0, names=("t",)) is Errors.NONE


@pytest.mark.parametrize("release", ["4.0.0", "4.0", "4.3"])
def test_a_group_without_an_id_is_described_apart(consumers: Consumers, release: str) -> None:
    group = consumers.describe(GroupId(""))

    fails_all = release == "4.0.0"
    assert group.error_code is (Errors.UNKNOWN_SERVER_ERROR if fails_all else Errors.INVALID_GROUP_ID)
    assert group.error_message is None

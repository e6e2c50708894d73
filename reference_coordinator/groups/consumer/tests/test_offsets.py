"""Offsets of consumer groups."""

import pytest

from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import GroupId
from reference_coordinator.groups.consumer.tests.consumer_kit import GROUP, Consumers
from reference_coordinator.messages import (
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


def test_an_older_epoch_commits_what_it_had_already_from_4_3_on(release: str) -> None:
    consumers = Consumers.on(release, t=1, u=1)
    first = consumers.beat("ana", 0, names=("t",)).member_epoch
    consumers.beat("ana", first, names=("t", "u"))

    taken = Errors.NONE if release >= "4.3" else Errors.STALE_MEMBER_EPOCH
    assert commit(consumers, "ana", first) is taken
    assert commit(consumers, "ana", first, partition=1) is Errors.STALE_MEMBER_EPOCH
    assert commit(consumers, "ana", first - 1) is Errors.STALE_MEMBER_EPOCH


@pytest.mark.parametrize("release", ["4.0.0", "4.0", "4.3"])
def test_a_group_without_an_id_is_described_apart(consumers: Consumers, release: str) -> None:
    group = consumers.describe(GroupId(""))

    fails_all = release == "4.0.0"
    assert group.error_code is (Errors.UNKNOWN_SERVER_ERROR if fails_all else Errors.INVALID_GROUP_ID)
    assert group.error_message is None

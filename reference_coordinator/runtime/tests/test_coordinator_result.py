"""Operations return what is to be written: they write nothing, and nothing takes effect before."""

import pytest

from reference_coordinator.coordinator.coordinator import GroupCoordinator
from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import GroupId, ResponseToken
from reference_coordinator.groups.dispatch import classic_group_leave
from reference_coordinator.messages import LeaveGroupResponse
from reference_coordinator.offsets.commit import commit_offset
from reference_coordinator.offsets.delete import delete_offsets
from reference_coordinator.tests.kit import JAVA, Broker
from reference_coordinator.tests.requests import commit, join, leave, offset_delete

GROUP = GroupId("g")


@pytest.fixture(name="coordinator")
def _coordinator() -> GroupCoordinator:
    broker = Broker(JAVA)
    broker.commit({0: 7})
    return broker.coordinator


def test_a_commit_is_an_offset_to_write(coordinator: GroupCoordinator) -> None:
    shard = coordinator.shard
    before = dict(shard.offsets.of_group(GROUP))

    result = commit_offset(shard, commit({1: 8}), api_version=8, token=ResponseToken(99))

    assert (len(result.records), result.replay_records) == (1, True)
    assert shard.take_effects() == ()
    assert shard.offsets.of_group(GROUP) == before


def test_a_deletion_of_nothing_writes_nothing(coordinator: GroupCoordinator) -> None:
    assert len(delete_offsets(coordinator.shard, offset_delete(0)).records) == 1
    assert delete_offsets(coordinator.shard, offset_delete(1)).records == ()


def test_scala_writes_in_the_middle_of_a_leave(broker: Broker, profile: str) -> None:
    (ana,) = broker.stable_group(join())

    result = classic_group_leave(broker.coordinator.shard, leave(ana))

    assert isinstance(result.response, LeaveGroupResponse)
    assert result.response.error_code is Errors.NONE
    is_written = len(broker.coordinator.shard.take_effects()) == 1
    assert (is_written, bool(result.records)) == ((False, True) if profile == JAVA else (True, False))

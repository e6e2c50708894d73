"""The coordinator asks a group what it is, and takes none for a classic one that is not."""

import pytest

from reference_coordinator.coordinator.admin import describe_groups, list_groups
from reference_coordinator.coordinator.deletion import validate_delete_group
from reference_coordinator.core.choices import DeterministicChoices
from reference_coordinator.core.effects import AppendRecords
from reference_coordinator.core.errors import CoordinatorError, Errors
from reference_coordinator.core.ids import GroupId, MemberId
from reference_coordinator.core.records import GroupMetadataTombstone
from reference_coordinator.groups.classic.lookups import (
    classic_group,
    get_or_maybe_create_classic_group,
    new_classic_group,
)
from reference_coordinator.groups.consumer.group import ConsumerGroup, new_consumer_group
from reference_coordinator.groups.consumer.member import ConsumerGroupMember
from reference_coordinator.messages import DescribeGroupsRequest, ListGroupsRequest, OffsetFetchRequestGroup
from reference_coordinator.offsets.commit import validate_offset_commit
from reference_coordinator.offsets.expiration import expired_offsets
from reference_coordinator.offsets.fetch import fetch_offsets
from reference_coordinator.offsets.shard import CoordinatorShard
from reference_coordinator.profile.config import GroupCoordinatorConfig
from reference_coordinator.profile.profiles import profile_for
from reference_coordinator.runtime.appends import PendingAppend
from reference_coordinator.runtime.coordinator_result import VoidResult
from reference_coordinator.runtime.partitions import Ownership
from reference_coordinator.tests.requests import commit

OTHER, MISSING = GroupId("other"), GroupId("missing")


@pytest.fixture
def shard() -> CoordinatorShard:
    """With a consumer group, which refuses all that it may refuse."""
    config, profile = GroupCoordinatorConfig(offsets_topic_num_partitions=1), profile_for("4.4")
    made = CoordinatorShard(config=config, profile=profile, choices=DeterministicChoices())
    made.partitions.of(0).ownership = Ownership.OWNED
    member = ConsumerGroupMember(member_id=MemberId("m"), member_epoch=4)
    made.put_group(new_consumer_group(OTHER, profile).update_member(member))
    return made


def refusal(error: pytest.ExceptionInfo[CoordinatorError]) -> tuple[Errors, str | None]:
    return error.value.error, error.value.message


def test_a_group_that_is_not_there_is_refused_by_kafkas_name(shard: CoordinatorShard) -> None:
    with pytest.raises(CoordinatorError) as error:
        shard.group(MISSING)
    assert refusal(error) == (Errors.GROUP_ID_NOT_FOUND, "Group missing not found.")

    with pytest.raises(CoordinatorError) as error:
        get_or_maybe_create_classic_group(shard, MISSING, create_if_not_exists=False)
    assert refusal(error) == (Errors.GROUP_ID_NOT_FOUND, "Classic group missing not found.")


def test_a_group_of_another_type_is_no_classic_group(shard: CoordinatorShard) -> None:
    with pytest.raises(CoordinatorError) as error:
        classic_group(shard, OTHER)
    assert refusal(error) == (Errors.GROUP_ID_NOT_FOUND, "Group other is not a classic group.")

    with pytest.raises(CoordinatorError) as error:
        get_or_maybe_create_classic_group(shard, OTHER, create_if_not_exists=True)
    assert error.value.error is Errors.GROUP_ID_NOT_FOUND
    assert isinstance(shard.group(OTHER), ConsumerGroup)


def test_a_group_of_another_type_is_listed_and_not_described(shard: CoordinatorShard) -> None:
    shard.put_group(new_classic_group(shard, GroupId("classic")))

    def listed(**filters: tuple[str, ...]) -> set[str]:
        return {each.group_id for each in list_groups(shard, ListGroupsRequest(**filters)).groups}

    assert listed() == {"other", "classic"}
    assert listed(types_filter=("CONSUMER",)) == {"other"}
    assert listed(types_filter=("classic",)) == {"classic"}
    assert listed(states_filter=("Reconciling",)) == {"other"}

    (described,) = describe_groups(shard, DescribeGroupsRequest(groups=(OTHER,)), api_version=6).groups
    assert (described.error_code, described.group_state) == (Errors.GROUP_ID_NOT_FOUND, "Dead")
    assert described.error_message == "Group other is not a classic group."


def test_a_group_is_asked_whether_it_may_be_deleted_and_committed_to(shard: CoordinatorShard) -> None:
    with pytest.raises(CoordinatorError) as error:
        validate_delete_group(shard, OTHER)
    assert error.value.error is Errors.NON_EMPTY_GROUP

    with pytest.raises(CoordinatorError) as error:
        validate_offset_commit(shard, commit({}, member_id="m", generation=5, group=OTHER), api_version=9)
    assert error.value.error is Errors.STALE_MEMBER_EPOCH


def test_a_group_is_asked_for_its_offsets(shard: CoordinatorShard) -> None:
    fetched = fetch_offsets(shard, OffsetFetchRequestGroup(group_id=OTHER, topics=None), require_stable=False)
    assert (fetched.topics, fetched.error_code) == ((), Errors.NONE)
    assert expired_offsets(shard, shard.group(OTHER)) == []


def written(shard: CoordinatorShard) -> PendingAppend:
    tombstone = GroupMetadataTombstone(group_id=OTHER)
    shard.append(OTHER, VoidResult(records=(tombstone,), replay_records=False))
    (write,) = shard.take_effects()
    assert isinstance(write, AppendRecords)
    pending = shard.take_append(write.append_id)
    assert pending is not None
    return pending


def test_readers_see_a_group_when_a_write_after_its_creation_is_through(shard: CoordinatorShard) -> None:
    before = written(shard)
    group_id = get_or_maybe_create_classic_group(shard, MISSING, create_if_not_exists=True).group_id
    after = written(shard)

    shard.complete_append(before, Errors.NONE)
    assert shard.find_group(group_id) is not None
    assert shard.find_group(group_id, committed=True) is None

    shard.complete_append(after, Errors.NONE)
    assert shard.find_group(group_id, committed=True) is not None


def test_only_a_write_after_its_creation_undoes_a_group(shard: CoordinatorShard) -> None:
    before = written(shard)
    group_id = get_or_maybe_create_classic_group(shard, MISSING, create_if_not_exists=True).group_id
    after = written(shard)

    shard.complete_append(before, Errors.NOT_ENOUGH_REPLICAS)
    assert shard.find_group(group_id) is not None

    shard.complete_append(after, Errors.NOT_ENOUGH_REPLICAS)
    assert shard.find_group(group_id) is None

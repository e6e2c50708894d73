"""Members that the share assignor of 4.1 refuses are in the group all the same."""

import pytest

from reference_coordinator.core.consumer_records import MemberState
from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import GroupId, MemberId, TopicId
from reference_coordinator.core.metadata_image import MetadataImage, TopicImage
from reference_coordinator.core.records import CoordinatorRecord
from reference_coordinator.core.share_records import (
    ShareGroupCurrentMemberAssignmentRecord,
    ShareGroupMemberMetadataRecord,
    ShareGroupMetadataRecord,
    ShareGroupStatePartitionMetadataRecord,
    ShareGroupTargetAssignmentMemberRecord,
    ShareGroupTargetAssignmentMetadataRecord,
    ShareTopicPartitions,
    TopicPartitionsInfo,
)
from reference_coordinator.messages.share_groups import (
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)
from reference_coordinator.tests.kit import Broker

GROUP = GroupId("g")
TOPIC = TopicId("00000000-0000-0000-0000-000000000001")
EPOCH = 3
COUNT = 8
"""The hashes of the members' ids are the same modulo this."""
IDS = ("a", "i", "q")
JOINS = "y"


def logged() -> list[CoordinatorRecord]:
    """A group whose members share one partition of a topic, which has got more since."""
    shared = (ShareTopicPartitions(topic_id=TOPIC, partitions=(0,)),)
    records: list[CoordinatorRecord] = []
    for each in map(MemberId, IDS):
        records += [
            ShareGroupMemberMetadataRecord(
                group_id=GROUP,
                member_id=each,
                rack_id=None,
                client_id="ana",
                client_host="/127.0.0.1",
                subscribed_topic_names=("t",),
            ),
            ShareGroupTargetAssignmentMemberRecord(group_id=GROUP, member_id=each, topic_partitions=shared),
            ShareGroupCurrentMemberAssignmentRecord(
                group_id=GROUP,
                member_id=each,
                member_epoch=EPOCH,
                previous_member_epoch=EPOCH,
                state=MemberState.STABLE,
                assigned_partitions=shared,
            ),
        ]
    initialized = TopicPartitionsInfo(topic_id=TOPIC, topic_name="t", partitions=tuple(range(COUNT)))
    return [
        *records,
        ShareGroupMetadataRecord(group_id=GROUP, epoch=EPOCH),
        ShareGroupTargetAssignmentMetadataRecord(group_id=GROUP, assignment_epoch=EPOCH),
        ShareGroupStatePartitionMetadataRecord(
            group_id=GROUP, initializing_topics=(), initialized_topics=(initialized,), deleting_topics=()
        ),
    ]


class Shares:
    """A broker with that group."""

    def __init__(self) -> None:
        self.broker = Broker("4.1", owned=False)
        self.broker.log += logged()
        self.begins()

    def begins(self) -> None:
        self.broker.take_over()
        topic = TopicImage(name="t", topic_id=TOPIC, num_partitions=COUNT)
        image = MetadataImage(version=1, topics={"t": topic})
        effects = self.broker.coordinator.on_metadata_update(image, {"t"}, now_ms=self.broker.now)
        self.broker.settle(effects)

    def heartbeats(self, member_id: str, epoch: int) -> ShareGroupHeartbeatResponse:
        request = ShareGroupHeartbeatRequest(
            group_id=GROUP,
            member_id=MemberId(member_id),
            member_epoch=epoch,
            subscribed_topic_names=None if epoch else ("t",),
        )
        return self.broker.send(request, version=1).as_(ShareGroupHeartbeatResponse)

    def described(self) -> dict[str, tuple[int, tuple[str, ...]]]:
        """The epoch and the topics of each member."""
        call = self.broker.send(ShareGroupDescribeRequest(group_ids=(GROUP,)), version=1)
        (group,) = call.as_(ShareGroupDescribeResponse).groups
        return {each.member_id: (each.member_epoch, each.subscribed_topic_names) for each in group.members}


@pytest.fixture
def shares() -> Shares:
    """A broker that just refused a member."""
    broker = Shares()
    refused = broker.heartbeats(JOINS, 0)
    assert (refused.error_code, refused.member_epoch) == (Errors.UNKNOWN_SERVER_ERROR, 0)
    return broker


def test_a_refused_member_is_described_from_the_next_write_on(shares: Shares) -> None:
    before = shares.described()

    assert shares.heartbeats("a", EPOCH).error_code is Errors.NONE
    assert set(before) == {*IDS}
    assert shares.described()[JOINS] == (0, ())


def test_a_refused_member_makes_the_subscriptions_differ(shares: Shares) -> None:
    """So a member with the same hash may join after it."""
    assert shares.heartbeats("I", 0).error_code is Errors.NONE


def test_a_refused_member_may_leave(shares: Shares) -> None:
    assert shares.heartbeats(JOINS, -1).error_code is Errors.NONE
    assert set(shares.described()) == {*IDS}


@pytest.mark.slow
def test_a_refused_member_has_no_session(shares: Shares) -> None:
    shares.broker.elapse(10**9)

    assert set(shares.described()) == {JOINS}


def test_a_failed_write_undoes_a_refused_member(shares: Shares) -> None:
    shares.broker.append_error = Errors.NOT_ENOUGH_REPLICAS
    shares.heartbeats("a", EPOCH)
    shares.broker.append_error = Errors.NONE

    assert shares.heartbeats(JOINS, -1).error_code is Errors.UNKNOWN_MEMBER_ID


def test_the_log_has_only_a_refused_members_target(shares: Shares) -> None:
    """It gets one when others are assigned. A group that is loaded has the target without a member."""
    shares.heartbeats("a", EPOCH)
    shares.broker.unload()
    shares.begins()

    assert set(shares.described()) == {*IDS}
    targets = (each for each in shares.broker.log if isinstance(each, ShareGroupTargetAssignmentMemberRecord))
    assert JOINS in {each.member_id for each in targets}


def test_a_group_cannot_be_deleted_while_nobody_has_a_target(shares: Shares) -> None:
    shares.heartbeats("a", EPOCH)
    shares.broker.unload()
    shares.begins()
    for each in IDS:
        shares.heartbeats(each, -1)

    assert shares.described() == {}
    assert shares.broker.delete(GROUP) == {GROUP: Errors.UNKNOWN_SERVER_ERROR}

"""The next step of one member, in states that no conversation of the suites brings about."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

import pytest

from reference_coordinator.core.consumer_records import MemberState
from reference_coordinator.core.errors import CoordinatorError, Errors
from reference_coordinator.core.ids import MemberId, TopicId
from reference_coordinator.groups.consumer.current_assignment import CurrentAssignmentBuilder, OwnedPartitions
from reference_coordinator.groups.consumer.group import new_consumer_group
from reference_coordinator.groups.consumer.member import AssignedPartitions, ConsumerGroupMember
from reference_coordinator.groups.consumer.tests.consumer_kit import GROUP, image, topic_id
from reference_coordinator.profile.profiles import profile_for

T, U, V = topic_id("t"), topic_id("u"), topic_id("v")
MEMBER = ConsumerGroupMember(
    member_id=MemberId("ana"),
    member_epoch=5,
    previous_member_epoch=4,
    subscribed_topic_names=frozenset({"t"}),
    assigned_partitions={T: {0: 5}, U: {1: 5}},
)


def built(
    member: ConsumerGroupMember,
    owned: OwnedPartitions,
    *,
    release: str = "4.4",
    target_epoch: int = 5,
    target: Mapping[TopicId, tuple[int, ...]] = MappingProxyType({T: (0,), U: (1,)}),
    has_subscription_changed: bool = True,
) -> ConsumerGroupMember:
    """The member after a step, by default one at which its subscription has changed."""
    group = new_consumer_group(GROUP, profile_for(release)).update_member(member)
    return CurrentAssignmentBuilder(
        group=group,
        member=member,
        image=image(1, t=2, u=2, v=2),
        target_assignment_epoch=target_epoch,
        target_assignment=target,
        has_subscription_changed=has_subscription_changed,
        owned_topic_partitions=owned,
    ).build()


@pytest.mark.parametrize("owned", [None, ((U, (1,)),)])
@pytest.mark.parametrize(("release", "previous"), [("4.2", 4), ("4.3", 5), ("4.4", 5)])
def test_a_topic_is_taken_away_at_once(release: str, previous: int, owned: OwnedPartitions) -> None:
    member = built(MEMBER, owned, release=release)

    assert member == replace(
        MEMBER,
        previous_member_epoch=previous,
        state=MemberState.UNREVOKED_PARTITIONS,
        assigned_partitions={T: {0: 5}},
        partitions_pending_revocation={U: {1: 5}},
    )


def test_a_topic_is_not_taken_away_before_4_2() -> None:
    assert built(MEMBER, None, release="4.1") == MEMBER


@pytest.mark.parametrize("assigned", [MEMBER.assigned_partitions, {}])
def test_a_member_that_subscribes_to_nothing_loses_all(assigned: AssignedPartitions) -> None:
    nothing = replace(MEMBER, subscribed_topic_names=frozenset(), assigned_partitions=assigned)

    member = built(nothing, None)

    assert member.assigned_partitions == {}
    assert member.partitions_pending_revocation == assigned
    assert member.state is (MemberState.UNREVOKED_PARTITIONS if assigned else MemberState.STABLE)
    assert member.previous_member_epoch == 5


REVOKING = replace(MEMBER, state=MemberState.UNREVOKED_PARTITIONS, partitions_pending_revocation={V: {0: 5}})
"""It still has to give up a topic."""


@pytest.mark.parametrize(("release", "epoch"), [("4.0", 6), ("4.1", 6), ("4.2", 5), ("4.4", 5)])
def test_who_has_given_up_partitions_and_has_to_again_is_in_the_next_epoch_until_4_1(
    release: str, epoch: int
) -> None:
    owned = ((T, (0,)), (U, (1,)))
    member = built(
        REVOKING, owned, release=release, target_epoch=7, target={T: (0,)}, has_subscription_changed=False
    )

    assert (member.member_epoch, member.previous_member_epoch) == (epoch, 5)
    assert member.partitions_pending_revocation == {U: {1: 5}}


@pytest.mark.parametrize("release", ["4.0", "4.4"])
def test_a_member_of_an_unknown_state_starts_anew_with_nothing(release: str) -> None:
    member = replace(MEMBER, state=MemberState.UNKNOWN, subscribed_topic_names=frozenset({"t", "u"}))

    for owned in (None, ((T, (0,)),)):
        with pytest.raises(CoordinatorError) as refused:
            built(member, owned, release=release)
        assert refused.value.error is Errors.FENCED_MEMBER_EPOCH

    recovered = built(member, (), release=release, target_epoch=6)
    assert (recovered.member_epoch, recovered.state) == (6, MemberState.STABLE)
    assert recovered.assigned_partitions == MEMBER.assigned_partitions


@pytest.mark.parametrize("release", ["4.0.0", "4.0", "4.1.0", "4.1", "4.4"])
def test_what_a_member_has_given_up_is_free_for_itself_but_in_the_first_releases(release: str) -> None:
    member = replace(
        MEMBER,
        state=MemberState.UNREVOKED_PARTITIONS,
        assigned_partitions={},
        partitions_pending_revocation={T: {0: 5}},
    )
    is_free = release not in {"4.0.0", "4.1.0"}

    stepped = built(member, (), release=release)

    assert stepped.assigned_partitions.get(T) == ({0: 5} if is_free else None)

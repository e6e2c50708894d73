"""What `simple` promises in each release: every partition is read, and from 4.2 on by as many members."""

from collections import Counter
from dataclasses import replace
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference_coordinator.core.ids import MemberId, TopicId
from reference_coordinator.groups.consumer.assignors.group_spec import (
    PartitionAssignorError,
    SubscriptionType,
)
from reference_coordinator.groups.share.assignors import assign
from reference_coordinator.groups.share.assignors.share_spec import ShareGroupSpec, ShareMemberSpec
from reference_coordinator.groups.share.member import AssignedPartitions
from reference_coordinator.profile.profiles import profile_for

TOPICS = tuple(TopicId(f"00000000-0000-0000-{index:04x}-{index * 977:012x}") for index in range(4))
COUNTS = st.dictionaries(st.sampled_from(TOPICS), st.integers(1, 9), min_size=1)
IDS = st.lists(st.text("abcdef", min_size=1, max_size=8), min_size=1, max_size=12, unique=True)


def member(*topics: TopicId, assignment: AssignedPartitions = MappingProxyType({})) -> ShareMemberSpec:
    return ShareMemberSpec(subscribed_topic_ids=topics, names_topics=True, assignment=assignment)


@st.composite
def groups(draw: st.DrawFn, *, is_homogeneous: bool) -> ShareGroupSpec:
    """A group that was assigned before with other members, and perhaps fewer partitions."""
    counts = draw(COUNTS)
    every = st.lists(st.sampled_from(sorted(counts)), min_size=1, unique=True)
    same = tuple(sorted(counts))
    members = {MemberId(each): member(*(same if is_homogeneous else draw(every))) for each in draw(IDS)}
    kind = SubscriptionType.HOMOGENEOUS if is_homogeneous else SubscriptionType.HETEROGENEOUS
    assignable = {topic: tuple(range(count)) for topic, count in counts.items()}
    spec = ShareGroupSpec(members=members, subscription_type=kind, assignable=assignable)
    before = assign(spec, profile_for("4.4"))
    newcomers = {
        MemberId(f"new-{index}"): next(iter(members.values())) for index in range(draw(st.integers(0, 3)))
    }
    kept = dict(list(members.items())[: draw(st.integers(1, len(members)))])
    return ShareGroupSpec(
        members={
            key: replace(each, assignment=before.get(key, {})) for key, each in {**kept, **newcomers}.items()
        },
        subscription_type=kind,
        assignable=assignable,
    )


ANY_GROUP = st.booleans().flatmap(lambda same: groups(is_homogeneous=same))


def owners(assigned: dict[MemberId, AssignedPartitions]) -> Counter[tuple[TopicId, int]]:
    return Counter(
        (topic, partition)
        for each in assigned.values()
        for topic, partitions in each.items()
        for partition in partitions
    )


def subscribed(spec: ShareGroupSpec) -> set[tuple[TopicId, int]]:
    topics = {topic for member in spec.members.values() for topic in member.subscribed_topic_ids}
    return {(topic, partition) for topic in topics for partition in spec.assignable[topic]}


@given(ANY_GROUP, st.sampled_from(("4.1", "4.2", "4.4")))
def test_every_partition_is_read_by_subscribers_alone(spec: ShareGroupSpec, release: str) -> None:
    assigned = dict(assign(spec, profile_for(release)))

    assert subscribed(spec) <= set(owners(assigned))
    for member_id, each in spec.members.items():
        read = {topic for topic, partitions in assigned.get(member_id, {}).items() if partitions}
        assert read <= set(each.subscribed_topic_ids)


@given(groups(is_homogeneous=True))
def test_partitions_and_members_are_balanced(spec: ShareGroupSpec) -> None:
    """From nothing: a partition may stay short where former assignments leave nobody else who wants more."""
    members = {key: replace(each, assignment={}) for key, each in spec.members.items()}
    assigned = dict(assign(replace(spec, members=members), profile_for("4.4")))

    shared = owners(assigned)
    sharing = -(-len(spec.members) // len(shared))
    assert set(shared.values()) == {sharing}
    sizes = [sum(map(len, assigned[each].values())) for each in spec.members]
    assert max(sizes) - min(sizes) <= 1


@given(groups(is_homogeneous=True))
def test_a_balanced_group_stays_as_it_is(spec: ShareGroupSpec) -> None:
    once = dict(assign(spec, profile_for("4.4")))
    members = {key: replace(each, assignment=once[key]) for key, each in spec.members.items()}

    assert dict(assign(replace(spec, members=members), profile_for("4.4"))) == once


@given(ANY_GROUP)
def test_in_the_preview_everybody_has_everything(spec: ShareGroupSpec) -> None:
    assigned = assign(spec, profile_for("4.0"))

    for member_id, each in spec.members.items():
        whole = {topic: frozenset(spec.assignable[topic]) for topic in each.subscribed_topic_ids}
        assert assigned[member_id] == whole


def test_a_topic_that_a_member_loses_stays_in_its_assignment_without_partitions() -> None:
    one, other = TOPICS[:2]
    alone = member(one, other, assignment={one: frozenset({0}), other: frozenset({0})})
    spec = ShareGroupSpec(
        members={MemberId("a"): alone, MemberId("b"): replace(alone, assignment={})},
        subscription_type=SubscriptionType.HOMOGENEOUS,
        assignable={one: (0,), other: (0,)},
    )

    assigned = assign(spec, profile_for("4.4"))

    assert sorted(len(each) for each in assigned[MemberId("a")].values()) == [0, 1]
    assert [len(each) for each in assigned[MemberId("b")].values()] == [1]


def test_members_of_4_1_that_share_partitions_may_leave_no_room_for_others() -> None:
    """The ids have the same hash modulo 6, and all three members had the same partition before."""
    topic = TOPICS[0]
    alike = member(topic, assignment={topic: frozenset({0})})
    spec = ShareGroupSpec(
        members={MemberId(each): alike for each in "agm"},
        subscription_type=SubscriptionType.HOMOGENEOUS,
        assignable={topic: tuple(range(6))},
    )

    with pytest.raises(PartitionAssignorError, match="Inconsistent number of member IDs"):
        assign(spec, profile_for("4.1"))
    assert set(owners(dict(assign(spec, profile_for("4.2"))))) == {(topic, index) for index in range(6)}


def test_the_topics_of_a_member_of_4_1_are_in_the_order_of_a_set_of_its_partitions() -> None:
    """Both topics are in the same bucket of a map, and the second partition of the last one comes first."""
    topics = tuple(TopicId(f"00000000-0000-0000-0000-0000000000{each}") for each in ("01", "11"))
    spec = ShareGroupSpec(
        members={MemberId("c"): member(*topics)},
        subscription_type=SubscriptionType.HOMOGENEOUS,
        assignable={topics[0]: (0,), topics[1]: (0, 1)},
    )

    assigned = assign(spec, profile_for("4.1"))

    assert tuple(assigned[MemberId("c")]) == topics

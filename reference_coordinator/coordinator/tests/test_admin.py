"""DescribeGroups, ListGroups, DeleteGroups: catalogue rows DS-*, DG-*, LG-*, DL-*."""

import pytest

from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import GroupId
from reference_coordinator.core.map_order import partition_for
from reference_coordinator.core.records import GroupMetadataTombstone, OffsetCommitTombstone
from reference_coordinator.groups.consumer.tests.consumer_kit import Consumers
from reference_coordinator.messages import (
    AUTHORIZED_OPERATIONS_OMITTED,
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    ListGroupsRequest,
    ListGroupsResponse,
)
from reference_coordinator.tests.kit import JAVA, SCALA, Broker
from reference_coordinator.tests.requests import join


@pytest.mark.parametrize(("profile", "shows"), [(SCALA, False), (JAVA, True)])
def test_in_a_rebalance_only_java_shows_the_old_assignment(broker: Broker, *, shows: bool) -> None:
    ana, _ = broker.stable_group(join(), join())
    broker.join(ana)

    described = broker.describe()

    assert described.protocol_data == ""
    assert described.members[0].member_metadata == b""
    assert described.members[0].member_assignment == (ana.encode() if shows else b"")


def test_scala_describes_in_the_order_asked_for() -> None:
    asked = tuple(GroupId(each) for each in ("c", "a", "b", "group", "a"))

    answer = Broker(SCALA).send(DescribeGroupsRequest(groups=asked)).as_(DescribeGroupsResponse)

    assert tuple(each.group_id for each in answer.groups) == asked


def test_java_describes_partition_by_partition() -> None:
    broker = Broker(JAVA, {"offsets.topic.num.partitions": "2"})
    asked = tuple(GroupId(each) for each in ("a", "b", "c", "d"))

    answer = broker.send(DescribeGroupsRequest(groups=asked)).as_(DescribeGroupsResponse)

    order = [each.group_id for each in answer.groups]
    assert sorted(order) == list(asked)
    assert order in [["a", "c", "b", "d"], ["b", "d", "a", "c"]]


@pytest.mark.parametrize(
    ("profile", "omitted", "all_of_them"),
    [("2.4.1", 0, 328), ("2.5", -(2**31), 328), (SCALA, -(2**31), 328), (JAVA, -(2**31), 3400)],
)
def test_operations_are_named_when_asked_for(broker: Broker, omitted: int, all_of_them: int) -> None:
    asking = DescribeGroupsRequest(groups=(GroupId("g"),), include_authorized_operations=True)

    (described,) = broker.send(asking).as_(DescribeGroupsResponse).groups

    assert broker.describe().authorized_operations == omitted
    assert described.authorized_operations == all_of_them


def test_operations_on_consumer_groups_are_those_of_groups_that_are_there() -> None:
    consumers = Consumers.on("4.4", t=1)
    consumers.beat("m", 0, names=("t",))
    asking = ConsumerGroupDescribeRequest(
        group_ids=(GroupId("g"), GroupId("none")), include_authorized_operations=True
    )

    described = consumers.broker.send(asking, version=1).as_(ConsumerGroupDescribeResponse).groups

    operations = {each.group_id: each.authorized_operations for each in described}
    assert operations == {"g": 3400, "none": AUTHORIZED_OPERATIONS_OMITTED}
    assert consumers.describe().authorized_operations == AUTHORIZED_OPERATIONS_OMITTED


@pytest.mark.parametrize(("profile", "state"), [(SCALA, "Empty"), (JAVA, "Dead")])
def test_a_group_whose_creation_is_being_written_is_not_there_yet_on_java(broker: Broker, state: str) -> None:
    broker.delays_appends = True
    broker.join()
    assert broker.state() == state
    assert broker.listed() == (["g"] if state == "Empty" else [])

    broker.release()

    assert broker.state() == "Empty"


def test_reads_may_see_what_a_refused_request_changed() -> None:
    consumers = Consumers.on("4.4", t=1)
    broker = consumers.broker
    consumers.beat("m", 0, names=("t",))
    consumers.beat("m", -1)
    broker.join("unknown")

    asking = ConsumerGroupDescribeRequest(group_ids=(GroupId("g"),))
    before = broker.send(asking, version=1)
    listed = broker.send(ListGroupsRequest(states_filter=(), types_filter=()), version=5)
    beside = next(
        f"g{number}"
        for number in range(1_000)
        if partition_for(f"g{number}", broker.num_partitions) == partition_for("g", broker.num_partitions)
    )
    broker.commit({0: 1}, group=beside)
    after = broker.send(asking, version=1)

    usual, late = (each.as_(ConsumerGroupDescribeResponse).groups for each in (before, after))
    assert [usual[0].error_code, late[0].error_code] == [Errors.NONE, Errors.GROUP_ID_NOT_FOUND]
    assert before.permitted["groups"] == (usual, late)
    assert listed.permitted["groups"] == (listed.as_(ListGroupsResponse).groups, ())
    assert after.permitted == {}


@pytest.mark.parametrize(
    ("profile", "listed"),
    [("4.4", ["grp-4", "grp-1"]), ("3.9-java", ["grp-4", "grp-1"]), ("3.9", ["grp-1", "grp-4"])],
)
def test_groups_are_listed_in_the_order_of_kafkas_maps(profile: str, listed: list[str]) -> None:
    broker = Broker(profile=profile, properties={"offsets.topic.num.partitions": "1"})
    for group in ("grp-1", "grp-4"):
        broker.commit({0: 1}, group=group)

    assert broker.listed() == listed


@pytest.mark.parametrize(("profile", "matches"), [("3.7", []), ("3.8", ["g"]), (SCALA, ["g"]), (JAVA, ["g"])])
def test_the_states_filter_ignores_case_from_3_8(broker: Broker, profile: str, matches: list[str]) -> None:
    broker.commit({0: 1})

    assert broker.listed(states=("empty",)) == matches
    assert broker.listed(states=(" EMPTY\n",)) == (["g"] if profile == JAVA else [])
    assert broker.listed(states=("\N{NO-BREAK SPACE}Empty",)) == []


@pytest.mark.parametrize(("profile", "writes_group"), [(SCALA, False), (JAVA, True)])
def test_only_java_writes_a_tombstone_for_a_simple_group(broker: Broker, *, writes_group: bool) -> None:
    broker.commit({0: 1})
    broker.delete("g")

    group_tombstones = [each for each in broker.log if isinstance(each, GroupMetadataTombstone)]

    assert sum(isinstance(each, OffsetCommitTombstone) for each in broker.log) == 1
    assert bool(group_tombstones) is writes_group


@pytest.mark.parametrize(
    ("profile", "reported", "state"),
    [(SCALA, Errors.NONE, "Dead"), (JAVA, Errors.UNKNOWN_SERVER_ERROR, "Empty")],
)
def test_a_deletion_that_cannot_be_written_fails_on_java(
    broker: Broker, reported: Errors, state: str
) -> None:
    broker.commit({0: 1})
    broker.append_error = Errors.MESSAGE_TOO_LARGE

    assert broker.delete("g") == {"g": reported}
    assert broker.state() == state

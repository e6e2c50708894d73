"""What releases take a group for that they know from the log alone, and what they write."""

from dataclasses import replace

import pytest

from reference_coordinator.core.effects import ALL_REPLICAS, NO_REPLICAS, AppendRecords
from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import GroupId
from reference_coordinator.core.records import OffsetCommitRecord
from reference_coordinator.messages import ListGroupsRequest, ListGroupsResponse
from reference_coordinator.tests.kit import JAVA, SCALA, Broker
from reference_coordinator.tests.requests import REBALANCE_MS, commit, join

SHORT_RETENTION = {"offsets.retention.minutes": "1", "offsets.retention.check.interval.ms": "1000"}
LONG_SESSION_MS = 300_000


@pytest.mark.parametrize(
    ("profile", "error"),
    [
        *((profile, Errors.ILLEGAL_GENERATION) for profile in ("2.4.1", "2.6.0", "2.7.2")),
        *((profile, Errors.UNKNOWN_MEMBER_ID) for profile in ("2.8.0", "3.9", JAVA)),
    ],
)
def test_a_loaded_member_is_dropped_when_it_misses_a_rebalance_from_2_8(
    broker: Broker, error: Errors
) -> None:
    ana, bob = broker.stable_group(join(session_ms=LONG_SESSION_MS), join(session_ms=LONG_SESSION_MS))
    broker.restart()
    broker.join(ana, metadata=b"other", session_ms=LONG_SESSION_MS)

    broker.elapse(REBALANCE_MS)

    assert broker.heartbeat(bob, 1).error is error


@pytest.mark.parametrize(("profile", "offsets"), [("2.6.0", 0), ("2.6.1", 1), ("3.9", 1), (JAVA, 1)])
def test_an_emptied_group_that_is_loaded_knows_since_when_it_is_empty(profile: str, offsets: int) -> None:
    broker = Broker(profile=profile, properties=SHORT_RETENTION)
    (ana,) = broker.stable_group(join(session_ms=LONG_SESSION_MS))
    broker.commit({0: 7}, member_id=ana, generation=1)
    broker.elapse(50_000)
    broker.leave(ana)
    broker.restart()

    broker.elapse(11_000)

    kept = [offset for offset, _ in broker.fetch(0) if offset >= 0]
    assert len(kept) == offsets


def appended(broker: Broker) -> list[AppendRecords]:
    return [each for each in broker.effects if isinstance(each, AppendRecords)]


@pytest.mark.parametrize(("profile", "acks"), [(SCALA, NO_REPLICAS), (JAVA, ALL_REPLICAS)])
def test_tombstones_of_the_scala_coordinator_need_no_replicas(broker: Broker, acks: int) -> None:
    broker.commit({0: 7})
    broker.delete("g")

    committed, deleted = appended(broker)
    assert (committed.required_acks, deleted.required_acks) == (ALL_REPLICAS, acks)


@pytest.mark.parametrize(("profile", "written"), [(SCALA, [8]), (JAVA, [7, 8])])
def test_a_partition_that_a_commit_names_twice_is_written_twice_by_java(
    broker: Broker, written: list[int]
) -> None:
    once = commit({0: 7})
    (topic,) = once.topics
    (partition,) = topic.partitions
    again = replace(partition, committed_offset=8)
    broker.send(replace(once, topics=(replace(topic, partitions=(partition, again)),)))

    assert [each.offset for each in broker.log if isinstance(each, OffsetCommitRecord)] == written
    assert broker.fetch(0) == [(8, Errors.NONE)]


@pytest.mark.parametrize(
    ("profile", "error"),
    [("2.6.0", Errors.UNKNOWN_SERVER_ERROR), ("2.6.1", Errors.NONE), ("3.9", Errors.NONE)],
)
def test_a_group_that_cannot_be_described_breaks_a_list_by_state(broker: Broker, error: Errors) -> None:
    broker.stable_group(join(instance="i1", names=("range", "roundrobin")))
    broker.join(instance="i1", names=("roundrobin",))
    broker.commit({0: 1}, group="other")

    by_state = broker.send(ListGroupsRequest(states_filter=("Stable",))).as_(ListGroupsResponse)
    every = broker.send(ListGroupsRequest()).as_(ListGroupsResponse)

    assert by_state.error_code is error
    assert (every.error_code, len(every.groups)) == (Errors.NONE, 2)
    assert GroupId("g") in {each.group_id for each in every.groups}

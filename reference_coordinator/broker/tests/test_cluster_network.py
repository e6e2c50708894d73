"""A broker of a cluster that loses its network, and has it back."""

import pytest

from reference_coordinator.core.errors import Errors
from reference_coordinator.tests.wire_cluster import WireCluster


@pytest.fixture(name="cluster", params=["3.9", "4.3"])
def cluster_of_a_release(request: pytest.FixtureRequest) -> WireCluster:
    return WireCluster(request.param)


def test_another_broker_takes_over_what_one_without_a_network_led(cluster: WireCluster) -> None:
    member_id = cluster.client(1).is_member()
    cluster.disconnect(1)

    assert cluster.client(2).heartbeat(member_id) == Errors.NONE
    assert cluster.client(3).coordinator() == 2
    assert not cluster.cluster.is_reachable(1)


def test_who_asks_a_broker_without_a_network_is_not_answered(cluster: WireCluster) -> None:
    ana = cluster.client(1)
    member_id = ana.is_member()
    cluster.disconnect(1)

    ana.send("heartbeat", 2, group_id="g", generation_id=1, member_id=member_id)
    assert (ana.frames(), ana.is_closed) == ([], False)
    cluster.reconnect(1)
    assert (ana.frames(), ana.is_closed) == ([], True)


def test_a_broker_that_has_its_network_back_learns_that_another_coordinates(cluster: WireCluster) -> None:
    member_id = cluster.client(1).is_member()
    cluster.disconnect(1)
    cluster.reconnect(1)

    assert cluster.client(1).heartbeat(member_id) == Errors.NOT_COORDINATOR
    assert cluster.client(2).heartbeat(member_id) == Errors.NONE
    assert cluster.client(1).coordinator() == 2


def test_what_fell_due_without_a_network_is_in_nobodys_log(cluster: WireCluster) -> None:
    member_id = cluster.client(1).is_member()
    cluster.disconnect(1)
    before = len(cluster.cluster.state.log.records)
    for _ in range(4):
        cluster.elapse(4_000)
        assert cluster.client(2).heartbeat(member_id) == Errors.NONE

    cluster.reconnect(1)
    assert cluster.client(2).heartbeat(member_id) == Errors.NONE
    assert len(cluster.cluster.state.log.records) == before


def test_timers_run_on_without_a_network(cluster: WireCluster) -> None:
    cluster.client(1).is_member()
    cluster.disconnect(1)
    alone = cluster.cluster.listener(1)
    due = alone.next_deadline()
    cluster.elapse(10_000)

    assert due is not None
    assert alone.next_deadline() != due


def test_what_a_broker_wrote_without_a_network_is_gone_when_it_leads_once_more(cluster: WireCluster) -> None:
    ana = cluster.client(1)
    assert ana.commit(7) == Errors.NONE
    cluster.cluster.pause(1)
    ana.send_commit(9)
    cluster.disconnect(1)
    cluster.resume(1)
    assert ana.frames() == []
    assert cluster.client(2).committed() == (7, Errors.NONE)

    cluster.reconnect(1)
    cluster.move(1)
    assert cluster.client(1).committed() == (7, Errors.NONE)


def test_a_broker_without_a_network_takes_itself_for_the_coordinator(cluster: WireCluster) -> None:
    ana = cluster.client(1)
    ana.is_member()
    apis = cluster.cluster.listener(1).apis

    def coordinates() -> list[bool]:
        return [apis.coordinates(partition) for partition in (0, 1)]

    cluster.cluster.pause(1)
    ana.send("heartbeat", 2, group_id="g", generation_id=1, member_id="m")
    cluster.disconnect(1)
    cluster.resume(1)
    cluster.move(3)
    assert coordinates() == [True, True]
    cluster.reconnect(1)
    assert coordinates() == [False, False]


@pytest.mark.parametrize(("loses_network", "answers"), [(False, 1), (True, 0)])
def test_a_broker_without_a_network_tells_nobody_when_it_shuts_down(
    loses_network: bool,  # noqa: FBT001 - a case
    answers: int,
) -> None:
    cluster = WireCluster("3.9")
    cluster.client(1).is_member()
    bob = cluster.client(1)
    bob.join()
    if loses_network:
        cluster.disconnect(1)

    cluster.take(cluster.cluster.shut_down(now_ms=cluster.now_ms))

    assert len(bob.frames()) == answers

"""A broker of a cluster that loses its network, and has it back."""

import pytest

from reference_coordinator.tests.wire_cluster import WireCluster


@pytest.fixture(name="cluster", params=["3.9", "4.3"])
def cluster_of_a_release(request: pytest.FixtureRequest) -> WireCluster:
    return WireCluster(request.param)


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

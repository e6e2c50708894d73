"""Three brokers: who coordinates, and what clients see of it when that changes.

Group `g` is in partition 1 of two, group `h` in partition 0.
"""

import pytest

from reference_coordinator.core.errors import Errors
from reference_coordinator.tests.kit import JAVA
from reference_coordinator.tests.wire_cluster import WireCluster
from reference_coordinator.tests.wire_producer import Producer

G, H = 1, 0


@pytest.fixture(name="cluster")
def cluster_of_a_family(profile: str) -> WireCluster:
    return WireCluster(profile)


def pending(cluster: WireCluster) -> Producer:
    """A producer with offset 42 in its transaction."""
    producer = Producer(cluster.client(1))
    assert producer.add() == Errors.NONE
    assert producer.commit() == [Errors.NONE]
    return producer


def test_a_marker_waits_for_a_leader_that_loads_on_java() -> None:
    cluster = WireCluster(JAVA)
    producer = pending(cluster)
    cluster.cluster.pause_at_loading()
    cluster.move(3, G)

    assert producer.end() == Errors.NONE
    cluster.resume_from_loading()

    assert cluster.client(3).committed(stable=True) == (42, Errors.NONE)

"""Static members of consumer groups: they come back, or are replaced."""

import pytest

from reference_coordinator.core.errors import Errors
from reference_coordinator.groups.consumer.tests.consumer_kit import Consumers


@pytest.fixture(name="consumers")
def consumers_of_two_partitions(release: str) -> Consumers:
    return Consumers.on(release, t=2)


def test_a_former_instance_id_is_free_from_4_4_on(consumers: Consumers, release: str) -> None:
    consumers.beat("ana", 0, names=("t",), instance="i")
    consumers.beat("ana", 0, names=("t",), instance="j")
    assert consumers.describe().members[0].instance_id == "j"

    error = consumers.error("bob", 0, names=("t",), instance="i")

    assert error is (Errors.NONE if release == "4.4" else Errors.UNRELEASED_INSTANCE_ID)

"""The consumers of a test, on every release that has consumer groups, with three partitions of topic `t`.

A test whose claim is about some releases names them: it is parametrized by `release` itself.
"""

import pytest

from reference_coordinator.groups.consumer.tests.consumer_kit import EVERY_RELEASE, Consumers


@pytest.fixture(params=EVERY_RELEASE)
def release(request: pytest.FixtureRequest) -> str:
    release = request.param
    assert isinstance(release, str)
    return release


@pytest.fixture
def consumers(release: str) -> Consumers:
    return Consumers.on(release, t=3)

"""The coordinator of a test, once as the Scala coordinator and once as the Java coordinator.

A test whose claim is about other releases names them: it is parametrized by `profile` itself.
"""

import pytest

from reference_coordinator.tests.kit import JAVA, SCALA, Broker


@pytest.fixture(name="profile", params=[SCALA, JAVA])
def each_family(request: pytest.FixtureRequest) -> str:
    profile = request.param
    assert isinstance(profile, str)
    return profile


@pytest.fixture(name="broker")
def new_broker(profile: str) -> Broker:
    return Broker(profile)

"""The bytes that consumers say to each other, as the reference reads them."""

import pytest

from harness.scenario import ask
from reference_coordinator.groups.consumer.embedded_protocol import (
    deserialize_consumer_protocol_assignment,
    deserialize_consumer_protocol_subscription,
)
from reference_coordinator.profile.profiles import profile_for

PROFILE = profile_for("4.3")
OWNED = {"orders": (0, 2), "payments": (1,)}


@pytest.mark.parametrize("version", range(4))
def test_a_subscription_says_what_its_version_can(version: int) -> None:
    said = ask.subscription("orders", "payments", version=version, owned=OWNED)

    read = deserialize_consumer_protocol_subscription(said, PROFILE)

    assert int.from_bytes(said[:2]) == version
    assert read.topics == ("orders", "payments")
    assert dict(read.owned_partitions) == (OWNED if version >= 1 else {})
    assert read.rack_id is None


def test_a_subscription_says_of_no_partitions_unless_they_are_named() -> None:
    assert ask.subscription("t") == b"\0\0\0\0\0\1\0\1t\xff\xff\xff\xff"
    assert ask.subscription("t", version=1) == b"\0\1\0\0\0\1\0\1t\xff\xff\xff\xff\0\0\0\0"


def test_an_assignment_may_carry_data_of_an_assignor() -> None:
    plain = deserialize_consumer_protocol_assignment(ask.assignment("orders", 0, 2), PROFILE)
    with_data = deserialize_consumer_protocol_assignment(
        ask.assignment("orders", 0, user_data=b"custom"), PROFILE
    )

    assert (plain.assigned_partitions, plain.user_data) == ((("orders", (0, 2)),), None)
    assert (with_data.assigned_partitions, with_data.user_data) == ((("orders", (0,)),), b"custom")


def test_an_assignment_may_be_of_several_topics_or_of_none() -> None:
    said = ask.assignment_of(OWNED, version=1)

    assert dict(deserialize_consumer_protocol_assignment(said, PROFILE).assigned_partitions) == OWNED
    assert ask.assignment_of({}, version=3) == b"\0\3\0\0\0\0\xff\xff\xff\xff"

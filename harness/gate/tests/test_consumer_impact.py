"""Every behaviour of consumer groups says what a client would notice of it."""

from harness.gate.client_impact import client_impact, is_slight
from harness.gate.consumer_impact import OF_CONSUMER_GROUPS
from reference_coordinator.profile.assignor_behaviours import OF_ASSIGNORS
from reference_coordinator.profile.consumer_behaviours import OF_CONSUMER_GROUPS as ROWS

NAMES = {row.behaviour.name.lower() for row in (*ROWS, *OF_ASSIGNORS)}


def test_every_behaviour_of_consumer_groups_says_what_a_client_notices() -> None:
    assert OF_CONSUMER_GROUPS.keys() == NAMES | {"consumer_groups"}
    assert all(client_impact(name) == text for name, text in OF_CONSUMER_GROUPS.items())
    assert all(text.endswith(".") for text in OF_CONSUMER_GROUPS.values())


def test_what_no_common_client_meets_is_slight() -> None:
    assert is_slight("subscription_metadata_is_hashed")
    assert not is_slight("assignment_interval_kept")

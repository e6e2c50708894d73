"""Members that join again: catalogue rows JG-30 to JG-48."""

from dataclasses import replace

import pytest

from reference_coordinator.core.errors import Errors
from reference_coordinator.messages import JoinGroupRequestProtocol
from reference_coordinator.tests.kit import JAVA, SCALA, Broker
from reference_coordinator.tests.requests import SESSION_MS, join


@pytest.mark.parametrize(("profile", "parked"), [(SCALA, False), (JAVA, True)])
def test_an_unknown_tagged_field_is_a_change_to_the_java_coordinator(broker: Broker, *, parked: bool) -> None:
    _, bob = broker.stable_group(join(), join())
    tagged = JoinGroupRequestProtocol(name="range", metadata=b"", unknown_tags=((77, b"x"),))
    request = replace(join(bob), protocols=(tagged,))

    assert broker.send(request).is_parked is parked


@pytest.mark.parametrize(
    ("profile", "applied"),
    [("2.4.1", False), ("3.3.1", False), ("3.3.2", True), (SCALA, True), (JAVA, True)],
)
def test_a_rejoin_brings_new_timeouts_from_3_3_2(broker: Broker, *, applied: bool) -> None:
    (ana,) = broker.stable_group(join(session_ms=SESSION_MS))
    broker.join(ana, session_ms=4 * SESSION_MS)
    broker.sync(ana, 2)

    broker.elapse(2 * SESSION_MS)

    expected = Errors.NONE if applied else Errors.UNKNOWN_MEMBER_ID
    assert broker.heartbeat(ana, 2).error is expected

"""OffsetDelete: catalogue rows OD-*."""

import pytest

from reference_coordinator.core.errors import Errors
from reference_coordinator.tests.kit import JAVA, SCALA, Broker

NONE = Errors.NONE


@pytest.mark.parametrize(("profile", "state"), [(SCALA, "Dead"), (JAVA, "Empty")])
def test_the_last_offset_takes_the_group_with_it_on_scala(broker: Broker, state: str) -> None:
    broker.commit({0: 1})

    assert broker.offset_delete(0).error is NONE
    assert broker.state() == state


@pytest.mark.parametrize(("profile", "reported"), [(SCALA, NONE), (JAVA, Errors.UNKNOWN_SERVER_ERROR)])
def test_an_offset_deletion_that_cannot_be_written_fails_on_java(broker: Broker, reported: Errors) -> None:
    broker.commit({0: 1, 1: 2})
    broker.append_error = Errors.MESSAGE_TOO_LARGE

    assert broker.offset_delete(0).error is reported
    assert broker.fetch(0) == [(-1 if reported is NONE else 1, NONE)]


@pytest.mark.parametrize(("profile", "reported"), [(SCALA, [NONE, NONE]), (JAVA, [NONE, NONE, NONE])])
def test_a_partition_that_is_named_twice_is_answered_once_by_scala(
    broker: Broker, reported: list[Errors]
) -> None:
    broker.commit({0: 1, 1: 2})

    assert broker.offset_delete(0, 1, 0).partition_errors == reported
    assert broker.fetch(0, 1) == [(-1, NONE), (-1, NONE)]

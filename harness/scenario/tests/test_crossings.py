from fnmatch import fnmatchcase

import pytest

from harness.scenario import Capability, Conversation, ask, expect, scenario
from harness.scenario.crossings import Cell, crossings, load_blanks, reasons
from harness.scenario.registry import record
from harness.tests.completed_runs import catalogue

GONE_AFTER_RESTART = Cell("removals", "group deleted, simple", "restart")


def test_each_blank_has_a_reason_and_each_reason_a_blank() -> None:
    why = reasons(crossings(catalogue().values()), load_blanks())

    assert [cell for cell, blank in why.items() if blank is None] == []
    patterns = [each for blank in load_blanks() for each in blank.cells]
    assert [each for each in patterns if not any(fnmatchcase("/".join(cell), each) for cell in why)] == []


@pytest.mark.parametrize("is_observed", [True, False])
def test_a_crossing_is_shown_if_somebody_asks_afterwards(*, is_observed: bool) -> None:
    @scenario("mine/group/deleted", source="Kafka#deletes", needs=(Capability.RESTART,))
    def deleted(conversation: Conversation) -> None:
        """A deleted group is not there after a restart."""
        ana = conversation.actor("ana")
        ana.asks(ask.delete_groups(), expect.delete_groups("GROUP_ID_NOT_FOUND"))
        conversation.restarts_coordinator()
        asked = (
            ask.offset_fetch() if is_observed else ask.offset_fetch(group_id=conversation.group("another"))
        )
        ana.asks(asked, expect.offset_fetch({}))

    found = crossings([record(deleted)])

    assert found[GONE_AFTER_RESTART] == (["mine/group/deleted"] if is_observed else [])
    assert not found[Cell("removals", "group deleted, classic", "restart")]

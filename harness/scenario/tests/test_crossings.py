from fnmatch import fnmatchcase

import pytest

from harness.scenario import Capability, Conversation, ask, expect, scenario
from harness.scenario.crossings import Cell, aims, cells_shown, crossings, load_blanks
from harness.scenario.registry import record
from harness.tests.completed_runs import catalogue

GONE_AFTER_RESTART = Cell("removals", "group deleted, simple", "restart")


def test_each_blank_has_a_reason_and_each_reason_a_blank() -> None:
    found = crossings(catalogue().values(), load_blanks())
    blanks = [f"{each.table}/{each.row}/{each.column}" for each in found if not each.shown_by]

    assert [each for each in found if not each.shown_by and each.kind is None] == []
    assert aims() >= {Cell(each.table, each.row, each.column) for each in found if each.kind == "same code"}
    patterns = [each for blank in load_blanks() for each in blank.cells]
    assert [each for each in patterns if not any(fnmatchcase(cell, each) for cell in blanks)] == []


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

    shown = cells_shown(record(deleted))

    assert (GONE_AFTER_RESTART in shown) is is_observed
    assert Cell("removals", "group deleted, classic", "restart") not in shown

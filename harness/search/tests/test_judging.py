"""Conversations that broke off are counted by their reason, not by what each of them named."""

import pytest

from harness.scenario.bindings import Bindings
from harness.scenario.errors import UnboundReferenceError
from harness.scenario.values import Ref, TopicId
from harness.search.judging import reason_of_end


def test_what_nobody_learnt_is_one_reason_whatever_it_is() -> None:
    notes = []
    for value in (Ref("ana", "member_id"), Ref("bob", "generation_id"), TopicId("orders")):
        with pytest.raises(UnboundReferenceError) as raised:
            Bindings(groups={}).resolve(value)
        notes.append(str(raised.value))

    assert len(set(notes)) == 3
    assert len(set(map(reason_of_end, notes))) == 1
    assert (
        reason_of_end("the scenario's limit of 30 s had passed") == "the scenario's limit of 30 s had passed"
    )

"""A reference that is asked at the pace of a broker is as late at each step as the broker was."""

import asyncio
from dataclasses import replace

import pytest

from harness.search.hunt import scripted
from harness.search.moves import Ask, Hear, Stay, Wait
from harness.search.shrinking import Candidate
from harness.search.sides import Side
from harness.search.tests.made_findings import reference_of
from harness.targets.reference.session import ReferenceSession
from harness.trace.events import EventKind

_DELAY_MS = 3_000


def test_a_step_that_sends_nothing_begins_as_late_as_in_the_recording() -> None:
    join = Ask(actor="ana", api="JoinGroup", arguments={"version": 0}, is_answered=False)
    moves = (join, Wait(duration_ms=1_000), Stay(actor="ana", for_ms=10), Hear(actor="ana"))
    config = {"group.initial.rebalance.delay.ms": f"{_DELAY_MS}"}
    script = scripted(Candidate(moves=moves, broker_config=config))
    assert script is not None
    side = Side(reference_of())
    recorded = asyncio.run(side.run(script))
    late = [
        replace(each, at_ms=_DELAY_MS + 500.0) if each.kind == EventKind.ELAPSED else each
        for each in recorded
    ]

    paced = asyncio.run(side.run(script, pace=late))

    kinds = [[each.kind for each in some if each.step == 2] for some in (recorded, paced)]
    assert kinds == [[EventKind.SILENCE], [EventKind.RESPONSE]]


def test_a_reference_that_fails_when_it_is_left_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    script = scripted(Candidate(moves=(Ask(actor="ana", api="ListGroups"),), broker_config={}))
    assert script is not None
    side = Side(reference_of())

    async def fail(_session: ReferenceSession) -> None:
        raise IndexError

    monkeypatch.setattr(ReferenceSession, "close", fail)

    assert asyncio.run(side.run(script))[-1].kind == EventKind.HARNESS_ERROR
    assert not asyncio.run(side.answers_alike(script, ()))

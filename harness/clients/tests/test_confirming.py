import asyncio
from collections.abc import Sequence

import pytest

from harness.clients.confirming import confirmed
from harness.results.client_results import ClientResult, Remark
from harness.tests import made_up_clients
from harness.tests.made_up_clients import PYTHON
from harness.trace.events import TARGET_LOST
from harness.verdict import Confirmation, Outcome

GOOD, BAD, CUT = Outcome.CONFORMS, Outcome.DIVERGES, Outcome.INDETERMINATE


def judgement(outcome: Outcome, *, script: str = "clients/one", because: str = "") -> ClientResult:
    remarks = (Remark(step=3, text="ana commits", says="refused"),) if outcome is BAD else ()
    return made_up_clients.judgement(script, PYTHON, outcome, because=because, mismatches=remarks)


class Attempts:
    """Carries nothing out: what further attempts come to is laid down."""

    def __init__(self, *later: Outcome | None) -> None:
        self.later = list(later)
        self.asked: list[tuple[int, list[str]]] = []

    async def again(self, number: int, due: Sequence[ClientResult]) -> Sequence[ClientResult]:
        self.asked.append((number, [each.scenario_id for each in due]))
        outcome = self.later.pop(0)
        return () if outcome is None else [judgement(outcome, script=each.scenario_id) for each in due]


@pytest.mark.parametrize(
    ("first", "later", "outcome", "confirmation", "outcomes"),
    [
        (BAD, [BAD, BAD], BAD, Confirmation.CONFIRMED, [BAD, BAD, BAD]),
        (BAD, [GOOD], BAD, Confirmation.FLAKY, [BAD, GOOD]),
        (BAD, [BAD, GOOD], BAD, Confirmation.CONFIRMED, [BAD, BAD, GOOD]),
        (CUT, [GOOD], CUT, Confirmation.FLAKY, [CUT, GOOD]),
        (CUT, [BAD, BAD], BAD, Confirmation.CONFIRMED, [CUT, BAD, BAD]),
        (CUT, [BAD, GOOD], BAD, Confirmation.FLAKY, [CUT, BAD, GOOD]),
        (BAD, [CUT, CUT], BAD, Confirmation.UNCONFIRMED, [BAD, CUT, CUT]),
        (BAD, [None, None], BAD, Confirmation.UNCONFIRMED, [BAD]),
    ],
)
def test_nobody_is_accused_of_what_does_not_show_again(
    first: Outcome,
    later: list[Outcome | None],
    outcome: Outcome,
    confirmation: Confirmation,
    outcomes: list[Outcome],
) -> None:
    attempts = Attempts(*later)
    (found,) = asyncio.run(confirmed([judgement(first)], attempts.again))

    assert (found.outcome, found.confirmation) == (outcome, confirmation)
    assert [each.outcome for each in found.attempts if each.was_run] == outcomes
    assert attempts.later == []


def test_what_is_as_it_should_be_or_was_lost_is_not_carried_out_again() -> None:
    lost = judgement(CUT, script="clients/lost", because=f"{TARGET_LOST}it ended")
    attempts = Attempts(BAD, BAD)
    found = asyncio.run(
        confirmed([judgement(GOOD), judgement(BAD, script="clients/two"), lost], attempts.again)
    )

    assert attempts.asked == [(2, ["clients/two"]), (3, ["clients/two"])]
    assert [each.confirmation for each in found] == [
        Confirmation.NOT_REPEATED,
        Confirmation.CONFIRMED,
        Confirmation.NOT_REPEATED,
    ]
    assert found[1].attempts[1].reason == "step 3, ana commits: refused"


def test_what_was_foreseen_is_not_carried_out_again() -> None:
    attempts = Attempts(GOOD)
    known, unknown = judgement(BAD, script="clients/known"), judgement(BAD, script="clients/unknown")
    asyncio.run(confirmed([known, unknown], attempts.again, {known.place}))

    assert attempts.asked == [(2, ["clients/unknown"])]

"""Run client scripts with an unexpected result again before the target is blamed.

Real clients race with a broker, with each other and with themselves. A result that occurs again is the
target's doing; one that does not is flaky, and stays visible.
"""

import asyncio
from collections.abc import Awaitable, Callable, Container, Sequence
from typing import Final

from harness.results.client_results import ClientAttempt, ClientResult, ResultPlace
from harness.verdict import Confirmation, Outcome

ATTEMPTS: Final = 3
"""How often a script is run at most, the first time included, to confirm its result."""
THIRD_WITHIN_S: Final = 60.0
"""The longest time since the second attempt's start for a third one; one that waits in vain takes minutes."""

Again = Callable[[int, Sequence[ClientResult]], Awaitable[Sequence[ClientResult]]]
"""Runs scripts again as a numbered attempt, and returns their judgements; none if the target is lost."""


async def confirmed(
    judgements: Sequence[ClientResult], again: Again, foreseen: Container[ResultPlace] = ()
) -> tuple[ClientResult, ...]:
    """Run scripts with unexpected results again; return all judgements, those with their confirmation.

    Args:
        judgements: all judgements of the run.
        again: runs scripts once more.
        foreseen: the places of results that known differences account for.
    """
    attempts: dict[ResultPlace, list[ClientResult]] = {
        each.place: [each] for each in judgements if _is_unexpected(each) and each.place not in foreseen
    }
    began_s = asyncio.get_running_loop().time()
    for number in range(2, ATTEMPTS + 1):
        due = [each[0] for each in attempts.values() if each[-1].outcome is not Outcome.CONFORMS]
        if not due or (number > 2 and asyncio.get_running_loop().time() - began_s > THIRD_WITHIN_S):
            break
        for each in await again(number, due):
            attempts[each.place].append(each)
    return tuple(_weighed(each, attempts.get(each.place, ())) for each in judgements)


def _is_unexpected(judgement: ClientResult) -> bool:
    return judgement.outcome in (Outcome.DIVERGES, Outcome.INDETERMINATE) and not judgement.is_lost


def _weighed(judgement: ClientResult, attempts: Sequence[ClientResult]) -> ClientResult:
    """Return the worst of the attempts, so that a difference is kept even if another attempt broke off."""
    if not attempts:
        return judgement
    ruling = next((each for each in attempts if each.outcome is Outcome.DIVERGES), judgement)
    each_attempt = tuple(
        ClientAttempt(number=number, outcome=each.outcome, says=_says(each))
        for number, each in enumerate(attempts, start=1)
    )
    confirmation = _confirmation(attempts, ruling.outcome)
    return ruling.model_copy(update={"confirmation": confirmation, "attempts": each_attempt})


def _confirmation(attempts: Sequence[ClientResult], outcome: Outcome) -> Confirmation:
    if sum(each.outcome is outcome for each in attempts) > 1:
        return Confirmation.CONFIRMED
    conforms = any(each.outcome is Outcome.CONFORMS for each in attempts)
    return Confirmation.FLAKY if conforms else Confirmation.UNCONFIRMED


def _says(judgement: ClientResult) -> str:
    remarks = judgement.remarks
    return f"{remarks[0].text}: {remarks[0].says}" if remarks else judgement.because

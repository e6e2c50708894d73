"""Client scripts whose result is unexpected, carried out again before anybody is accused.

Real clients race with a broker, with each other and with themselves. What shows again is the target's doing;
what does not is flaky, and stays visible.
"""

import asyncio
from collections.abc import Awaitable, Callable, Container, Sequence
from dataclasses import replace
from typing import Final

from harness.clients.judge import ClientAttempt, ClientJudgement
from harness.trace.events import TARGET_LOST
from harness.verdict import Confirmation, Outcome

ATTEMPTS: Final = 3
"""How often a script is carried out in all, the first time included, before its result is an accusation."""
THIRD_WITHIN_S: Final = 60.0
"""A third attempt begins if the second began no longer ago: one that waits in vain takes minutes."""

Again = Callable[[int, Sequence[ClientJudgement]], Awaitable[Sequence[ClientJudgement]]]
"""Carries out once more what was judged so, as that attempt, and judges it; gives nothing if it is lost."""

ResultPlace = tuple[str, str, str]
"""A target's spec, a script's id, a library."""


async def confirmed(
    judgements: Sequence[ClientJudgement], again: Again, foreseen: Container[ResultPlace] = ()
) -> tuple[ClientJudgement, ...]:
    """Have unexpected results shown again; return all with how often each showed.

    Args:
        judgements: all that was judged.
        again: carries scripts out once more.
        foreseen: which results are as they were to be.
    """
    attempts: dict[ResultPlace, list[ClientJudgement]] = {
        _key(each): [each] for each in judgements if _is_unexpected(each) and _key(each) not in foreseen
    }
    began_s = asyncio.get_running_loop().time()
    for number in range(2, ATTEMPTS + 1):
        due = [each[0] for each in attempts.values() if each[-1].outcome is not Outcome.CONFORMS]
        if not due or (number > 2 and asyncio.get_running_loop().time() - began_s > THIRD_WITHIN_S):
            break
        for each in await again(number, due):
            attempts[_key(each)].append(each)
    return tuple(_weighed(each, attempts.get(_key(each), ())) for each in judgements)


def _is_unexpected(judgement: ClientJudgement) -> bool:
    is_lost = judgement.because.startswith(TARGET_LOST)
    return judgement.outcome in (Outcome.DIVERGES, Outcome.INDETERMINATE) and not is_lost


def _key(judgement: ClientJudgement) -> ResultPlace:
    return judgement.target, judgement.script_id, judgement.library


def _weighed(judgement: ClientJudgement, attempts: Sequence[ClientJudgement]) -> ClientJudgement:
    """Judge by the worst of the attempts: nothing that differed is lost because another attempt broke off."""
    if not attempts:
        return judgement
    ruling = next((each for each in attempts if each.outcome is Outcome.DIVERGES), judgement)
    return replace(
        ruling,
        confirmation=_confirmation(attempts, ruling.outcome),
        attempts=tuple(
            ClientAttempt(number=number, outcome=each.outcome, says=_says(each))
            for number, each in enumerate(attempts, start=1)
        ),
    )


def _confirmation(attempts: Sequence[ClientJudgement], outcome: Outcome) -> Confirmation:
    if sum(each.outcome is outcome for each in attempts) > 1:
        return Confirmation.CONFIRMED
    conforms = any(each.outcome is Outcome.CONFORMS for each in attempts)
    return Confirmation.FLAKY if conforms else Confirmation.UNCONFIRMED


def _says(judgement: ClientJudgement) -> str:
    remarks = sorted((*judgement.mismatches, *judgement.differences), key=lambda each: each.step)
    return f"{remarks[0].text}: {remarks[0].says}" if remarks else judgement.because

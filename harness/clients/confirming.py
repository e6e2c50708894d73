"""Run client scripts with an unexpected result again before the target is blamed.

Real clients race with a broker, with each other and with themselves. A result that occurs again is the
target's doing; one that does not is flaky, and stays visible.
"""

import asyncio
from collections.abc import Awaitable, Callable, Container, Sequence
from dataclasses import replace
from typing import Final

from harness.diff.judge import Judged
from harness.diff.repeats import Repeated, weigh
from harness.results.client_results import ClientResult, ClientResultKey
from harness.verdict import Outcome

ATTEMPTS: Final = 3
"""How often a script is run at most, the first time included, to confirm its result."""
THIRD_WITHIN_S: Final = 60.0
"""The longest time since the second attempt's start for a third one; one that waits in vain takes minutes."""

Again = Callable[[int, Sequence[ClientResult]], Awaitable[Sequence[ClientResult]]]
"""Runs scripts again as a numbered attempt, and returns their judgements; none if the target is lost."""


async def confirmed(
    judgements: Sequence[ClientResult], again: Again, foreseen: Container[ClientResultKey] = ()
) -> tuple[ClientResult, ...]:
    """Run scripts with unexpected results again; return all judgements, those with their confirmation.

    Args:
        judgements: all judgements of the run.
        again: runs scripts once more.
        foreseen: the places of results that known differences account for.
    """
    attempts: dict[ClientResultKey, list[ClientResult]] = {
        each.place: [each] for each in judgements if _is_unexpected(each) and each.place not in foreseen
    }
    began_s = asyncio.get_running_loop().time()
    for number in range(2, ATTEMPTS + 1):
        due = [each[0] for each in attempts.values() if each[-1].outcome != Outcome.CONFORMS]
        if not due or (number > 2 and asyncio.get_running_loop().time() - began_s > THIRD_WITHIN_S):
            break
        for each in await again(number, due):
            attempts[each.place].append(each)
    return tuple(_weighed(each, attempts.get(each.place, ())) for each in judgements)


def _is_unexpected(judgement: ClientResult) -> bool:
    return judgement.outcome in (Outcome.DIVERGES, Outcome.INDETERMINATE) and not judgement.is_lost


def _weighed(judgement: ClientResult, attempts: Sequence[ClientResult]) -> ClientResult:
    """Return the result that all attempts come to."""
    if not attempts:
        return judgement
    missing = "the target was lost" if len(attempts) == 1 else None
    judged = tuple(Judged(judgement=each) for each in attempts)
    ruling, reported = weigh(Repeated(attempts=judged, missing=missing))
    assert isinstance(ruling.judgement, ClientResult), "it is one of the attempts"
    return replace(ruling.judgement, run_id=judgement.run_id, attempts=reported)

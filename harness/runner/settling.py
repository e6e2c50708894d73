"""Giving a broker time to process a request whose answer is not awaited yet."""

from typing import Final

from harness.runner.witness import Witness
from harness.targets.base.interface import BrokerSession

_SETTLED_MS_MAX: Final = 2_000.0
"""The longest that a broker that the machine keeps from running is given to process a request."""
_SETTLED_NEARLY_MS: Final = 10.0
"""Being kept from running for a shorter time makes no difference."""


async def settle(session: BrokerSession, witness: Witness | None) -> None:
    """Give the broker time to process what was sent: `settle_ms` in which the machine lets it run."""
    left_ms = session.settle_ms
    if not left_ms:
        return
    until_ms = session.now_ms() + _SETTLED_MS_MAX
    kept_ms = _broker_kept_ms(witness)
    while left_ms > _SETTLED_NEARLY_MS and session.now_ms() < until_ms:
        await session.elapse(left_ms)
        before_ms, kept_ms = kept_ms, _broker_kept_ms(witness)
        left_ms = min(left_ms, kept_ms - before_ms)


def _broker_kept_ms(witness: Witness | None) -> float:
    return 0.0 if witness is None else witness.watch.broker_kept_ms()

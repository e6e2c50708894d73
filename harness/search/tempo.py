"""How long things may take in a made conversation: virtual time costs nothing, a broker's time does."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Tempo:
    """How long waits and time-outs are; all in milliseconds."""

    configs: Sequence[Mapping[str, str]]
    """Of brokers, each as likely as it is frequent."""
    waits_ms: Sequence[int]
    longest_wait_ms: int
    stays_ms: Sequence[int]
    """How long a request may be seen to stay parked."""
    sessions_ms: Sequence[int]
    rebalances_ms: Sequence[int]
    consumer_rebalances_ms: Sequence[int]
    beside_deadline_ms: Sequence[int]
    """By how much a wait may miss a deadline."""
    margin_ms: int = 0
    """How near a deadline nothing may happen: a broker might be on the other side of it."""
    step_lag_ms: float = 0.0
    """How much longer a step takes than in virtual time."""
    parked_lag_ms: float = 0.0
    """How much longer it takes until a request without an answer has surely arrived."""
    settles_ms: int = 0
    """How long it takes until what a share group begins to read has its state, of which nobody is told."""
    longest_ms: int | None = None
    """After how much time a conversation ends; None if after any."""
    shares_broker: bool = False
    """Whether other conversations go on at the same broker."""


VIRTUAL: Final = Tempo(
    configs=(
        *({},) * 6,
        {"group.max.size": "2"},
        {"group.initial.rebalance.delay.ms": "3000"},
        {"group.streams.num.standby.replicas": "1"},
    ),
    waits_ms=(1, 100, 1_000, 5_000, 20_000, 60_000),
    longest_wait_ms=120_000,
    stays_ms=(10, 100, 1_000),
    sessions_ms=(6_000, 10_000, 30_000, 1_000, 0),
    rebalances_ms=(5_000, 10_000, 60_000, 1),
    consumer_rebalances_ms=(30_000, 5_000),
    beside_deadline_ms=(-1, 0, 0, 1),
)
"""Of a reference, which jumps from deadline to deadline."""
REAL: Final = Tempo(
    configs=(*({},) * 8, {"group.max.size": "2"}, {"group.initial.rebalance.delay.ms": "800"}),
    waits_ms=(1, 10, 100),
    longest_wait_ms=2_500,
    stays_ms=(10, 100),
    sessions_ms=(2_000, 10_000, 30_000, 0),
    rebalances_ms=(1_500, 10_000, 60_000),
    consumer_rebalances_ms=(30_000, 30_000, 1_500),
    beside_deadline_ms=(400,),
    margin_ms=400,
    step_lag_ms=10.0,
    parked_lag_ms=120.0,
    settles_ms=400,
    longest_ms=3_000,
    shares_broker=True,
)
"""Of a broker: a conversation takes some seconds, and stays away from deadlines."""

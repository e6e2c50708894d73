"""The scenarios of a quick run: those that any broker answers at once."""

from typing import Final

from harness.scenario.script import Elapse, Receive, Script, StayParked, Step

WAIT_MS_MAX: Final = 500
"""The longest that a scenario of a quick run waits in total, in milliseconds."""


def is_quick(script: Script) -> bool:
    """Return whether a scenario needs no broker action, no configuration of its own and hardly any time.

    All such scenarios share one broker of a target. None waits for a session or a rebalance to time out.
    """
    return (
        not script.needs
        and not script.broker_config
        and sum(_waits_ms(step) for step in script.steps) <= WAIT_MS_MAX
    )


def _waits_ms(step: Step) -> int:
    """Return the least time that a step takes on a broker that behaves correctly."""
    match step:
        case Elapse(duration_ms=waits_ms) | StayParked(for_ms=waits_ms):
            return waits_ms
        case Receive(not_before_ms=int(waits_ms)):
            return waits_ms
        case _:
            return 0

"""Choose what is done to a broker or its log, and who closes a connection."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Final

from harness.search.actions import ACTIONS, KILLS, LENGTHENS, MOVES, RELOADS
from harness.search.moves import Act, HangUp, Move, Speaker

_ACTS_SHARE: Final = 0.04
_RELOADS_SHARE: Final = 0.3
_HANGS_UP_SHARE: Final = 0.3
_KILLS_MAX: Final = 2
"""From then on, one broker of three is left."""


def acts_next(rng: Random, moves: Sequence[Move]) -> bool:
    """Choose whether something is done next: what was written into a log matters when it is loaded."""
    return bool(moves) and rng.random() < (_RELOADS_SHARE if _has_written(moves) else _ACTS_SHARE)


def next_action(
    rng: Random, moves: Sequence[Move], cast: Sequence[Speaker], config: Mapping[str, str]
) -> Act | HangUp:
    """Choose what is done."""
    # A killed broker stays away while there are others, and nobody moves to the last one.
    killed = sum(isinstance(each, Act) and each.action == KILLS for each in moves)
    left_out = {MOVES} if killed >= _KILLS_MAX else set()
    if _has_written(moves):
        return Act(action=rng.choice([each for each in RELOADS if each not in left_out]))
    if rng.random() < _HANGS_UP_SHARE:
        return HangUp(actor=rng.choice(cast).name)
    # No room is left for a long log where messages have to be short.
    if "message.max.bytes" in config:
        left_out.add(LENGTHENS)
    return Act(action=rng.choice([each for each in ACTIONS if each not in left_out]))


def _has_written(moves: Sequence[Move]) -> bool:
    last = moves[-1]
    return isinstance(last, Act) and last.action not in RELOADS

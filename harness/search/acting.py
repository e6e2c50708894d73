"""Choose what is done to a broker or its log, and who closes a connection."""

from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Final

from harness.search.actions import ACTIONS, KILLS, LENGTHENS, LOADS_WITH_OTHERS, MOVES, RELOADS, RESTARTS
from harness.search.moves import OTHER_GROUP, Act, Ask, HangUp, Move, Speaker

_ACTS_SHARE: Final = 0.04
_RELOADS_SHARE: Final = 0.3
_HANGS_UP_SHARE: Final = 0.3
_FETCHES_ONE_GROUP: Final = 5
"""A version of OffsetFetch with an error code for the whole answer, which all releases serve."""
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


def restart_of_all(rng: Random, name: str, *, appends: bool) -> Iterator[Move]:
    """Yield a restart for all conversations on a broker, and what waits until their groups are loaded.

    Args:
        rng: makes the random choices.
        name: the actor who waits.
        appends: whether each conversation appends a record to the log before.
    """
    if appends:
        yield Act(action=rng.choice(LOADS_WITH_OTHERS))
    yield Act(action=RESTARTS)
    for other in ({}, {"group_id": OTHER_GROUP}):
        arguments = {"version": _FETCHES_ONE_GROUP, **other}
        yield Ask(actor=name, api="OffsetFetch", arguments=arguments, is_repeated=True)


def _has_written(moves: Sequence[Move]) -> bool:
    last = moves[-1]
    return isinstance(last, Act) and last.action not in RELOADS

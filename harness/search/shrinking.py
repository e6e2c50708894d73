"""Shrink a conversation that two references answer differently, until no move can be left out.

A request and its immediate answer are one move, so both are left out together.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final, TypeVar

from harness.scenario.messages import OWN, Own
from harness.scenario.values import Plus, Ref
from harness.search.by_field import AS_FIELDS, takes_own
from harness.search.moves import Act, Ask, Hear, Move, Stay, Wait, joined

T = TypeVar("T")
_SHORT_WAITS_MS: Final = (1, 10, 100, 1_000, 5_000, 10_000, 30_000, 60_000)
_NUMBERS: Final = ("generation_id", "member_epoch", "producer_id", "producer_epoch")
_NOBODYS: Final = 99
_STAY_MS: Final = 400
"""How long a request stays parked in a shrunk script: long enough for a broker that answers it at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A conversation that may still show the difference."""

    moves: tuple[Move, ...]
    broker_config: Mapping[str, str]


FirstOf = Callable[[Sequence[T]], Awaitable[int | None]]
"""Returns the index of the first candidate that shows the same difference; may try several at once."""


def one_by_one(still: Callable[[T], Awaitable[bool]]) -> FirstOf[T]:
    """Return a function that tries candidates in turn: in virtual time, trying several at once is no gain."""

    async def first_of(candidates: Sequence[T]) -> int | None:
        for index, each in enumerate(candidates):
            if await still(each):
                return index
        return None

    return first_of


async def minimal(items: Sequence[T], first_of: FirstOf[Sequence[T]]) -> tuple[T, ...]:
    """Leave out items, first many at a time and then singly, until none can go (delta debugging)."""
    kept = tuple(items)
    size = max(1, len(kept) // 2)
    while True:
        before, start = len(kept), 0
        while starts := range(start, len(kept), size):
            found = await first_of([kept[:each] + kept[each + size :] for each in starts])
            if found is None:
                break
            start = starts[found]
            kept = kept[:start] + kept[start + size :]
        if size == 1 and len(kept) == before:
            return kept
        if size > 1:
            size //= 2


async def shrunk(candidate: Candidate, first_of: FirstOf[Candidate]) -> Candidate:
    """Return a candidate that shows the same difference and from which no move can be left out."""

    async def first_without(candidates: Sequence[Sequence[Move]]) -> int | None:
        return await first_of([replace(kept, moves=tuple(each)) for each in candidates])

    kept = candidate
    while True:
        before = kept
        kept = await _improved(kept, _without_actor, first_of)
        kept = replace(kept, moves=await minimal(kept.moves, first_without))
        for ways in (_together, _waits_together, _simplified, _unlearnt):
            kept = await _improved(kept, ways, first_of)
        if kept == before:
            return kept


async def _improved(
    kept: Candidate, ways: Callable[[Candidate], Iterator[Candidate]], first_of: FirstOf[Candidate]
) -> Candidate:
    """Take the first variation that still shows the difference, again and again until none does."""
    while candidates := list(ways(kept)):
        found = await first_of(candidates)
        if found is None:
            break
        kept = candidates[found]
    return kept


def _without_actor(kept: Candidate) -> Iterator[Candidate]:
    for name in sorted({each.actor for each in kept.moves if not isinstance(each, Wait | Act)}):
        fewer = [each for each in kept.moves if isinstance(each, Wait | Act) or each.actor != name]
        yield replace(kept, moves=tuple(fewer))


def _together(kept: Candidate) -> Iterator[Candidate]:
    together = tuple(joined(kept.moves))
    if together != kept.moves:
        yield replace(kept, moves=together)


def _waits_together(kept: Candidate) -> Iterator[Candidate]:
    """Yield candidates in which two waits in a row are one, preferably with a round duration."""
    for index, (one, other) in enumerate(pairwise(kept.moves)):
        if isinstance(one, Wait | Stay) and isinstance(other, Wait):
            waited = other.duration_ms + (one.for_ms if isinstance(one, Stay) else one.duration_ms)
            for length in (*(each for each in _SHORT_WAITS_MS if each >= waited), waited):
                moves = (*kept.moves[:index], Wait(duration_ms=length), *kept.moves[index + 2 :])
                yield replace(kept, moves=moves)


def _simplified(kept: Candidate) -> Iterator[Candidate]:
    """Yield candidates in which one move, or the broker configuration, is simpler in one respect."""
    if kept.broker_config:
        yield replace(kept, broker_config={})
    for index, move in enumerate(kept.moves):
        for plainer in _plainer(move):
            yield replace(kept, moves=(*kept.moves[:index], plainer, *kept.moves[index + 1 :]))


def _unlearnt(kept: Candidate) -> Iterator[Candidate]:
    """Yield candidates in which a request has a number that nobody learns, and an earlier move is gone.

    A wrong generation need not be a past one.
    """
    for index, move in enumerate(kept.moves):
        for name in _learnt_numbers(move) if isinstance(move, Ask) else ():
            assert isinstance(move, Ask), "nobody else has numbers"
            unlearnt = replace(move, arguments={**move.arguments, name: _NOBODYS})
            for gone in range(index):
                before = (*kept.moves[:gone], *kept.moves[gone + 1 : index])
                yield replace(kept, moves=(*before, unlearnt, *kept.moves[index + 1 :]))


def _learnt_numbers(move: Ask) -> Iterator[str]:
    """Yield the arguments of a request that are numbers which its actor has learnt."""
    for name in _NUMBERS:
        value = move.arguments.get(name, OWN if takes_own(move.api, name) else None)
        if isinstance(value, Own | Ref | Plus):
            yield name


def _plainer(move: Move) -> Iterator[Move]:
    match move:
        case Wait(duration_ms=waited):
            yield from (Wait(duration_ms=each) for each in _SHORT_WAITS_MS if each < waited)
        case Stay() if move.for_ms != _STAY_MS:
            yield replace(move, for_ms=_STAY_MS)
        case Ask():
            yield from _plainer_arguments(move)
        case _:
            pass
    if isinstance(move, Ask | Hear) and move.is_aside:
        yield replace(move, is_aside=False)


def _plainer_arguments(move: Ask) -> Iterator[Ask]:
    """Yield the request without one argument, or without one item of an argument with several."""
    for name in [each for each in move.arguments if each != AS_FIELDS]:
        rest = {other: value for other, value in move.arguments.items() if other != name}
        yield replace(move, arguments=rest)
    for name, value in move.arguments.items():
        for index in range(len(value) if isinstance(value, tuple) and len(value) > 1 else 0):
            assert isinstance(value, tuple)
            fewer = value[:index] + value[index + 1 :]
            yield replace(move, arguments={**move.arguments, name: fewer})

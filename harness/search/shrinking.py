"""Shrinks a conversation that two references answer differently, until no move of it can go.

A request and its answer that comes at once are one move, so both go together.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from harness.search.moves import Ask, Hear, Move, Stay, Wait, joined

T = TypeVar("T")
_SHORT_WAITS_MS: Final = (1, 10, 100, 1_000, 5_000, 10_000, 30_000, 60_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """What may still show the difference."""

    moves: tuple[Move, ...]
    broker_config: Mapping[str, str]


StillDiffers = Callable[[Candidate], Awaitable[bool]]
"""Tells whether a candidate shows the same difference."""


async def minimal(items: Sequence[T], still: Callable[[Sequence[T]], Awaitable[bool]]) -> tuple[T, ...]:
    """Leave out items, many at a time and then each, until none can go (delta debugging)."""
    kept = tuple(items)
    size = max(1, len(kept) // 2)
    while True:
        before = len(kept)
        start = 0
        while start < len(kept):
            fewer = kept[:start] + kept[start + size :]
            if await still(fewer):
                kept = fewer
            else:
                start += size
        if size == 1 and len(kept) == before:
            return kept
        if size > 1:
            size //= 2


async def shrunk(candidate: Candidate, still: StillDiffers) -> Candidate:
    """Return a candidate that shows the same difference, of which no move can go."""

    async def still_without(moves: Sequence[Move]) -> bool:
        return await still(replace(kept, moves=tuple(moves)))

    kept = candidate
    while True:
        before = kept
        for name in sorted({each.actor for each in kept.moves if not isinstance(each, Wait)}):
            fewer = [each for each in kept.moves if isinstance(each, Wait) or each.actor != name]
            if await still_without(fewer):
                kept = replace(kept, moves=tuple(fewer))
        kept = replace(kept, moves=await minimal(kept.moves, still_without))
        together = replace(kept, moves=tuple(joined(kept.moves)))
        kept = together if together != kept and await still(together) else kept
        kept = await _simplified(await _waits_together(kept, still), still)
        if kept == before:
            return kept


async def _waits_together(kept: Candidate, still: StillDiffers) -> Candidate:
    """Let time pass once where it passes twice in a row, for a round while if that does."""
    index = 0
    while index + 1 < len(kept.moves):
        one, other = kept.moves[index : index + 2]
        if isinstance(one, Wait | Stay) and isinstance(other, Wait):
            waited = other.duration_ms + (one.for_ms if isinstance(one, Stay) else one.duration_ms)
            for length in (*(each for each in _SHORT_WAITS_MS if each >= waited), waited):
                moves = (*kept.moves[:index], Wait(duration_ms=length), *kept.moves[index + 2 :])
                if await still(replace(kept, moves=moves)):
                    kept = replace(kept, moves=moves)
                    break
            else:
                index += 1
        else:
            index += 1
    return kept


async def _simplified(kept: Candidate, still: StillDiffers) -> Candidate:
    """Make each move plainer, one thing at a time."""
    if kept.broker_config:
        usual = replace(kept, broker_config={})
        kept = usual if await still(usual) else kept
    for index in range(len(kept.moves)):
        is_plainer = True
        while is_plainer:
            is_plainer = False
            for plainer in _plainer(kept.moves[index]):
                moves = (*kept.moves[:index], plainer, *kept.moves[index + 1 :])
                if await still(replace(kept, moves=moves)):
                    kept, is_plainer = replace(kept, moves=moves), True
                    break
    return kept


def _plainer(move: Move) -> Iterator[Move]:
    match move:
        case Wait(duration_ms=waited):
            yield from (Wait(duration_ms=each) for each in _SHORT_WAITS_MS if each < waited)
        case Stay(for_ms=waited):
            yield from (replace(move, for_ms=each) for each in _SHORT_WAITS_MS if each < waited)
        case Ask():
            yield from _plainer_arguments(move)
            if move.is_aside:
                yield replace(move, is_aside=False)
        case Hear():
            if move.is_aside:
                yield replace(move, is_aside=False)


def _plainer_arguments(move: Ask) -> Iterator[Ask]:
    """Leave out arguments, and items of those that are several."""
    for name in move.arguments:
        rest = {other: value for other, value in move.arguments.items() if other != name}
        yield replace(move, arguments=rest)
    for name, value in move.arguments.items():
        for index in range(len(value) if isinstance(value, tuple) and len(value) > 1 else 0):
            assert isinstance(value, tuple)
            fewer = value[:index] + value[index + 1 :]
            yield replace(move, arguments={**move.arguments, name: fewer})

"""Conversations that reached something new: kept in a folder, replayed first, and gone on with."""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from random import Random
from typing import Final

from harness.scenario.errors import ScenarioError
from harness.scenario.values import from_json, to_json
from harness.search.coverage import Pair
from harness.search.moves import Act, Ask, Hear, Move, Stay, Wait
from harness.trace.schema import json_object

_KINDS: Final = {each.__name__: each for each in (Ask, Hear, Stay, Wait, Act)}
_SHARE: Final = 0.3
"""How many conversations go on with one of the corpus."""
_FAVOUR: Final = 30
"""How much more often, beside once, something is asked that never was in a state."""
_NAME_CHARACTERS: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """The beginning of a conversation, up to what it reached."""

    moves: tuple[Move, ...]
    broker_config: Mapping[str, str]


class Corpus:
    """What to go on with, and what was reached how often.

    Attributes:
        reached: how many conversations reached each pair.
    """

    def __init__(self, folder: Path | None = None) -> None:
        """Begin with what a folder has.

        Args:
            folder: where to keep what is new; it is made when there is something; nowhere if None.

        Raises:
            ScenarioError: a file in it is none of a corpus.
        """
        self.reached = Counter[Pair]()
        self._asked_in = Counter[str]()
        self._asked = Counter[tuple[str, str]]()
        self._first: dict[Pair, Kept] = {}
        self._others: list[Kept] = []
        self._folder = folder
        self._left = [] if folder is None or not folder.exists() else list(_read_all(folder))

    def next(self, chance: Random, broker_config: Mapping[str, str] | None = None) -> Kept | None:
        """Return what the next conversation begins with: what the folder had first; None for nothing.

        Args:
            chance: decides.
            broker_config: that it has to have, if it may not be any.
        """
        if (left := next(filter(_fits(broker_config), self._left), None)) is not None:
            self._left.remove(left)
            return left
        if chance.random() >= _SHARE:
            return None
        first = {pair: kept for pair, kept in self._first.items() if _fits(broker_config)(kept)}
        others = list(filter(_fits(broker_config), self._others))
        if others and chance.random() < _SHARE / 2:
            return _mutated(chance.choice(others), chance)
        if not first:
            return None
        # A state in which little was asked is where something new may be; a long way there costs steps.
        weights = [1 / self._asked_in[pair.state] / len(kept.moves) for pair, kept in first.items()]
        return _mutated(chance.choices(list(first.values()), weights)[0], chance)

    def add(
        self,
        pairs: Mapping[Pair, int],
        moves: Sequence[Move],
        broker_config: Mapping[str, str],
        *,
        has_new_branch: bool = False,
    ) -> Collection[Pair]:
        """Take note of a conversation; return what it was the first to reach.

        Args:
            pairs: what it reached, with how many moves it had by then.
            moves: all of it.
            broker_config: the broker's.
            has_new_branch: whether the reference went where it never was before.
        """
        new = [each for each in pairs if each not in self.reached]
        self.reached.update(pairs.keys())
        self._asked_in.update(each.state for each in pairs)
        self._asked.update((each.state, each.api) for each in pairs)
        for each in new:
            self._first[each] = Kept(moves=tuple(moves[: pairs[each]]), broker_config=broker_config)
        if new:
            longest = max((self._first[each] for each in new), key=lambda kept: len(kept.moves))
            self._write(longest)
        elif has_new_branch:
            kept = Kept(moves=tuple(moves), broker_config=broker_config)
            self._others.append(kept)
            self._write(kept)
        return new

    def favour(self, state: str, api: str) -> float:
        """Return how much more often something is asked in a state in which it was hardly asked."""
        return 1 + _FAVOUR / (1 + self._asked[state, api])

    def _write(self, kept: Kept) -> None:
        if self._folder is None:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(kept_to_json(kept), indent=1)
        name = hashlib.sha256(text.encode()).hexdigest()[:_NAME_CHARACTERS]
        (self._folder / f"{name}.json").write_text(text + "\n", encoding="utf-8")


def _fits(broker_config: Mapping[str, str] | None) -> Callable[[Kept], bool]:
    return lambda kept: broker_config is None or kept.broker_config == broker_config


def _mutated(kept: Kept, chance: Random) -> Kept:
    """Leave a move out, for so many of all times."""
    if len(kept.moves) <= 1 or chance.random() >= _SHARE:
        return kept
    index = chance.randrange(len(kept.moves))
    return replace(kept, moves=(*kept.moves[:index], *kept.moves[index + 1 :]))


def _read_all(folder: Path) -> Iterator[Kept]:
    for path in sorted(folder.glob("*.json")):
        try:
            yield kept_from_json(json_object(path.read_text(encoding="utf-8"), where=f"{path}"))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise ScenarioError(f"{path} is no conversation of a corpus: {error}") from error


def kept_to_json(kept: Kept) -> dict[str, object]:
    """Write a beginning as JSON data."""
    moves = [
        {
            "move": type(move).__name__,
            **{entry.name: _value_to_json(getattr(move, entry.name)) for entry in fields(move)},
        }
        for move in kept.moves
    ]
    return {"broker_config": dict(kept.broker_config), "moves": moves}


def kept_from_json(data: Mapping[str, object]) -> Kept:
    """Read what `kept_to_json` wrote."""
    moves, config = data["moves"], data["broker_config"]
    assert isinstance(moves, list)
    assert isinstance(config, Mapping)
    return Kept(moves=tuple(map(_move_from_json, moves)), broker_config=dict(config))


def _move_from_json(data: Mapping[str, object]) -> Move:
    content = {name: _value_from_json(value) for name, value in data.items() if name != "move"}
    made: Move = _KINDS[str(data["move"])](**content)  # type: ignore[arg-type] # as written
    return made


def _value_to_json(value: object) -> object:
    """Write a value; mappings may have numbers and references for keys."""
    if isinstance(value, Mapping):
        return {"entries": [[_value_to_json(key), _value_to_json(item)] for key, item in value.items()]}
    if isinstance(value, tuple | list):
        return [_value_to_json(item) for item in value]
    return to_json(value)  # type: ignore[arg-type] # arguments of builders are values


def _value_from_json(data: object) -> object:
    if isinstance(data, list):
        return tuple(_value_from_json(item) for item in data)
    if isinstance(data, Mapping) and "entries" in data:
        return {_value_from_json(key): _value_from_json(item) for key, item in data["entries"]}
    return from_json(data)  # type: ignore[arg-type] # as written

"""Conversations that reached something new: they are kept in a folder, replayed first, and continued."""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from random import Random
from typing import Final

from harness.scenario.errors import ScenarioError
from harness.scenario.messages import OWN, Own
from harness.scenario.values import from_json, to_json
from harness.search.coverage import Pair
from harness.search.moves import Act, Ask, HangUp, Hear, Move, Stay, Wait
from harness.trace.plain_files import read_plain
from harness.trace.schema import json_object

_KINDS: Final = {each.__name__: each for each in (Ask, Hear, Stay, Wait, Act, HangUp)}
_SHARE: Final = 0.3
"""The share of conversations that continue one of the corpus."""
_FAVOUR: Final = 30
"""The extra weight of a request that was never sent in a state; it falls with each time it is sent there."""
_NAME_CHARACTERS: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """The beginning of a conversation, up to the new thing that it reached."""

    moves: tuple[Move, ...]
    broker_config: Mapping[str, str]


class Corpus:
    """The conversations to continue, and how often each pair was reached.

    Attributes:
        reached: how many conversations reached each pair.
    """

    def __init__(self, folder: Path | None = None) -> None:
        """Begin with the conversations in a folder.

        Args:
            folder: where to keep new conversations; created for the first one; if None, nothing is kept.

        Raises:
            ScenarioError: a file in it is not a conversation of a corpus.
        """
        self.reached = Counter[Pair]()
        self._asked_in = Counter[str]()
        self._asked = Counter[tuple[str, str]]()
        self._first: dict[Pair, Kept] = {}
        self._others: list[Kept] = []
        self._folder = folder
        self._left = [] if folder is None or not folder.exists() else list(_read_all(folder))

    def next(self, chance: Random, broker_config: Mapping[str, str] | None = None) -> Kept | None:
        """Return the beginning of the next conversation, those in the folder first; None to begin anew.

        Args:
            chance: makes the random choices.
            broker_config: the configuration that it must have; None for any.
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
        # States with few requests so far may show something new; a long way to them costs steps.
        weights = [1 / self._asked_in[pair.state] / len(kept.moves) for pair, kept in first.items()]
        return _mutated(chance.choices(list(first.values()), weights)[0], chance)

    def add(
        self,
        pairs: Mapping[Pair, int],
        moves: Sequence[Move],
        broker_config: Mapping[str, str],
        *,
        is_new: bool = False,
    ) -> Collection[Pair]:
        """Count a conversation; return the pairs that it was the first to reach.

        Args:
            pairs: the pairs that it reached, with the number of its moves by then.
            moves: all moves of the conversation.
            broker_config: the configuration of its broker.
            is_new: whether it took a branch of the reference, or showed a crossing, for the first time.
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
        elif is_new:
            kept = Kept(moves=tuple(moves), broker_config=broker_config)
            self._others.append(kept)
            self._write(kept)
        return new

    def favour(self, state: str, api: str) -> float:
        """Return the weight of a request in a state; it is higher the less often it was sent there."""
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
    """Leave out one random move with probability `_SHARE`."""
    if len(kept.moves) <= 1 or chance.random() >= _SHARE:
        return kept
    index = chance.randrange(len(kept.moves))
    return replace(kept, moves=(*kept.moves[:index], *kept.moves[index + 1 :]))


def _read_all(folder: Path) -> Iterator[Kept]:
    for path in sorted(folder.glob("*.json")):
        try:
            yield kept_from_json(json_object(read_plain(path), where=f"{path}"))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise ScenarioError(f"{path} is no conversation of a corpus: {error}") from error


def kept_to_json(kept: Kept) -> dict[str, object]:
    """Return a kept beginning as JSON data."""
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
    """Return a value as JSON data; keys of mappings may be numbers and references."""
    if isinstance(value, Own):
        return {"own": True}
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
    if isinstance(data, Mapping) and "own" in data:
        return OWN
    return from_json(data)  # type: ignore[arg-type] # as written

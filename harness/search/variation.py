"""Vary one value anywhere in a request."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Final, TypeAlias

from harness.scenario.ask import UNKNOWN_TOPIC_ID
from harness.scenario.values import GroupRef, Ref, TopicId
from harness.search.by_field import AS_FIELDS, request_of

_Place: TypeAlias = tuple[str | int, ...]
_NUMBERS: Final = (-1, 0, 1, 2, 99)
_SHORT_MS: Final = 1_000


def varied(value: object, chance: Random, groups: Sequence[object]) -> object:
    """Return a request's value with another value at one random place in it.

    Args:
        value: the value.
        chance: makes the random choices.
        groups: what may be named instead of a group.
    """
    places = list(_places(value))
    return _replaced(value, chance.choice(places), chance, groups) if places else value


def varied_request(
    api: str, arguments: Mapping[str, object], chance: Random, groups: Sequence[object]
) -> dict[str, object]:
    """Return the arguments of a request with another value in one of its fields; see `varied`."""
    request = request_of(api, arguments)
    fields = varied(dict(request.fields), chance, groups)
    assert isinstance(fields, dict), "a request stays one"
    return {**fields, "version": request.version, AS_FIELDS: True}


def is_fit_for_brokers(arguments: Mapping[str, object]) -> bool:
    """Return whether a broker answers a request, and what follows, in a way that the reference foresees.

    Not all that follows a protocol that is named twice is modelled. A short rebalance time-out may end before
    or after what the broker does beside it.
    """
    protocols, timeout_ms = arguments.get("protocols"), arguments.get("rebalance_timeout_ms")
    if isinstance(timeout_ms, int) and 0 <= timeout_ms < _SHORT_MS:
        return False
    if not isinstance(protocols, tuple):
        return True
    names = [str(each.get("name")) for each in protocols if isinstance(each, Mapping)]
    return len(names) == len({*names})


def _places(value: object, above: _Place = ()) -> list[_Place]:
    """Return the places of all values that can be varied, the lists among them."""
    found: list[_Place] = []
    if isinstance(value, Mapping):
        for name, item in value.items():
            found += _places(item, (*above, name))
        return found
    if isinstance(value, tuple):
        for index, item in enumerate(value):
            found += _places(item, (*above, index))
    return [*found, above] if isinstance(value, int | str | tuple | GroupRef | Ref | TopicId) else found


def _replaced(value: object, place: _Place, chance: Random, groups: Sequence[object]) -> object:
    if not place:
        return _other(value, chance, groups)
    first, rest = place[0], place[1:]
    if isinstance(value, Mapping):
        return {
            name: _replaced(item, rest, chance, groups) if name == first else item
            for name, item in value.items()
        }
    assert isinstance(value, tuple), "a place leads into a structure or a list"
    return tuple(
        _replaced(item, rest, chance, groups) if index == first else item for index, item in enumerate(value)
    )


def _other(value: object, chance: Random, groups: Sequence[object]) -> object:
    match value:
        case bool():
            return not value
        case int():
            return chance.choice((value - 1, value + 1, *_NUMBERS))
        case str() if value.isdecimal():
            return str(int(value) + chance.choice((-1, 1)))
        case str():
            return chance.choice(("", "nowhere", f"{value}-2", value[:-1]))
        case tuple():
            return chance.choice(((), value[1:], (*value, *value[-1:])))
        case GroupRef():
            return chance.choice(groups)
        case Ref():
            return chance.choice((value - 1, value + 1))
        case _:
            return UNKNOWN_TOPIC_ID

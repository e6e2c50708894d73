"""Facts that clients observed, in words."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

_IN_TIME: Final = "in time"


def fact_texts(facts: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    """Return facts in words, by name, without those that only say that nothing is wrong."""
    return tuple(_reported(facts))


def _reported(facts: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    for name, fact in facts.items():
        if name == _IN_TIME:
            if fact is not True:
                yield name, "no"
        elif fact not in ([], {}):
            yield name, phrase(fact)


def phrase(fact: object) -> str:
    """Return a fact in one line: `ana: assigned orders-0, orders-1; bob: nothing`.

    A topic with a number is a partition, and what follows is about it: `["orders", 0, 5]` is `orders-0 5`.
    """
    match fact:
        case Mapping():
            return "; ".join(f"{name}: {_nothing(phrase(each))}" for name, each in fact.items())
        case None:
            return "nothing"
        case str():
            return fact
        case [str() as topic, int() as number, *rest] if not isinstance(number, bool):
            return " ".join((f"{topic}-{number}", *(phrase(each) for each in rest)))
        case Sequence():
            return ", ".join(_item(each) for each in fact)
        case _:
            return str(fact)


def _item(fact: object) -> str:
    """Return an item of a list in words: partitions, and callbacks with partitions, have no brackets."""
    match fact:
        case [str(), int(), *_]:
            return phrase(fact)
        case [str() as kind, [*partitions]]:
            return f"{kind} {_nothing(phrase(partitions))}"
        case [*_]:
            return f"({phrase(fact)})"
        case _:
            return phrase(fact)


def _nothing(text: str) -> str:
    return text or "nothing"

"""Requests and expected responses before an actor speaks them, and the word for "the actor's own"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from harness.scenario.values import (
    AnswerRef,
    Containing,
    GroupRef,
    InAnyOrder,
    NonEmpty,
    OneOf,
    Pattern,
    Plus,
    Ref,
    StartingWith,
    Value,
)


class Own:
    """Stands for what the speaking actor has: its group, id, generation or instance id."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "OWN"


OWN: Final = Own()


class Unpinned:
    """Stands for a field of which the script expects nothing; the reference still does."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "ANY"


ANY: Final = Unpinned()

Text: TypeAlias = str | Ref | AnswerRef
Number: TypeAlias = int | Ref | AnswerRef | Plus
Group: TypeAlias = str | GroupRef

PinText: TypeAlias = str | Ref | AnswerRef | GroupRef | OneOf | StartingWith | NonEmpty | Unpinned | None
PinNumber: TypeAlias = int | Ref | AnswerRef | Plus | OneOf | Unpinned
PinFlag: TypeAlias = bool | Unpinned
PinBytes: TypeAlias = bytes | OneOf | NonEmpty | Unpinned
PinItems: TypeAlias = (
    tuple[Mapping[str, Pattern], ...] | InAnyOrder | Containing | OneOf | NonEmpty | Unpinned
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request that an actor may send."""

    api: str
    version: int
    fields: Mapping[str, Value | Own]
    """A field that is `OWN` is filled by the actor; one that the version lacks is then left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """What is expected of a response; the version is that of the request it answers."""

    api: str
    fields: Mapping[str, Pattern]


def pinned(api: str, **fields: Pattern | Unpinned) -> Response:
    """Make an expected response of the fields that are pinned."""
    return Response(
        api=api, fields={name: value for name, value in fields.items() if not isinstance(value, Unpinned)}
    )

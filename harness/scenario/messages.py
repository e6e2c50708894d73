"""Requests and expected responses before an actor uses them, and the marker for the actor's own values."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from typing import Final, ParamSpec, TypeAlias

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
from harness.wire.schema import request_shape

P = ParamSpec("P")


class Own:
    """The marker for a value of the sending actor: its group, id, generation or instance id."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "OWN"

    def __reduce__(self) -> str:
        # In another process the marker is that of this module.
        return "OWN"


OWN: Final = Own()


class Unpinned:
    """The marker for a field that the script leaves open.

    In a response, it is still compared with the reference's; in a request, it has Kafka's default.
    """

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


RequestValue: TypeAlias = "Value | Own | Unpinned | Sequence[RequestValue] | Mapping[str, RequestValue]"
RequestFields: TypeAlias = Mapping[str, RequestValue]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request that an actor may send."""

    api: str
    version: int
    fields: RequestFields
    """A field that is `OWN` is filled in by the actor, or left out if the version lacks it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """An expected response; its version is that of the request that it answers."""

    api: str
    fields: Mapping[str, Pattern]


def pinned(api: str, **fields: Pattern | Unpinned) -> Response:
    """Return an expected response with the fields that are pinned."""
    return Response(
        api=api, fields={name: value for name, value in fields.items() if not isinstance(value, Unpinned)}
    )


def builds_request(api: str) -> Callable[[Callable[P, RequestFields | None]], Callable[P, Request]]:
    """Turn a function whose parameters are a version and the API's fields into a builder of requests.

    The fields that the function returns replace parameters that have another form. Fields are in the order
    of Kafka's schema. A field that the caller did not name is left out of versions that lack it.
    """

    def made(state: Callable[P, RequestFields | None]) -> Callable[P, Request]:
        signature = inspect.signature(state)
        defaults = {
            name: each.default
            for name, each in signature.parameters.items()
            if each.default is not inspect.Parameter.empty
        }

        @wraps(state)
        def build(*args: P.args, **kwargs: P.kwargs) -> Request:
            is_by_name = not args and kwargs.keys() <= defaults.keys() == signature.parameters.keys()
            named = kwargs if is_by_name else signature.bind(*args, **kwargs).arguments
            # Their order does not matter: fields are put into the order of the schema below.
            arguments = {**defaults, **named}
            version: int = arguments.pop("version")
            stated: RequestFields = {**arguments, **(state(*args, **kwargs) or {})}
            known = request_shape(api, version).fields
            left = {name: item for name, item in stated.items() if not isinstance(item, Unpinned)}
            names = [*known, *sorted(named.keys() - known.keys())]
            return Request(
                api=api, version=version, fields={name: left[name] for name in names if name in left}
            )

        return build

    return made


def builds_response(api: str, *, entry: str = "") -> Callable[[Callable[P, None]], Callable[P, Response]]:
    """Turn a function whose parameters are the API's fields into a builder of expected responses.

    Args:
        api: the API's name.
        entry: the collection whose only entry has the fields; empty if the response itself has them.
    """

    def made(state: Callable[P, None]) -> Callable[P, Response]:
        signature = inspect.signature(state)

        @wraps(state)
        def build(*args: P.args, **kwargs: P.kwargs) -> Response:
            response = pinned(api, **signature.bind(*args, **kwargs).arguments)
            return replace(response, fields={entry: (response.fields,)}) if entry else response

        return build

    return made

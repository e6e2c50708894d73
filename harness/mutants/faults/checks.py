"""Faults in which checks are missing, or in another order."""

import ast
import re
from collections.abc import Iterator
from typing import Final

from harness.mutants.faults.places import (
    Fault,
    NodeLocation,
    body_lines,
    called_name,
    places,
    states_invariant,
)
from harness.mutants.model import Edit, Kind

_CHECKING_CALL: Final = re.compile(r"_?(throw_if|validate|check)_\w+")


def check_faults(function: ast.FunctionDef) -> Iterator[Fault]:
    """Drop each check of a function, and swap each two consecutive ones.

    A check is an `if` that ends in `raise`, `return` or `continue`, or that contains an error code; a branch
    of a `match` that raises or contains one; or a call of a function named `validate_…`, `check_…` or
    `throw_if_…`.
    """
    for place in places(function):
        match place.node:
            case ast.If() as check if _is_check(check.body):
                yield _fault("check-dropped", _without(place, check), check, body_lines(check.body))
                yield from _swapped_with_next(place, check)
            case ast.match_case(body=[first, *_]) as arm if _refuses(arm.body):
                nodes = (_nothing(first),)
                edit = Edit(parent=arm, attribute="body", start=0, stop=len(arm.body), nodes=nodes)
                yield _fault("check-dropped", edit, first, body_lines(arm.body))
            case ast.Expr(value=value) as call if _CHECKING_CALL.fullmatch(called_name(value) or ""):
                yield _fault("check-dropped", place.becomes(_nothing(call)), call, body_lines([call]))
                yield from _swapped_with_following(place)
            case _:
                pass


def _is_check(body: list[ast.stmt]) -> bool:
    ends = isinstance(body[-1], ast.Return | ast.Continue) and not any(map(states_invariant, body))
    return ends or _refuses(body)


def _refuses(body: list[ast.stmt]) -> bool:
    if any(states_invariant(statement) for statement in body):
        return False
    return isinstance(body[-1], ast.Raise) or any(
        isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "Errors"
        for statement in body
        for node in ast.walk(statement)
    )


def _is_step(statement: ast.stmt) -> bool:
    match statement:
        case ast.If(orelse=[]):
            return _is_check(statement.body)
        case ast.Expr(value=value):
            return _CHECKING_CALL.fullmatch(called_name(value) or "") is not None
        case _:
            return False


def _without(place: NodeLocation, check: ast.If) -> Edit:
    assert place.at is not None
    rest = tuple(check.orelse) or (_nothing(check),)
    return Edit(parent=place.parent, attribute=place.attribute, start=place.at, stop=place.at + 1, nodes=rest)


def _swapped_with_next(place: NodeLocation, check: ast.If) -> Iterator[Fault]:
    match check.orelse:
        case [ast.If() as other] if _is_check(other.body) and not _same(check.body, other.body):
            inner = ast.copy_location(ast.If(test=check.test, body=check.body, orelse=other.orelse), check)
            outer = ast.copy_location(ast.If(test=other.test, body=other.body, orelse=[inner]), other)
            yield _fault("checks-swapped", place.becomes(outer), check, body_lines(check.body))
        case []:
            yield from _swapped_with_following(place)
        case _:
            pass


def _swapped_with_following(place: NodeLocation) -> Iterator[Fault]:
    assert place.at is not None
    block: list[ast.stmt] = getattr(place.parent, place.attribute)
    if place.at + 1 == len(block) or not _is_step(block[place.at + 1]):
        return
    first, second = block[place.at], block[place.at + 1]
    if isinstance(first, ast.If) and isinstance(second, ast.If) and _same(first.body, second.body):
        return
    edit = Edit(
        parent=place.parent,
        attribute=place.attribute,
        start=place.at,
        stop=place.at + 2,
        nodes=(second, first),
    )
    # Tests have no effects, so the order of two of them matters only if the first one is true.
    lines = first.body if isinstance(first, ast.If) else [first]
    yield _fault("checks-swapped", edit, first, body_lines(lines))


def _same(one: list[ast.stmt], other: list[ast.stmt]) -> bool:
    """Return whether two checks have the same body, so that their order does not matter."""
    return [ast.dump(each) for each in one] == [ast.dump(each) for each in other]


def _nothing(where: ast.stmt) -> ast.Pass:
    return ast.copy_location(ast.Pass(), where)


def _fault(name: str, edit: Edit, shown: ast.stmt, lines: range) -> Fault:
    return Fault(kind=Kind.CHECK, name=name, edit=edit, shown=shown, lines=lines)

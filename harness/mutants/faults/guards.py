"""Faults that replace comparisons and boolean operators."""

import ast
from collections.abc import Iterator, Mapping
from typing import Final

from harness.mutants.faults.places import Fault, NodeLocation, header_lines, places
from harness.mutants.model import Edit, Kind

_OPPOSITE: Final[Mapping[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
}
_NEIGHBOUR: Final[Mapping[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
}
"""The comparison that differs only at the limit."""


def guard_faults(function: ast.FunctionDef) -> Iterator[Fault]:
    """Reverse each comparison, move each limit, exchange `and` and `or`, and negate each test."""
    for place in places(function):
        match place.node:
            case ast.Compare() as comparison:
                yield from _comparison(comparison, place)
            case ast.BoolOp() as junction:
                yield _junction(junction, place)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                yield _fault("negation-dropped", place.becomes(operand), place)
            case ast.expr() as plain if _is_tested(place) and not isinstance(plain, ast.Constant):
                yield _fault("test-negated", place.becomes(_not(plain)), place)
            case _:
                pass


def _comparison(comparison: ast.Compare, place: NodeLocation) -> Iterator[Fault]:
    for at, operator in enumerate(comparison.ops):
        if len(comparison.ops) == 1:
            yield _operator("comparison-reversed", comparison, at, _OPPOSITE[type(operator)](), place)
        neighbour = _NEIGHBOUR.get(type(operator))
        if neighbour is not None:
            yield _operator("limit-moved", comparison, at, neighbour(), place)
    if len(comparison.ops) > 1:
        yield _fault("comparison-reversed", place.becomes(_not(comparison)), place)


def _operator(name: str, comparison: ast.Compare, at: int, operator: ast.cmpop, place: NodeLocation) -> Fault:
    edit = Edit(parent=comparison, attribute="ops", start=at, stop=at + 1, nodes=(operator,))
    return _fault(name, edit, place)


def _junction(junction: ast.BoolOp, place: NodeLocation) -> Fault:
    other = ast.Or() if isinstance(junction.op, ast.And) else ast.And()
    edit = Edit(parent=junction, attribute="op", nodes=(other,))
    return _fault("and-or-exchanged", edit, place)


def _is_tested(place: NodeLocation) -> bool:
    """Return whether an expression without an operator is a condition."""
    match place.parent:
        case ast.If() | ast.IfExp() | ast.While():
            return place.attribute == "test"
        case ast.comprehension():
            return place.attribute == "ifs"
        case ast.match_case():
            return place.attribute == "guard"
        case ast.BoolOp(values=[*_, ast.Constant() | ast.Tuple()]):
            return False  # a default for a missing value, not a condition
        case ast.BoolOp():
            return True
        case _:
            return False


def _not(tested: ast.expr) -> ast.expr:
    return ast.copy_location(ast.UnaryOp(op=ast.Not(), operand=tested), tested)


def _fault(name: str, edit: Edit, place: NodeLocation) -> Fault:
    return Fault(
        kind=Kind.GUARD, name=name, edit=edit, shown=place.statement, lines=header_lines(place.statement)
    )

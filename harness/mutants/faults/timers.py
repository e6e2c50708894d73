"""Faults in which deadlines are not set, not cancelled, or twice as far away."""

import ast
import re
from collections.abc import Iterator
from typing import Final

from harness.mutants.faults.places import Fault, NodeLocation, called_name, header_lines, places
from harness.mutants.model import Edit, Kind

_HELPER: Final = re.compile(r"_?(re)?schedule_\w+|remove_\w*expiration")
_CLOCK: Final = "now_ms"


def timer_faults(function: ast.FunctionDef) -> Iterator[Fault]:
    """Drop each call that sets or cancels a deadline, and double each time that such a call gets."""
    for place in places(function):
        match place.node:
            case ast.Expr(value=ast.Call() as call) as statement if _is_timer_call(call):
                name = f"{_verb(call)}-dropped"
                nothing = ast.copy_location(ast.Pass(), statement)
                yield _fault(name, place.becomes(nothing), statement)
                yield from _doubled(call, place)
            case _:
                pass


def _is_timer_call(call: ast.Call) -> bool:
    match call.func:
        case ast.Attribute(value=ast.Attribute(attr="timers")):
            return True
        case _:
            return _HELPER.fullmatch(called_name(call) or "") is not None


def _verb(call: ast.Call) -> str:
    name = (called_name(call) or "").lstrip("_")
    return name.split("_", 1)[0].replace("remove", "cancel")


def _doubled(call: ast.Call, place: NodeLocation) -> Iterator[Fault]:
    for at, argument in enumerate(call.args):
        if isinstance(argument, ast.BinOp) and _is_clock(argument.left):
            edit = Edit(parent=argument, attribute="right", nodes=(_twice(argument.right),))
            yield _fault("deadline-doubled", edit, place.statement)
        elif _is_duration(argument):
            edit = Edit(parent=call, attribute="args", start=at, stop=at + 1, nodes=(_twice(argument),))
            yield _fault("deadline-doubled", edit, place.statement)
    for keyword in call.keywords:
        if (keyword.arg or "").endswith("_ms") and keyword.arg != _CLOCK:
            edit = Edit(parent=keyword, attribute="value", nodes=(_twice(keyword.value),))
            yield _fault("deadline-doubled", edit, place.statement)


def _is_clock(argument: ast.expr) -> bool:
    return isinstance(argument, ast.Attribute) and argument.attr == _CLOCK


def _is_duration(argument: ast.expr) -> bool:
    match argument:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name.endswith("_ms") and name != _CLOCK
        case ast.Call():
            return called_name(argument) == "Millis"
        case _:
            return False


def _twice(time: ast.expr) -> ast.expr:
    two = ast.copy_location(ast.Constant(value=2), time)
    return ast.copy_location(ast.BinOp(left=two, op=ast.Mult(), right=time), time)


def _fault(name: str, edit: Edit, shown: ast.stmt) -> Fault:
    return Fault(kind=Kind.TIMER, name=name, edit=edit, shown=shown, lines=header_lines(shown))

"""Faults that replace fields of responses and error codes."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from harness.mutants.faults.places import Fault, NodeLocation, called_name, header_lines, places
from harness.mutants.model import Edit, Kind
from harness.mutants.source import Source

OTHER_THAN: Final = "other_than"
"""The name by which mutated code calls `harness.mutants.patch.other_than`."""

_NUMBERS: Final = ("int", "Millis", "GenerationId")

FieldTypes = Mapping[str, Mapping[str, str]]
"""Annotations by class and field."""


def response_fields(declarations: Sequence[Source]) -> FieldTypes:
    """Collect the fields of all classes that are part of a response and not of a request."""
    return {
        node.name: {
            each.target.id: ast.unparse(each.annotation)
            for each in node.body
            if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
        }
        for source in declarations
        for node in source.tree.body
        if isinstance(node, ast.ClassDef) and "Request" not in node.name
    }


def field_faults(function: ast.FunctionDef, declared: FieldTypes) -> Iterator[Fault]:
    """Replace each field of each response that a function builds, and each error code."""
    for place in places(function):
        match place.node:
            case ast.Call(keywords=keywords) as call:
                yield from _fields_of(call, keywords, declared, place)
            case ast.Attribute(value=ast.Name(id="Errors"), attr=code, ctx=ast.Load()) as named:
                if not isinstance(place.parent, ast.Compare):
                    yield _fault("error-replaced", place.becomes(_other_error(named, code)), place.statement)
            case _:
                pass


def _fields_of(
    call: ast.Call, keywords: list[ast.keyword], declared: FieldTypes, place: NodeLocation
) -> Iterator[Fault]:
    name = called_name(call) or ""
    if name != "replace" and name not in declared:
        return
    types = declared.get(name, {})
    for keyword in keywords:
        if keyword.arg is not None and not _has_no_other(keyword.value):
            nothing = _other_than_none(types.get(keyword.arg, "str"))
            wrapped = _wrapped(keyword.value, nothing)
            edit = Edit(parent=keyword, attribute="value", nodes=(wrapped,))
            yield _fault(f"{keyword.arg}-replaced", edit, place.statement)


def _has_no_other(value: ast.expr) -> bool:
    """Return whether a value has no replacement, or is replaced as an error code already."""
    match value:
        case ast.Tuple(elts=[]):
            return True
        case ast.Attribute(value=ast.Name(id=name)):
            return name == "Errors"
        case _:
            return False


def _other_than_none(annotation: str) -> str | bytes | int | tuple[()]:
    if "tuple" in annotation:
        return ()
    if "bytes" in annotation:
        return b""
    return 0 if any(number in annotation for number in _NUMBERS) else ""


def _wrapped(value: ast.expr, nothing: str | bytes | int | tuple[()]) -> ast.expr:
    literal: ast.expr = (
        ast.Tuple(elts=[], ctx=ast.Load()) if isinstance(nothing, tuple) else ast.Constant(value=nothing)
    )
    call = ast.Call(func=ast.Name(id=OTHER_THAN, ctx=ast.Load()), args=[value, literal], keywords=[])
    return ast.fix_missing_locations(ast.copy_location(call, value))


def _other_error(named: ast.Attribute, code: str) -> ast.expr:
    other = "NONE" if code == "UNKNOWN_SERVER_ERROR" else "UNKNOWN_SERVER_ERROR"
    return ast.copy_location(ast.Attribute(value=named.value, attr=other, ctx=ast.Load()), named)


def _fault(name: str, edit: Edit, shown: ast.stmt) -> Fault:
    return Fault(kind=Kind.FIELD, name=name, edit=edit, shown=shown, lines=header_lines(shown))

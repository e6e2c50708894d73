"""The places of a function in which a fault can be, and how a fault is displayed."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from harness.mutants.model import Edit, Kind

_BESIDE_THE_POINT: Final = frozenset(("annotation", "returns", "decorator_list", "args", "type_comment"))
_INVARIANTS: Final = frozenset(("AssertionError", "assert_never"))
_LINE_CHARACTERS: Final = 120
_AROUND: Final = 40
_OUR_OWN: Final = re.compile(r"_?check_(invariants|membership)")


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeLocation:
    """A node of a function's body, with its place in the syntax tree."""

    node: ast.AST
    parent: ast.AST
    attribute: str
    at: int | None
    """The node's index if the attribute is a list."""
    statement: ast.stmt
    """The statement that the node is, or is part of."""

    def becomes(self, node: ast.AST) -> Edit:
        """Return the edit that replaces this node with another."""
        stop = 0 if self.at is None else self.at + 1
        return Edit(parent=self.parent, attribute=self.attribute, start=self.at, stop=stop, nodes=(node,))


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A possible fault in a function."""

    kind: Kind
    name: str
    edit: Edit
    shown: ast.stmt
    """The statement with the fault; its header is shown if it is a compound one."""
    lines: range
    """Lines, one of which must be executed for the fault to matter."""


def places(function: ast.FunctionDef) -> Iterator[NodeLocation]:
    """Walk through a function's body in source order.

    Annotations, defaults and assertions of the reference's own invariants are left out: no client sees them.
    """
    if _OUR_OWN.fullmatch(function.name):
        return
    yield from _children(function, function)


def _children(parent: ast.AST, statement: ast.stmt) -> Iterator[NodeLocation]:
    for attribute, value in ast.iter_fields(parent):
        if attribute in _BESIDE_THE_POINT and not isinstance(parent, ast.Call):
            continue
        if isinstance(value, ast.AST):
            yield from _place(value, parent, attribute, None, statement)
        elif isinstance(value, list):
            for at, item in enumerate(value):
                if isinstance(item, ast.AST):
                    yield from _place(item, parent, attribute, at, statement)


def _place(
    node: ast.AST, parent: ast.AST, attribute: str, at: int | None, statement: ast.stmt
) -> Iterator[NodeLocation]:
    if states_invariant(node):
        return
    within = node if isinstance(node, ast.stmt) else statement
    yield NodeLocation(node=node, parent=parent, attribute=attribute, at=at, statement=within)
    yield from _children(node, within)


def states_invariant(node: ast.AST) -> bool:
    """Return whether a statement asserts an invariant instead of acting."""
    match node:
        case ast.Assert():
            return True
        case (
            ast.Raise(exc=ast.Call(func=ast.Name(id=name))) | ast.Expr(value=ast.Call(func=ast.Name(id=name)))
        ):
            return name in _INVARIANTS
        case _:
            return False


def called_name(node: ast.AST) -> str | None:
    """Return the last part of the name of the called function."""
    match node:
        case ast.Call(func=ast.Name(id=name)) | ast.Call(func=ast.Attribute(attr=name)):
            return name
        case _:
            return None


def header_lines(statement: ast.stmt) -> range:
    """Return a statement's lines without those of nested statements."""
    last = statement.end_lineno or statement.lineno
    inner = [
        each.lineno for each in ast.walk(statement) if isinstance(each, ast.stmt) and each is not statement
    ]
    cases = [each.pattern.lineno for each in ast.walk(statement) if isinstance(each, ast.match_case)]
    first_inner = min((*inner, *cases), default=last + 1)
    return range(statement.lineno, max(statement.lineno, first_inner - 1) + 1)


def body_lines(body: list[ast.stmt]) -> range:
    """Return the lines of consecutive statements."""
    return range(body[0].lineno, (body[-1].end_lineno or body[-1].lineno) + 1)


def header_text(statement: ast.AST) -> str:
    """Return the source text of a statement, of a compound one only up to its colon."""
    text = ast.unparse(statement)
    is_compound = isinstance(
        statement, ast.If | ast.For | ast.While | ast.Match | ast.With | ast.Try | ast.FunctionDef
    )
    return text.split("\n", 1)[0] if is_compound else " ".join(line.strip() for line in text.split("\n"))


def around_difference(before: str, after: str) -> tuple[str, str]:
    """Cut two long lines to the part in which they differ, with some context around it."""
    if max(len(before), len(after)) <= _LINE_CHARACTERS:
        return before, after
    same_at_start = _same_characters(before, after)
    same_at_end = _same_characters(before[same_at_start:][::-1], after[same_at_start:][::-1])
    start = max(0, same_at_start - _AROUND)
    left = "…" if start else ""
    stop = max(0, same_at_end - _AROUND)
    right = "…" if stop else ""
    return (
        left + before[start : len(before) - stop] + right,
        left + after[start : len(after) - stop] + right,
    )


def _same_characters(one: str, other: str) -> int:
    """Return the length of the common prefix of two texts."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (left, right) in pairs if left != right), min(len(one), len(other)))

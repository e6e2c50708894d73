"""The style rules that a linter does not know."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULE_LINES_MAX = 800
FUNCTION_LINES_MAX = 50
"""Of the body: a long signature is a flat list, as that of a command with its options."""
PACKAGES = ["harness", "kio_extension", "reference_coordinator", "suites"]


def modules() -> Iterator[Path]:
    for package in PACKAGES:
        yield from sorted((ROOT / package).rglob("*.py"))


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_there_is_something_to_look_at() -> None:
    assert {path.relative_to(ROOT).parts[0] for path in modules()} == set(PACKAGES)


@pytest.mark.parametrize("package", PACKAGES)
def test_modules_stay_small(package: str) -> None:
    too_long = {
        name_of(path): lines
        for path in modules()
        if path.is_relative_to(ROOT / package)
        and (lines := len(path.read_text().splitlines())) > MODULE_LINES_MAX
    }

    assert too_long == {}


@pytest.mark.parametrize("package", PACKAGES)
def test_functions_stay_small(package: str) -> None:
    too_long = {
        f"{name_of(path)}::{node.name}": lines
        for path in modules()
        if path.is_relative_to(ROOT / package)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (lines := (node.end_lineno or node.lineno) - node.body[0].lineno + 1) > FUNCTION_LINES_MAX
    }

    assert too_long == {}

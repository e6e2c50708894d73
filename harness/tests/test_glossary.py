"""One word for one thing: the words that the glossary leaves out are in no name and in no page."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
PACKAGES = ["harness", "reference_coordinator", "suites"]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def rows(after: str) -> Iterator[list[str]]:
    """The cells of the glossary's table rows, from a heading on."""
    for line in GLOSSARY[GLOSSARY.index(after) :].splitlines():
        if line.startswith("| "):
            yield [cell.strip() for cell in line.strip("|").split("|")]


UNUSED = {word for row in rows("# Glossary") if len(row) == 3 for word in re.findall(r"\*(\w+)\*", row[2])}
STAYING = {name for row in rows("## Names that stay") for name in re.findall(r"^`(\w+)`", row[0])}


def words(name: str) -> set[str]:
    """The words of an identifier, in whichever case it is."""
    return {each.lower() for each in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)}


def identifiers(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.alias(name=name) | ast.arg(arg=name):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.keyword(arg=str() as name):
                yield name
            case _:
                pass


def unused_in(name: str) -> set[str]:
    return set() if name in STAYING else words(name) & UNUSED


def prose(page: str) -> str:
    """A page without its code, its links' targets and what it names as a file."""
    without_blocks = re.sub(r"```.*?```|^ {4}.*$", "", page, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"`[^`]*`|\]\([^)]*\)", "", without_blocks)


def test_the_glossary_names_words_that_are_not_used() -> None:
    assert {"lever", "told", "foreign"} <= UNUSED
    assert words("HTTPDoor_lever2told") >= {"door", "lever", "told"}
    assert unused_in("open_door") == {"door"}


@pytest.mark.parametrize("package", PACKAGES)
def test_no_name_has_a_word_that_is_not_used(package: str) -> None:
    found = {
        f"{path.relative_to(ROOT).as_posix()}: {name}"
        for path in sorted((ROOT / package).rglob("*.py"))
        for name in {*path.relative_to(ROOT).with_suffix("").parts, *identifiers(ast.parse(path.read_text()))}
        if unused_in(name)
    }

    assert found == set()


@pytest.mark.parametrize(
    "page", [each for each in PAGES if each.name != "glossary.md"], ids=lambda page: page.stem
)
def test_no_page_has_a_word_that_is_not_used(page: Path) -> None:
    found = set(re.findall(r"[a-z]+", prose(page.read_text(encoding="utf-8")).lower())) & UNUSED

    assert found == set()


def test_every_name_that_stays_is_there() -> None:
    sources = " ".join(path.read_text() for package in PACKAGES for path in (ROOT / package).rglob("*.py"))

    assert [name for name in sorted(STAYING) if not re.search(rf"\b{name}\b", sources)] == []

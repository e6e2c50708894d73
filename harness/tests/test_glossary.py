"""One word for one thing: the words that the glossary leaves out are in no name, no text and no page."""

import ast
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
PACKAGES = ["harness", "reference_coordinator", "suites"]
TEXTS = ["harness", "reference_coordinator"]
"""Packages whose docstrings, comments and messages are checked too; their tests are not."""
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def rows(after: str) -> Iterator[list[str]]:
    """The cells of the glossary's table rows, from a heading on."""
    for line in GLOSSARY[GLOSSARY.index(after) :].splitlines():
        if line.startswith("| "):
            yield [cell.strip() for cell in line.strip("|").split("|")]


UNUSED = {word for row in rows("# Glossary") if len(row) == 3 for word in re.findall(r"\*(\w+)\*", row[2])}
STAYING = {name for row in rows("## Names that stay") for name in re.findall(r"`([^`]+)`", row[0])}


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


def parts_of(path: Path) -> tuple[str, ...]:
    """The names of a module and of the packages that it is in, unless the module keeps its name."""
    inside = path.relative_to(ROOT)
    return () if inside.as_posix() in STAYING else inside.with_suffix("").parts


def unused_in(name: str) -> set[str]:
    return set() if name in STAYING else words(name) & UNUSED


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the comments and strings of a module, by line, without code in backticks and names that stay."""
    quoted = re.compile("|".join([r"`[^`]*`", r"[\w./-]*[/_][\w./-]*", *map(re.escape, STAYING)]))
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type in (tokenize.COMMENT, tokenize.STRING):
                yield token.start[0], quoted.sub("", token.string).lower()


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
        for name in {*parts_of(path), *identifiers(ast.parse(path.read_text()))}
        if unused_in(name)
    }

    assert found == set()


@pytest.mark.parametrize(
    "page", [each for each in PAGES if each.name != "glossary.md"], ids=lambda page: page.stem
)
def test_no_page_has_a_word_that_is_not_used(page: Path) -> None:
    found = set(re.findall(r"[a-z]+", prose(page.read_text(encoding="utf-8")).lower())) & UNUSED

    assert found == set()


@pytest.mark.parametrize("package", TEXTS)
def test_no_docstring_comment_or_message_has_the_verb_of_four_meanings(package: str) -> None:
    """It stood for run, pause, park and compare; stored names with it are listed as names that stay."""
    found = {
        f"{path.relative_to(ROOT).as_posix()}:{line}"
        for path in sorted((ROOT / package).rglob("*.py"))
        if "tests" not in path.parts
        for line, text in texts(path)
        if re.search(r"\b(hold|holds|held|holding)\b", text)
    }

    assert found == set()


def test_every_name_that_stays_is_there() -> None:
    sources = " ".join(path.read_text() for package in PACKAGES for path in (ROOT / package).rglob("*.py"))

    names = {name for name in STAYING if not name.endswith(".py")}

    assert [name for name in sorted(names) if not re.search(rf"\b{name}\b", sources)] == []
    assert [name for name in sorted(STAYING - names) if not (ROOT / name).is_file()] == []

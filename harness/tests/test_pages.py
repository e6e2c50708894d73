"""What the pages name is there: tests, and rows of the catalogue, each on the page that it belongs on."""

import re
import subprocess
from pathlib import Path
from typing import Final

import pytest

from harness.scenario.clauses import load_clauses
from harness.tests.completed_runs import CHECKOUT

DOCS: Final = CHECKOUT / "docs"
NOT_MODELLED: Final = DOCS / "not-modelled.md"
_TEST: Final = re.compile(r"`((?:[\w/]+/)?test_\w+\.py)`")
_TESTS_OF_A_FILE: Final = re.compile(r"\[test_\w+\.py\]\(\.\./([\w/]+\.py)\)((?:[:,] `test_\w+`)*)")
_ROW: Final = re.compile(r"\b[A-Z]{2}-\d+[a-z]?\b")


def test_every_file_of_tests_that_a_page_names_is_there() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "*/tests/*.py"], cwd=CHECKOUT, capture_output=True, text=True, check=True
    ).stdout.split()
    named = {name for page in DOCS.glob("*.md") for name in _TEST.findall(page.read_text())}

    assert len(named) > 5
    assert not [each for each in named if not any(f"/{path}".endswith(f"/{each}") for path in listed)]


def test_every_test_that_shows_robustness_is_in_its_file() -> None:
    found = _TESTS_OF_A_FILE.findall((DOCS / "robustness-tests.md").read_text())

    assert len(found) > 50
    for path, names in found:
        text = (CHECKOUT / path).read_text()
        assert [name for name in re.findall(r"test_\w+", names) if f"def {name}(" not in text] == []


@pytest.mark.parametrize(
    "page", [NOT_MODELLED, DOCS / "catalogue-corrections.md"], ids=lambda page: page.stem
)
def test_every_row_that_a_page_names_is_in_the_catalogue(page: Path) -> None:
    named = set(_ROW.findall(page.read_text()))

    assert named
    assert not named - set(load_clauses("suites"))


def test_rows_about_inter_broker_protocols_are_on_the_page_of_what_is_not_modelled() -> None:
    rows = {
        name for name, row in load_clauses("suites").items() if "inter-broker protocol" in (row.reason or "")
    }

    assert rows
    assert rows <= set(_ROW.findall(NOT_MODELLED.read_text()))


def test_no_row_is_left_out_for_want_of_access_control_which_scenarios_have() -> None:
    assert [name for name, row in load_clauses("suites").items() if "ACL" in (row.reason or "")] == []


@pytest.mark.parametrize("types", ["KIP-848", "consumer", "KIP-932", "share", "KIP-1071", "streams"])
def test_no_row_is_left_out_for_want_of_types_of_groups_which_the_reference_has(types: str) -> None:
    lacks = re.compile(rf"\b{types}\b.*\bnot in the reference\b", re.IGNORECASE)

    assert [name for name, row in load_clauses("suites").items() if lacks.search(row.reason or "")] == []

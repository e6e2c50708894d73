"""What CONTRIBUTING.md, the templates and pre-commit say is true: files, commands and options are there."""

import re
import subprocess
import tomllib
from pathlib import Path
from typing import Final

import pytest
import yaml

from harness.cli.commands import load_command
from harness.tests.completed_runs import CHECKOUT

CONTRIBUTING: Final = CHECKOUT / "CONTRIBUTING.md"
TEMPLATES: Final = sorted((CHECKOUT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
PAGES: Final = [CONTRIBUTING, CHECKOUT / ".github" / "pull_request_template.md", *TEMPLATES]
_CHECKLISTS: Final = ("scenario", "behaviour that differs between releases", "API", "target")
_FILE: Final = re.compile(r"`((?:docs|harness|reference_coordinator|suites)/[\w./-]*|[A-Z]+\.md)`")
_VERB: Final = re.compile(r"kafka-conformance (?:images )?([a-z]+)([^`\n]*)")
_EXCEPTION: Final = re.compile(r"# (noqa|type: ignore|pragma: no)\b")
_REASONED: Final = re.compile(
    r"# (noqa: [A-Z0-9, ]+|type: ignore\[[a-z, -]+\]|pragma: no \w+)\s+(#|-|—) ?\S+"
)


@pytest.mark.parametrize("kind", _CHECKLISTS)
def test_there_is_a_checklist_for_what_is_added_most(kind: str) -> None:
    sections = CONTRIBUTING.read_text().split("\n## ")
    (steps,) = [each for each in sections if re.match(rf"Add an? {kind}\n", each)]

    assert len(re.findall(r"^\d+\. ", steps, re.MULTILINE)) >= 4


def test_every_file_that_is_named_is_there() -> None:
    named = {name for page in PAGES for name in _FILE.findall(page.read_text())}

    assert len(named) > 15
    assert not [name for name in named if not (CHECKOUT / name).exists()]


def test_every_command_that_is_named_is_there() -> None:
    for page in PAGES:
        for verb, rest in _VERB.findall(page.read_text()):
            known = {option for each in load_command(verb).params for option in each.opts}
            assert set(re.findall(r"--[a-z-]+", rest)) <= known, f"{verb}{rest}"


def test_every_target_of_make_that_is_named_is_there() -> None:
    makefile = (CHECKOUT / "Makefile").read_text()
    named = {name for page in PAGES for name in re.findall(r"\bmake ([a-z-]+)", page.read_text())}
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))

    assert {"check", "test", "release", "docs", "jar-locks", "wheel"} <= named
    assert named - {"it"} <= targets


def test_a_commit_is_checked_by_the_programs_that_make_check_runs() -> None:
    hooks = yaml.safe_load((CHECKOUT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    makefile = (CHECKOUT / "Makefile").read_text().replace("$(BIN)", ".venv/bin").replace(" .\n", "\n")

    assert {hook["language"] for hook in hooks} == {"system"}
    for hook in hooks:
        assert f"\t{hook['entry']}" in makefile, hook["id"]


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_a_template_of_issues_is_one_that_github_takes(path: Path) -> None:
    form = yaml.safe_load(path.read_text())

    assert {"name", "description", "body"} <= set(form)
    identifiers = [field["id"] for field in form["body"]]
    assert len(set(identifiers)) == len(identifiers)
    for field in form["body"]:
        assert field["type"] in {"input", "textarea"}
        assert field["attributes"]["label"]


def test_every_exception_of_lint_in_the_configuration_has_its_reason() -> None:
    text = (CHECKOUT / "pyproject.toml").read_text()
    lint = text[text.index("[tool.ruff.lint]") : text.index("[tool.ruff.lint.flake8-tidy-imports]")]
    exceptions = [line for line in lint.splitlines() if re.match(r'\s+"[A-Z]+\d*",|"[^"]+" = \["', line)]

    assert len(exceptions) > 15
    assert not [line for line in exceptions if not re.search(r"# [`\"\w]", line)]
    assert tomllib.loads(text)["tool"]["ruff"]["lint"]["select"] == ["ALL"]


def test_every_exception_of_lint_and_types_outside_tests_has_its_reason() -> None:
    names = subprocess.run(
        ["git", "ls-files", "*.py"], cwd=CHECKOUT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    lines = [
        f"{name}: {line.strip()}"
        for name in names
        if (CHECKOUT / name).is_file() and "/tests/" not in name
        for line in (CHECKOUT / name).read_text().splitlines()
        if _EXCEPTION.search(line)
    ]

    assert lines
    assert not [line for line in lines if not _REASONED.search(line)]

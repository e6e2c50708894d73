"""Commands in README and docs: each names a verb and options that exist."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from typer.core import TyperGroup

from harness.cli.commands import COMMANDS, load_command

_CHECKOUT: Final = Path(__file__).resolve().parents[3]
_COMMAND: Final = re.compile(r"kafka-conformance ((?:[^`\n\\]|\\\n)+)")
_OPTION: Final = re.compile(r"--?[a-z]")
_COMMANDS_MIN: Final = 100
_GONE: Final = "CHANGELOG.md"
"""Names commands of the past."""


def documented() -> Iterator[tuple[str, list[str]]]:
    """Yield the words of each command in the documentation, and the page that it is on."""
    for page in (*_CHECKOUT.glob("*.md"), *(_CHECKOUT / "docs").rglob("*.md")):
        if page.name == _GONE:
            continue
        for found in _COMMAND.finditer(page.read_text(encoding="utf-8")):
            text = re.split(r"\s#|&&|\|| > |;", found[1].replace("\\\n", " "))[0]
            try:
                yield str(page.relative_to(_CHECKOUT)), shlex.split(text)
            except ValueError:
                continue  # prose with an apostrophe


def unknown(words: list[str]) -> list[str]:
    """Return the verb if it is none, else its options that do not exist."""
    verb, *rest = words or [""]
    if not re.fullmatch("[a-z]+", verb):
        return []
    if verb not in COMMANDS:
        return [verb]
    command = load_command(verb)
    if isinstance(command, TyperGroup):
        command = command.commands[rest.pop(0)]
    known = {"--help", *(name for each in command.params for name in (*each.opts, *each.secondary_opts))}
    return [
        each
        for each in (word.partition("=")[0] for word in rest)
        if _OPTION.match(each) and each not in known
    ]


@pytest.mark.slow
def test_documented_commands_have_the_options_that_they_name() -> None:
    commands = list(documented())
    assert len(commands) > _COMMANDS_MIN
    assert not [(page, " ".join(words), wrong) for page, words in commands if (wrong := unknown(words))]

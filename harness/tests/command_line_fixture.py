"""Fixtures: the command line in this process, and a small package of scenarios for it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.tests.in_process import CommandLine, forget_suites
from harness.tests.small_suite import write_suite


@pytest.fixture(name="kafka_conformance")
def _kafka_conformance(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(monkeypatch, capsys)


@pytest.fixture(name="suites")
def _suites(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give the folder of a small package of scenarios that can be imported as `small_suites`."""
    monkeypatch.syspath_prepend(tmp_path)
    yield write_suite(tmp_path, "small_suites")
    forget_suites()

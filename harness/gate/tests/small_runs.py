"""Runs of a small package of scenarios, and what is done with them."""

import json
from pathlib import Path
from typing import Any

from harness.results.status import ExitCode
from harness.tests.in_process import CommandLine


class Driven:
    """Runs of our own suites on references, and `diff` of them."""

    def __init__(self, command: CommandLine, directory: Path) -> None:
        self.command = command
        self.directory = directory

    def run(self, run_id: str, *arguments: str, suite: str = "classic/heartbeat/**") -> Path:
        run = ("run", suite, "--no-report", "--out", self.directory, "--run-id", run_id)
        assert self.command(*run, *arguments) == ExitCode.EXPECTED
        return self.directory / run_id

    def run_on(self, run_id: str, *targets: str, suite: str = "classic/heartbeat/**") -> Path:
        return self.run(run_id, *(word for each in targets for word in ("--target", each)), suite=suite)

    def shards(self) -> tuple[Path, ...]:
        """Return both halves of a run."""
        return tuple(self.run(f"shard-{number}", "--shard", f"{number}/2") for number in (1, 2))

    def compared(self, *arguments: str | Path) -> list[dict[str, Any]]:
        """Return what `diff` finds."""
        assert self.command("diff", *arguments, "--format", "json") == ExitCode.EXPECTED
        found: list[dict[str, Any]] = json.loads(self.command.out)
        return found


class Ran:
    """Runs of the small package, and the gate on them."""

    def __init__(self, command: CommandLine, suites: Path, directory: Path) -> None:
        self.command = command
        self.known = suites / "expectations" / "known.toml"
        self.scenarios = suites / "small.py"
        self.directory = directory

    def run(self, run_id: str, *arguments: str) -> Path:
        self.command(
            *("run", "--suites", "small_suites", "--no-report", "--out", self.directory / "reports"),
            *("--run-id", run_id, *arguments),
        )
        return self.directory / "reports" / run_id

    def gate(self, run: Path, *arguments: str | Path) -> int:
        return self.command("gate", run, "--suites", "small_suites", *arguments)

    def expect(self, *arguments: str | Path) -> int:
        return self.command("expect", *arguments, "--suites", "small_suites")

    def policy(self, text: str) -> Path:
        path = self.directory / "gate.toml"
        path.write_text(text)
        return path

    @property
    def out(self) -> str:
        return self.command.out

    @property
    def err(self) -> str:
        return self.command.err

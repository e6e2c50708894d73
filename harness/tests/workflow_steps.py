"""The steps of workflows and of our action: read from their files, and carried out as a runner would."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import yaml

from harness.tests.completed_runs import CHECKOUT

ACTION: Final = CHECKOUT / ".github" / "actions" / "gate" / "action.yml"


def steps(path: Path) -> Iterator[Mapping[str, object]]:
    content = yaml.safe_load(path.read_text())
    if "runs" in content:
        yield from content["runs"]["steps"]
    for job in content.get("jobs", {}).values():
        yield from job["steps"]


def scripts(path: Path) -> dict[str, str]:
    return {str(step["name"]): str(step["run"]) for step in steps(path) if "run" in step}


def kept(name: str, run: Path) -> set[Path]:
    """Return the files, as seen from a run's folder, that a step of the action makes an artifact of."""
    found: set[Path] = set()
    (given,) = (step["with"] for step in steps(ACTION) if step.get("name") == name)
    assert isinstance(given, dict)
    for line in str(given["path"]).splitlines():
        pattern = line.removeprefix("!").removeprefix("${{ steps.run.outputs.run }}").strip("/")
        places = list(run.glob(pattern)) if pattern else [run]
        files = {file for place in places for file in (place, *place.rglob("*")) if file.is_file()}
        found = found - files if line.startswith("!") else found | files
    return {each.relative_to(run) for each in found}


class Steps:
    """Carries out the action's own steps as a runner would, in a folder that stands for a repository.

    Args:
        directory: the repository.
        runner: a folder for what the runner has: its programs, and the files that steps write for it.
        installed: the command to run; by default this checkout's.
    """

    def __init__(self, directory: Path, runner: Path | None = None, installed: Path | None = None) -> None:
        runner = runner or directory
        self.directory, self._programs = directory, runner / "bin"
        self._programs.mkdir(parents=True)
        command = self._programs / "kafka-conformance"
        python = f'"{sys.executable}" -m harness.cli' if installed is None else f'"{installed}"'
        command.write_text(f'#!/bin/sh\nexec {python} "$@"\n')
        command.chmod(0o755)
        self._environment = {} if installed else {"PYTHONPATH": str(CHECKOUT)}
        self.output, self.summary = runner / "output", runner / "summary"
        self.output.touch()
        self.summary.touch()
        self.printed = ""
        self._reported: dict[str, str] = {}

    def __call__(self, name: str, **inputs: str) -> int:
        step = next(step for step in steps(ACTION) if step.get("name") == name)
        declared = step["env"]
        assert isinstance(declared, dict)
        code = self.shell(str(step["run"]), **{**dict.fromkeys(declared, ""), **inputs})
        self._reported[name] = self.printed
        return code

    def reported(self, name: str) -> str:
        """Return what a step printed when it was last carried out."""
        return self._reported[name]

    def shell(self, script: str, **variables: str) -> int:
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
            cwd=self.directory,
            env={
                **{name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
                **variables,
                **self._environment,
                "PATH": f"{self._programs}:{os.environ['PATH']}",
                "GITHUB_OUTPUT": str(self.output),
                "GITHUB_STEP_SUMMARY": str(self.summary),
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        self.printed = done.stdout
        return done.returncode

    @property
    def outputs(self) -> dict[str, str]:
        lines = (line.partition("=") for line in self.output.read_text().splitlines())
        return {name: value for name, _, value in lines}

"""A coordinator that breaks and is mended again, as whoever keeps its gate lives through it."""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from harness.diff.model import Judgement
from harness.results.status import ExitCode
from harness.targets.base.conformance import CONFORMANCE_CONFIG, CONFORMANCE_TOPICS
from harness.tests.completed_runs import CHECKOUT
from harness.tests.in_process import CommandLine
from harness.trace.files import RunFolder, read_records

pytestmark = pytest.mark.slow

pytest_plugins = ["harness.tests.command_line_fixture"]

SCENARIOS: Final = ("classic/heartbeat/stranger", "classic/heartbeat/other-generation")
FINDING: Final = "classic/heartbeat/other-generation"
WHOLE: Final = "from reference_coordinator.__main__ import main; raise SystemExit(main())"
FORGETFUL: Final = f"""
from reference_coordinator.groups.classic import heartbeat

def forgetful(shard, group, request):
    group.validate_member(request.member_id, request.group_instance_id, unknown_instance_is_refused=True)

heartbeat.validate_classic_group_heartbeat = forgetful
{WHOLE}
"""
"""Heartbeats are welcome whatever their generation."""


@contextmanager
def coordinator(program: str, *, port: int = 0) -> Iterator[int]:
    """Run a server of the reference, perhaps a broken one, and give its port."""
    options = [f"--listen=127.0.0.1:{port}", "--profile=4.4"]
    options += [f"--config={name}={value}" for name, value in CONFORMANCE_CONFIG.items()]
    options += [f"--topic={name}:{count}" for name, count in CONFORMANCE_TOPICS.items()]
    process = subprocess.Popen(
        [sys.executable, "-c", program, *options],
        cwd=CHECKOUT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    try:
        reported = next(
            (found for line in process.stdout if (found := re.search(r"listening on \S+:(\d+)", line))), None
        )
        assert reported is not None, "the server ended before it listened"
        yield int(reported[1])
    finally:
        process.terminate()
        process.communicate()


def findings(run: Path) -> set[str | None]:
    """Return the signatures of what differs in the scenario that broke."""
    judgements = read_records(Judgement, RunFolder(run).judgements)
    return {each.signature for each in judgements if each.scenario_id == FINDING and each.signature}


@pytest.mark.slow
def test_a_broken_coordinator_is_red_repeated_explained_and_noted_once_mended(
    kafka_conformance: CommandLine, tmp_path: Path
) -> None:
    reports = tmp_path / "reports"
    into = ("--no-report", "--out", reports, "--run-id")
    known = tmp_path / "known.toml"

    with coordinator(FORGETFUL) as port:
        target = f"external:127.0.0.1:{port}"
        ran = ("run", *SCENARIOS, "--target", target, "--profile", "4.4", *into)
        assert kafka_conformance(*ran, "broken") == ExitCode.UNEXPECTED

        assert kafka_conformance("gate", reports / "broken") == ExitCode.UNEXPECTED
        lines = kafka_conformance.out.splitlines()
        name = target.replace(":", "-")
        assert lines[0] == f"gate: red, exit 1: 1 unexpected difference in 2 results of {name}"
        assert lines[1].startswith(f"why:  unexpected difference: {FINDING} on {name}: step ")
        assert 'error_code is "NONE"' in lines[1]
        assert "ILLEGAL_GENERATION" in lines[1]
        again = f"kafka-conformance run --target {target} --profile 4.4 {FINDING}"
        assert lines[2] == f"next: {again}"

        assert kafka_conformance(*shlex.split(again)[1:], *into, "again") == ExitCode.UNEXPECTED
        assert findings(reports / "again") == findings(reports / "broken") != set()

        update = next(shlex.split(line)[1:] for line in lines if "expect update" in line)
        why = ("--reason", "being mended", "--link", "KAFKA-1", "--expect", known, "--yes")
        assert kafka_conformance(*update, *why) == ExitCode.EXPECTED
        assert kafka_conformance("gate", reports / "broken", "--expect", known) == ExitCode.EXPECTED
        assert "1 of them known differences" in kafka_conformance.out

    with coordinator(WHOLE, port=port):
        assert kafka_conformance(*ran, "mended") == ExitCode.EXPECTED
    assert kafka_conformance("gate", reports / "mended", "--expect", known) == ExitCode.EXPECTED
    assert "note: 1 covered scenarios conform now" in kafka_conformance.out
    assert kafka_conformance("gate", reports / "mended", "--baseline", reports / "broken") == 0

"""A fault in the code of a reference that is served over TCP, in real time, is found by `search`."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.cli.search import SearchPlan, search_target
from harness.results.status import ExitCode
from harness.targets.reference.tcp import REFERENCE_ROOT
from harness.targets.reference.variants import behaviour_source
from harness.tests.in_process import CommandLine
from harness.tests.slow_timers import PACKAGE, faulty_copy
from harness.trace.files import RunFolder

pytestmark = pytest.mark.slow

_MODULE = Path(PACKAGE, "offsets", "fetch.py")
_HEALTHY = "if not shard.profile.has(Behaviour.DUPLICATE_PARTITIONS_ANSWERED_EACH):"
_FAULTY = "if shard.profile.has(Behaviour.DUPLICATE_PARTITIONS_ANSWERED_EACH):"


@pytest.fixture
def served(tmp_path: Path) -> Iterator[str]:
    """The address of a 4.4 that answers an OffsetFetch of a partition twice as older releases do."""
    root = faulty_copy(REFERENCE_ROOT, tmp_path / "faulty", module=_MODULE, healthy=_HEALTHY, faulty=_FAULTY)
    command = [sys.executable, "-P", "-m", PACKAGE, "--listen", "127.0.0.1:0", "--profile", "4.4"]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as server:
        assert server.stdout is not None
        yield server.stdout.readline().split()[2]
        server.terminate()


def test_a_fault_of_a_served_broker_is_found_shrunk_explained_and_written(
    tmp_path: Path, served: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = SearchPlan(
        target=f"external:{served}",
        against=None,
        profile="4.4",
        steps=1200,
        seed=8,
        batch=12,
        jobs=32,
        out=tmp_path / "reports",
        run_id="planted",
        write_to=None,
        corpus=None,
        wants_report=False,
    )
    code = search_target(plan)
    printed = capsys.readouterr().out
    name = "found/offset-fetch/duplicate-partitions-answered-each"
    assert code is ExitCode.UNEXPECTED, printed
    assert f"1 scenarios: {plan.found_folder}" in printed
    (module,) = (each for each in plan.found_folder.glob("*.py") if each.name != "__init__.py")
    text = module.read_text(encoding="utf-8")
    assert name in text
    assert text.count(".asks(") + text.count(".sends(") <= 6
    script = RunFolder(tmp_path / "reports" / "planted").read_scripts()[name]
    assert isinstance(script, dict)
    # The broker answers in its own time, so the same seed may shrink to one topic or to its partitions.
    assert script["title"].startswith("The answer to OffsetFetch v6 differs here: topics")
    assert script["source"] == behaviour_source("duplicate_partitions_answered_each")
    assert "Found by: kafka-conformance search" in script["notes"]
    assert "Found by: kafka-conformance search" in text
    found = ("--suites", f"{plan.found_folder}", "--no-report", "--out", f"{tmp_path / 'again'}")
    kafka_conformance = CommandLine(monkeypatch, capsys)
    flawed = ("--target", f"external:{served}", "--profile", "4.4")
    assert kafka_conformance("run", *flawed, *found) == ExitCode.UNEXPECTED
    assert kafka_conformance("run", "--target", "reference:4.4", *found) == ExitCode.EXPECTED

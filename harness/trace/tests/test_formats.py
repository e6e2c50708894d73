"""Headers of runs: what they say of themselves, and others that are refused."""

import json
import subprocess
from pathlib import Path

import pytest

from harness.orchestration.run import orchestrate
from harness.tests.completed_runs import CHECKOUT, Quiet, plan_of
from harness.trace.events import RunKind
from harness.trace.files import RunFolder, count_events
from harness.trace.formats import FORMAT_VERSION
from harness.trace.schema import TraceError


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> RunFolder:
    return orchestrate(plan_of(tmp_path, ["reference:3.9"], "classic/heartbeat"), Quiet()).folder


def test_a_run_says_what_it_was(folder: RunFolder) -> None:
    header = folder.read_run()
    assert header.format_version == FORMAT_VERSION
    assert (header.kind, header.shard) == (RunKind.SUITES, None)
    assert "cores" in header.machine
    (target,) = folder.read_headers("reference-3.9")
    assert (target.spec, target.profile, target.image) == ("reference:3.9", "3.9", None)
    assert len(target.config_digest) == 12
    assert json.loads(target.api_ranges)["Heartbeat"] == [0, 4]


def test_a_footer_counts_the_events_of_every_target(folder: RunFolder) -> None:
    footer = folder.read_footer()
    assert footer is not None
    counts = json.loads(footer.event_counts)
    assert counts == {"reference-3.9": count_events(folder.events("reference-3.9"))}
    assert counts["reference-3.9"] > 0


@pytest.mark.skipif(not (CHECKOUT / ".git").exists(), reason="the harness runs from no checkout")
def test_a_run_names_the_commit_of_the_harness(folder: RunFolder) -> None:
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=CHECKOUT, capture_output=True, text=True, check=True
    )
    commit = folder.read_run().harness_commit
    assert commit is not None
    assert head.stdout.startswith(commit.removesuffix("-changed"))


@pytest.mark.parametrize(
    ("version", "says"),
    [
        (FORMAT_VERSION + 1, f"a later harness wrote this run, in format {FORMAT_VERSION + 1}"),
        (FORMAT_VERSION - 1, f"an older harness .* reads format {FORMAT_VERSION}: run it again: kafka-"),
        (None, "an older harness wrote this run, in format 1"),
    ],
)
def test_a_run_of_another_format_is_refused_with_what_to_do(
    folder: RunFolder, version: int | None, says: str
) -> None:
    header = json.loads(folder.run_json.read_text()) | {"command": "kafka-conformance run"}
    del header["format_version"]
    more = {} if version is None else {"format_version": version, "more": 1}
    folder.run_json.write_text(json.dumps({**header, **more}))
    with pytest.raises(TraceError, match=says):
        folder.read_run()

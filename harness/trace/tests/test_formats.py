"""Headers of runs: what they say of themselves, and older ones that are still read."""

import json
import subprocess
from pathlib import Path

import pytest

from harness.orchestration.run import orchestrate
from harness.tests.completed_runs import CHECKOUT, Quiet, plan_of
from harness.trace.events import RunKind
from harness.trace.files import RunFolder, count_events
from harness.trace.formats import FORMAT_VERSION, kind_of
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


def test_a_run_of_the_first_format_is_still_read(folder: RunFolder) -> None:
    header = json.loads(folder.run_json.read_text())
    for name in ("format_version", "shard", "merged_from", "kind"):
        del header[name]
    folder.run_json.write_text(json.dumps({**header, "seed": 0}))
    footer = json.loads(folder.footer_json.read_text())
    del footer["event_counts"]
    folder.footer_json.write_text(json.dumps(footer))
    path = folder.headers_json("reference-3.9")
    (target,) = json.loads(path.read_text())
    digest = target["config_digest"]
    for name in ("version", "image", "config_digest"):
        del target[name]
    path.write_text(json.dumps([target]))

    older = folder.read_run()
    assert (older.format_version, older.kind) == (1, RunKind.SUITES)
    read = folder.read_footer()
    assert read is not None
    assert read.event_counts == "{}"
    assert folder.read_headers("reference-3.9")[0].config_digest == digest


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ({"scenario_digest": "abc"}, RunKind.SUITES),
        ({"scenario_digest": ""}, RunKind.TAP),
        ({"libraries": {}, "soak_s": 0.0}, RunKind.CLIENTS),
        ({"libraries": {}, "soak_s": 3.0}, RunKind.SOAK),
        ({"round_count": 1}, RunKind.RACES),
        ({"round_count": 1, "kind": "another"}, "another"),
        ({}, None),
        ([], None),
    ],
)
def test_what_was_run_is_read_from_older_files_too(content: object, kind: str | None) -> None:
    assert kind_of(content) == kind


def test_a_run_of_a_later_format_is_refused_as_such(folder: RunFolder) -> None:
    header = json.loads(folder.run_json.read_text())
    folder.run_json.write_text(json.dumps({**header, "format_version": FORMAT_VERSION + 1, "more": 1}))
    with pytest.raises(TraceError, match=f"a later harness wrote this run, in format {FORMAT_VERSION + 1}"):
        folder.read_run()

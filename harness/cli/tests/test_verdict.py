"""A verdict is told whatever becomes of the report: without Java, without a target, without Spark."""

import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Never

import pytest
from pyspark.sql import SparkSession

from harness.diff.model import Attribution
from harness.report.model.cause_groups import losses, verdict_line
from harness.report.model.run_data import Run
from harness.results.status import ExitCode
from harness.spark.master import SparkError, why_no_spark
from harness.targets.base.interface import TargetError
from harness.targets.external.target import ExternalTarget
from harness.tests.fake_java import hide_programs
from harness.tests.in_process import CommandLine
from harness.tests.report_reading import summary_of
from harness.tests.report_run import REFERENCE, SCALA, MadeUpRun, judgement, small_run
from harness.tests.site_reading import conversation_of, rendered, view_of
from harness.tests.small_suite import WRONG
from harness.trace.events import TARGET_LOST
from harness.trace.files import RunFolder, read_records

pytest_plugins = ["harness.tests.command_line_fixture"]

CHOSEN = "classic/heartbeat/empty-group"


@pytest.fixture(name="lost_externals")
def _lost_externals(monkeypatch: pytest.MonkeyPatch) -> None:
    async def refused(*_: object, **__: object) -> Never:
        raise TargetError("it does not accept: connection refused")

    monkeypatch.setattr(ExternalTarget, "start", refused)


def without_java(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    hide_programs(monkeypatch, path)
    # A test before may have left a session, which needs no further Java.
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: None)


def refusing(error: Exception) -> Callable[..., Never]:
    def fail(*_: object, **__: object) -> Never:
        raise error

    return fail


def refuse_a_report(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    monkeypatch.setattr(import_module("harness.cli.run"), "make_report", refusing(error))


@pytest.mark.slow
def test_without_java_a_run_has_its_verdict_and_its_page_and_says_what_is_left_out(
    kafka_conformance: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_java(monkeypatch, tmp_path)
    asked = ("run", CHOSEN, "--out", tmp_path / "reports", "--spark-master", "local[*]")
    assert kafka_conformance(*asked) == ExitCode.EXPECTED
    reported = kafka_conformance.out
    assert "no trend" in reported
    assert "install Java 17" in reported
    assert re.search(r"reference\s+1 / 1", reported)
    assert "Every result was expected." in reported.splitlines()
    run = tmp_path / "reports" / "latest"
    assert not (run / "tables").exists()
    assert "✓</span> Every result was expected" in view_of(run, "matrix")
    assert "install Java 17" in view_of(run, "trend")
    assert conversation_of(run, CHOSEN, "reference")["after"]


def test_without_java_a_difference_ends_with_its_own_code(
    kafka_conformance: CommandLine, suites: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_java(monkeypatch, tmp_path)
    code = kafka_conformance("run", "--suites", "small_suites", "--out", tmp_path / "reports", WRONG)
    assert code == ExitCode.UNEXPECTED
    assert f"✗ unexpected difference {WRONG} on reference" in kafka_conformance.out
    assert "1 unexpected difference." in kafka_conformance.out.splitlines()


@pytest.mark.slow
@pytest.mark.usefixtures("lost_externals")
def test_a_run_whose_targets_are_all_lost_is_one_line_with_cause_and_remedy_and_no_report(
    kafka_conformance: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse_a_report(monkeypatch, AssertionError("a report is made"))
    targets = ("reference", "external:127.0.0.1:1", "external:127.0.0.1:2")
    chosen = [word for target in targets for word in ("--target", target)]
    assert kafka_conformance("run", *chosen, CHOSEN, "--out", tmp_path) == ExitCode.UNAVAILABLE
    reported = kafka_conformance.out
    assert "No verdict: 2 targets lost." in reported.splitlines()
    assert "was lost, which cut 1 scenario short: it does not accept: connection refused" in reported
    assert "check that it can be reached" in reported
    assert "very result was expected" not in reported
    assert "indeterminate result" not in reported


@pytest.mark.slow
def test_a_report_that_fails_leaves_the_verdict_reported(
    kafka_conformance: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse_a_report(monkeypatch, SparkError("no room for Spark"))
    assert kafka_conformance("run", CHOSEN, "--out", tmp_path) == ExitCode.TEMPORARY_FAILURE
    assert "Every result was expected." in kafka_conformance.out
    assert "no room for Spark" in kafka_conformance.err


@pytest.mark.slow
def test_a_run_of_two_versions_names_the_behaviours_that_changed(
    kafka_conformance: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.report.render.render_all", refusing(SparkError("it needs no report")))
    targets = ("--target", "reference-tcp:3.9", "--target", "reference-tcp:4.4")
    kafka_conformance("run", *targets, "classic/vote/of-three", "--out", tmp_path, "--run-id", "two")
    found, *_ = read_records(Attribution, RunFolder(tmp_path / "two").attributions)
    assert (found.from_oracle, found.to_oracle) == ("reference-3.9", "reference-4.4")
    assert found.behaviours


@pytest.mark.slow
def test_a_matrix_needs_no_java(
    kafka_conformance: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_java(monkeypatch, tmp_path)
    two = ("--target", "reference:2.8.2", "--target", "reference:3.9.2")
    asked = ("--versions", "", *two, "--run-id", "run", "--out", tmp_path / "reports")
    assert kafka_conformance("diff", *asked, CHOSEN) == ExitCode.EXPECTED
    assert (tmp_path / "reports" / "run" / "index.html").exists()


def test_spark_elsewhere_needs_no_java_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_java(monkeypatch, tmp_path)
    assert why_no_spark("sc://127.0.0.1:15002") is None
    assert "install Java" in (why_no_spark("local[*]") or "")


def with_lost(*lost: str) -> MadeUpRun:
    made = small_run()
    for target in lost:
        for number in range(3):
            reason = f"{TARGET_LOST}{target} is gone"
            made.add(
                judgement(
                    f"a/lost/{number}", target, "indeterminate", expectation="unexpected", reason=reason
                )
            )
    return made


def test_one_lost_target_among_others_is_reported_beside_their_results(tmp_path: Path) -> None:
    run = Run.load(with_lost(SCALA).write(tmp_path))
    (loss,) = losses(run)
    assert str(loss) == f"{SCALA} was lost, which cut 3 scenarios short: {SCALA} is gone"
    assert verdict_line(run).endswith(", and no verdict on others: 1 target lost")
    summary = summary_of(tmp_path)
    assert "very result was expected" not in summary
    assert summary.count("is gone") == 1


def test_who_may_have_ended_a_target_is_listed_with_its_loss(tmp_path: Path) -> None:
    run_dir = with_lost(SCALA).write(tmp_path)
    suspects = [f"a/suspect/{number}, step 1 (ana sends JoinGroup v6), not answered" for number in range(12)]
    RunFolder(run_dir).write_suspects({SCALA: suspects})
    (loss,) = losses(Run.load(run_dir))
    assert loss.last_words[0] == f"suspect: {suspects[0]}"
    assert (len(loss.last_words), loss.last_words[-1]) == (11, "and 2 more suspects")
    assert "a/suspect/0, step 1" in summary_of(run_dir)
    rendered(run_dir)
    assert "a/suspect/0, step 1" in view_of(run_dir, "matrix")


def test_two_lost_targets_are_counted(tmp_path: Path) -> None:
    assert "2 targets lost" in verdict_line(Run.load(with_lost(SCALA, REFERENCE).write(tmp_path)))


@pytest.mark.slow
def test_a_target_of_ours_that_cannot_start_has_its_own_cause_and_no_other_remedy(
    kafka_conformance: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_java(monkeypatch, tmp_path)
    monkeypatch.setenv("KAFKA_CONFORMANCE_CACHE", str(tmp_path / "cache"))
    options = ("--target", "kafka:3.9.2", "--out", tmp_path / "reports", CHOSEN)
    assert kafka_conformance("run", *options) == ExitCode.UNAVAILABLE
    assert "no Java for brokers (" in kafka_conformance.out
    assert "check that it runs" not in kafka_conformance.out

"""The conversation that takes a target longest is named wherever a run is summed up."""

import io
from pathlib import Path

from rich.console import Console

from harness.report.exports.markdown import write_summary
from harness.report.model.longest import longest_scenarios
from harness.report.model.run_data import Run
from harness.report.terminal.summary import print_summary
from harness.tests.report_run import REFERENCE, SCALA, MadeUpRun, judgement, small_run


def with_long_ones() -> MadeUpRun:
    made = small_run()
    made.add(judgement("a/long/est", SCALA, duration_ms=9_000.0))
    made.add(judgement("a/long/too", SCALA, duration_ms=8_000.0))
    made.add(judgement("a/long/unheld", SCALA, "not applicable", duration_ms=99_000.0))
    made.add(judgement("a/long/est", REFERENCE, duration_ms=30_000.0))
    return made


def test_the_longest_of_each_target_is_one_that_was_run(tmp_path: Path) -> None:
    found = {each.target: each for each in longest_scenarios(Run.load(with_long_ones().write(tmp_path)))}

    assert str(found[SCALA]) == "a/long/est, 9000 ms of 14210 ms"
    assert str(found[REFERENCE]) == "a/long/est, 30000 ms of virtual time"


def test_terminal_and_summary_name_the_longest(tmp_path: Path) -> None:
    directory = with_long_ones().write(tmp_path)
    console = Console(file=io.StringIO(), width=120, force_terminal=False)
    print_summary(Run.load(directory), console)
    printed: str = console.file.getvalue()  # type: ignore[attr-defined] # a StringIO

    assert f"longest on {SCALA}: a/long/est, 9000 ms of 14210 ms" in printed
    assert f"- Longest on {SCALA}: a/long/est, 9000 ms of 14210 ms" in write_summary(directory).read_text()

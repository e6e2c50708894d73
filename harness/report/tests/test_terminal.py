"""The summary of a run can be read in a log, and in a narrow terminal."""

import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console
from rich.text import Text

from harness.report.exports.terminal import print_summary
from harness.report.model.run_data import Run
from harness.terminal import COLUMNS, ROWS_MAX, Writer, rows
from harness.tests.report_run import SCALA, judgement, small_run


def printed(directory: Path, *, is_terminal: bool) -> str:
    output = io.StringIO()
    console = Console(file=output, width=COLUMNS, force_terminal=is_terminal, color_system=None)
    print_summary(Run.load(directory), Writer(console))
    return output.getvalue()


@pytest.mark.parametrize("is_terminal", [True, False], ids=["terminal", "log"])
def test_counts_have_their_words_and_what_is_not_counted_is_left_out(
    tmp_path: Path, *, is_terminal: bool
) -> None:
    made = small_run()
    made.add(judgement("a/b", SCALA, "not applicable"))
    text = printed(made.write(tmp_path), is_terminal=is_terminal)
    (line,) = (each for each in text.splitlines() if each.startswith(SCALA))
    for word in ("conform", "diverging", "unexpected", "2 not applicable"):
        assert word in line
    assert "harness error" not in line
    assert f"Claims that are true on {SCALA}: " in text


def test_the_worst_run_takes_no_more_rows_than_a_terminal_has(tmp_path: Path) -> None:
    made = small_run()
    for number in range(40):
        target = f"kafka-4.4.{number}-with-a-long-name"
        made.summaries.append(replace(made.summaries[0], target=target, spec=f"external:broker:{number}"))
        for scenario in range(5):
            made.add(
                judgement(f"a/{scenario}", target, "diverges", reason=f"{number} {scenario} " + "x" * 400)
            )
    run_dir = made.write(tmp_path)
    (run_dir / "index.html").touch()
    text = printed(run_dir, is_terminal=False)
    assert rows([Text(line) for line in text.splitlines()]) <= ROWS_MAX
    for words in ("more targets; ", "more causes; ", "Report: "):
        assert words in text

"""The table of a run can be read in a log, and in a narrow terminal."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from harness.report.model.run_data import Run
from harness.report.terminal.summary import print_summary
from harness.tests.report_run import JAVA, judgement, small_run

COLUMNS = 80


@pytest.mark.parametrize("is_terminal", [True, False], ids=["terminal", "log"])
def test_each_heading_has_its_words_in_whole(tmp_path: Path, *, is_terminal: bool) -> None:
    made = small_run()
    made.add(judgement("a/b", JAVA, "not applicable"))
    output = io.StringIO()
    console = Console(file=output, width=COLUMNS, force_terminal=is_terminal, color_system=None)
    print_summary(Run.load(made.write(tmp_path)), console)
    table = output.getvalue().partition("longest on")[0]

    assert "…" not in table
    for word in ("conforms / applicable", "applicable", "diverges", "unexpected"):
        assert word in table
    if is_terminal:
        assert max(map(len, table.splitlines())) <= COLUMNS
    else:
        assert any("✗ diverges" in line and "unexpected" in line for line in table.splitlines())

"""What a made-up run says on the terminal, and to Allure."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

from rich.console import Console

from harness.report.allure.results import write_allure_results
from harness.report.model.run_data import Run
from harness.report.terminal.summary import print_summary


def printed(run_dir: Path, *, width: int = 200) -> str:
    """Return what the terminal says of a run."""
    output = StringIO()
    print_summary(Run.load(run_dir), Console(file=output, width=width, force_terminal=False))
    return output.getvalue()


def allure_results(run_dir: Path, archive: Path | None = None) -> dict[str, Any]:
    """Write what Allure is told, and return its results by their names."""
    found = [
        json.loads(path.read_text()) for path in write_allure_results(run_dir, archive).glob("*-result.json")
    ]
    return {each["fullName"]: each for each in found}

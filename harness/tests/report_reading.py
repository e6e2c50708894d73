"""What a made-up run says on the terminal, and to other programs."""

import xml.etree.ElementTree as ET
from io import StringIO
from pathlib import Path
from typing import Any

from rich.console import Console

from harness.report.allure.pages import allure_results as results_of
from harness.report.allure.pages import listed
from harness.report.exports.markdown import write_junit, write_summary
from harness.report.exports.terminal import print_summary
from harness.report.model.run_data import Run
from harness.terminal import Writer


def printed(run_dir: Path, *, width: int = 200) -> str:
    """Return what the terminal says of a run."""
    output = StringIO()
    print_summary(Run.load(run_dir), Writer(Console(file=output, width=width, force_terminal=False)))
    return output.getvalue()


def allure_results(run_dir: Path, *, is_rolled: bool = False) -> dict[str, Any]:
    """Return Allure's results by their names."""
    run = Run.load(run_dir)
    return {str(each["fullName"]): each for each in results_of(run, listed(run), is_rolled=is_rolled)}


def junit_of(run_dir: Path) -> ET.Element:
    """Write the results as JUnit XML, and return its root."""
    return ET.parse(write_junit(Run.load(run_dir))).getroot()


def summary_of(run_dir: Path) -> str:
    """Write the summary in Markdown, and return it."""
    return write_summary(Run.load(run_dir)).read_text()

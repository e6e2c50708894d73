"""`report` for other runs than those of wire suites: client scripts alone, a soak, a tap."""

from pathlib import Path

from rich.console import Console

from harness.cli.clients_beside import print_clients_alone
from harness.clients.report import write_report
from harness.invariants.stored import check_run
from harness.report.site.tap_page import tap_site
from harness.results.exit_code import ExitCode
from harness.results.run_kinds import is_clients_folder, run_kind
from harness.trace.completeness import refuse_cut_short
from harness.trace.events import RunKind
from harness.trace.files import RunFolder


def report_of_other_kind(run_dir: Path, console: Console) -> ExitCode | None:
    """Render a run's folder again and return the run's exit code; None if it is a run of wire suites.

    Raises:
        ReportError: a file of the run is missing or damaged.
        TraceError: a file of the run is damaged.
    """
    if is_clients_folder(run_dir):
        index = write_report(run_dir)
        code = print_clients_alone(run_dir, console)
    elif run_kind(run_dir) is RunKind.TAP:
        folder = RunFolder(run_dir)
        refuse_cut_short(folder)
        check_run(folder)  # Violations on file may be incomplete, and nothing else shows how many there were.
        index = tap_site(folder)
        code = ExitCode.EXPECTED
    else:
        return None
    console.print(f"Report: {index}", markup=False, highlight=False, soft_wrap=True)
    return code

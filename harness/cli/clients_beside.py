"""Client scripts beside the wire suites of a run, and reports of runs of other kinds."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from harness.cli.options import command_line
from harness.clients.choice import choose_libraries
from harness.clients.collect import collect_client_scripts, select_client_scripts
from harness.clients.report import write_report
from harness.clients.run import ClientsPlan, Tell, drive
from harness.invariants.checker import check_run
from harness.orchestration.plan import parse_targets
from harness.report.exports.terminal import print_summary
from harness.report.model.run_data import Run
from harness.report.site.run_site import exit_code_of
from harness.report.site.tap_page import tap_site
from harness.results.client_results import load_clients
from harness.results.status import ExitCode
from harness.results.stored_data import is_clients_folder, run_kind
from harness.targets.base.interface import TargetError
from harness.terminal import Writer
from harness.trace.completeness import refuse_cut_short
from harness.trace.events import RunKind
from harness.trace.files import RunFolder

_IN_PROCESS = "reference"
_WITH_AN_ADDRESS = "reference-tcp"


def plan_beside(specs: Sequence[str], *, run_id: str, profile: str | None, suites: str) -> ClientsPlan:
    """Plan all client scripts, with all available libraries, on the targets of a run.

    The in-process reference has no address for clients, so its server replaces it.

    Raises:
        PlanError: a spec does not name a target.
        ScenarioError: there are no client scripts, or one has a fault.
    """
    return ClientsPlan(
        run_id=run_id,
        scripts=select_client_scripts(collect_client_scripts(suites), []),
        libraries=asyncio.run(choose_libraries([], Writer().say)),
        targets=parse_targets(with_an_address(specs), profile=profile, guards_external=True),
        command=command_line(),
        out=Path(),
    )


def with_an_address(specs: Sequence[str]) -> list[str]:
    """Return the targets of a run as clients can reach them, each once."""
    found: dict[str, None] = {}
    for spec in specs:
        kind, colon, rest = spec.partition(":")
        found[f"{_WITH_AN_ADDRESS}{colon}{rest}" if kind == _IN_PROCESS else spec] = None
    return list(found)


def drive_beside(plan: ClientsPlan, run_dir: Path, tell: Tell) -> ExitCode:
    """Run client scripts into a run's folder, and return their exit code; a lost target is on file."""
    beside = replace(plan, beside=run_dir)
    with suppress(TargetError):  # The footer contains it, and the exit code is made from that.
        asyncio.run(drive(beside, tell))
    return load_clients(beside.folder.path).exit_code


def report_of_other_kind(run_dir: Path, writer: Writer) -> ExitCode | None:
    """Render a run's folder again and return the run's exit code; None if it is a run of wire suites.

    Raises:
        ReportError: a file of the run is missing or damaged.
        TraceError: a file of the run is damaged.
    """
    if is_clients_folder(run_dir):
        run = Run.load(run_dir)
        write_report(run)
        print_summary(run, writer)
        return exit_code_of(run)
    if run_kind(run_dir) is RunKind.TAP:
        folder = RunFolder(run_dir)
        refuse_cut_short(folder)
        check_run(folder)  # Violations on file may be incomplete, and nothing else shows how many there were.
        writer.say(f"Report: {tap_site(folder)}")
        return ExitCode.EXPECTED
    return None

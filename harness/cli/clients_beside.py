"""Client scripts beside the wire suites of a run, and reports of runs of other kinds."""

import asyncio
import shlex
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from harness.clients.choice import choose_libraries
from harness.clients.collect import collect_client_scripts, select_client_scripts
from harness.clients.report import write_conversations_beside, write_report
from harness.clients.run import ClientsPlan, Tell, drive
from harness.gate.sides import open_run
from harness.invariants.stored import check_run
from harness.orchestration.plan import PlanError, parse_targets
from harness.report.allure.pages import AllureLevel
from harness.report.exports.terminal import print_summary
from harness.report.model.run_data import Run
from harness.report.render import render_all
from harness.report.site.run_site import exit_code_of
from harness.report.site.tap_page import tap_site
from harness.results.client_results import archived_clients, clients_folder, load_clients
from harness.results.status import ExitCode
from harness.results.stored_data import is_clients_folder, open_folder, run_kind
from harness.spark.rows import ARCHIVE
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
        command=shlex.join(["kafka-conformance", *sys.argv[1:]]),
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


def open_for_clients(run_dir: Path) -> Path:
    """Return the folder of a run of wire suites to which client scripts can be added.

    Raises:
        ReportError: the folder is not one of a run of wire suites.
        PlanError: the run has client scripts already, or was cut short too early.
    """
    folder = open_folder(run_dir, RunKind.SUITES)
    resolved = folder.path
    if not folder.scripts_json.is_file():
        raise PlanError(f"{run_dir} was cut short before its scripts were written: run it again")
    if clients_folder(resolved) is not None:
        raise PlanError(f"{run_dir} has client scripts already; they are in {resolved.name}/clients")
    return resolved


def specs_of(run_dir: Path) -> tuple[str, ...]:
    """Return the specs of the targets that a run was given, without its oracles.

    Raises:
        TraceError: the run's records are damaged.
    """
    run = open_run(run_dir)
    return tuple(run.infos[name].spec for name in run.header.targets if name in run.infos)


def render_again(run_dir: Path) -> None:
    """Write the reports of a run again, if it has any; the tables of its trend stay as they are.

    If the run is in the archive beside it, the archive is updated with the clients.

    Raises:
        ReportError: a file of the run is missing or damaged.
        TraceError: a journal is damaged.
    """
    _archive_again(RunFolder(run_dir))
    if (run_dir / "index.html").is_file():
        render_all(run_dir, allure=_allure_of(run_dir))
        write_conversations_beside(run_dir)


def _allure_of(run_dir: Path) -> AllureLevel:
    """Return how much of a run Allure got."""
    if (run_dir / "allure-results").is_dir():
        return AllureLevel.ALL
    return AllureLevel.LOOK if (run_dir / "allure").is_dir() else AllureLevel.OFF


def _archive_again(folder: RunFolder) -> None:
    root = folder.path.parent / ARCHIVE
    if not root.is_dir():
        return
    # Arrow is an optional extra.
    from harness.spark.archive import Archive, pack  # noqa: PLC0415 - see above

    archive = Archive(root=root)
    if folder.read_run().run_id in archive.run_ids():
        pack([folder], archive, clients_of=archived_clients)


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

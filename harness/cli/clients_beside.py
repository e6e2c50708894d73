"""Run client scripts beside the wire suites of a run: on the same targets, in the same report."""

import asyncio
import shlex
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from harness.clients.choice import choose_libraries
from harness.clients.collect import collect_client_scripts, select_client_scripts
from harness.clients.report import write_conversations_beside
from harness.clients.run import ClientsPlan, Tell, drive
from harness.gate.stored import open_run
from harness.orchestration.plan import PlanError, parse_targets
from harness.orchestration.progress import plainly
from harness.report.exports.clients import brief_text
from harness.report.model.client_verdicts import client_verdicts
from harness.report.render import render_all
from harness.report.site.clients_soak import soak_exit_code
from harness.results.client_results import ClientsRun, clients_folder, load_clients
from harness.results.exit_code import ExitCode
from harness.results.run_kinds import open_folder
from harness.spark.archive_rows import ARCHIVE
from harness.targets.base.interface import TargetError
from harness.trace.events import RunKind
from harness.trace.files import RunFolder

_IN_PROCESS = "reference"
_WITH_AN_ADDRESS = "reference-tcp"


def plan_beside(
    specs: Sequence[str], *, run_id: str, profile: str | None, suites: str, console: Console
) -> ClientsPlan:
    """Plan all client scripts, with all available libraries, on the targets of a run.

    The in-process reference has no address for clients, so its server replaces it.

    Raises:
        PlanError: a spec does not name a target.
        ScenarioError: there are no client scripts, or one has a fault.
    """
    return ClientsPlan(
        run_id=run_id,
        scripts=select_client_scripts(collect_client_scripts(suites), []),
        libraries=asyncio.run(choose_libraries([], plainly(console))),
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


def print_clients(run_dir: Path, console: Console) -> None:
    """Print the results of a run's client scripts, if it has any."""
    folder = clients_folder(run_dir)
    if folder is not None:
        _print_brief(load_clients(folder), console)


def print_clients_alone(run_dir: Path, console: Console) -> ExitCode:
    """Print the results of a run of client scripts alone, and return its exit code."""
    run = load_clients(run_dir)
    _print_brief(run, console)
    return soak_exit_code(run) if run.soak_s else run.exit_code


def _print_brief(run: ClientsRun, console: Console) -> None:
    say = plainly(console)
    for line in brief_text(run):
        say(line)


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
    """Write the reports of a run again, if it has any; Spark's tables stay as they are.

    If the run is in the archive beside it, the archive is updated with the clients.

    Raises:
        ReportError: a file of the run is missing or damaged.
        TraceError: a journal is damaged.
    """
    _archive_again(RunFolder(run_dir))
    if (run_dir / "tables").is_dir():
        render_all(run_dir, allure=(run_dir / "allure-results").is_dir())
        write_conversations_beside(run_dir)


def _archive_again(folder: RunFolder) -> None:
    root = folder.path.parent / ARCHIVE
    if not root.is_dir():
        return
    # Arrow is an optional extra.
    from harness.spark.archive import Archive  # noqa: PLC0415 - see above
    from harness.spark.packing import pack  # noqa: PLC0415 - see above

    archive = Archive(root=root)
    if folder.read_run().run_id in archive.run_ids():
        pack([folder], archive, clients_of=client_verdicts)

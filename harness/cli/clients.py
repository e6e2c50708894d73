"""`clients`: run scripts with real client libraries, also beside the wire suites of a run."""

import asyncio
import re
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from harness.cli.errors import ends_with_exit_code
from harness.cli.options import command_line, list_only, refuse_taken, telling_of_interruption
from harness.clients.collect import (
    LIBRARY_FORMS,
    choose_libraries,
    collect_client_scripts,
    is_library,
    known_ids,
    select_client_scripts,
)
from harness.clients.report import write_report
from harness.clients.run import JOBS, ClientsPlan, Tell, drive
from harness.clients.soak_group import GROUPS, RECORDS_PER_S
from harness.clients.soak_run import soak_all
from harness.clients.steps import ClientScript
from harness.invariants.checker import check_run
from harness.orchestration.external import announcement, outline
from harness.orchestration.judging import read_expectations
from harness.orchestration.plan import PlanError, expectation_files, new_run_id, parse_targets, refusing
from harness.report.exports.terminal import print_summary
from harness.report.model.run_data import Run
from harness.report.site.run_site import exit_code_of
from harness.report.site.tap_page import tap_site
from harness.results.client_results import load_clients
from harness.results.status import ExitCode
from harness.results.stored_data import is_clients_folder, run_kind
from harness.scenario.errors import ScenarioError
from harness.targets.base.interface import TargetError
from harness.terminal import ProgressDisplay, Writer
from harness.trace.completeness import refuse_cut_short
from harness.trace.events import RunKind
from harness.trace.files import RunFolder


@ends_with_exit_code
def clients(
    scripts: list[str] | None = None,
    *,
    target: list[str] | None = None,
    client: list[str] | None = None,
    profile: str | None = None,
    jobs: int = JOBS,
    compare: bool = True,
    tap: bool = True,
    out: Path = Path("reports", "clients"),
    run_id: str | None = None,
    suites: str = "suites",
    expect: list[Path] | None = None,
    confirm: bool = True,
    soak: float = 0.0,
    seed: int = 0,
    soak_group: list[str] | None = None,
    soak_rate: int = RECORDS_PER_S,
    dry_run: bool = False,
) -> ExitCode:
    """Run client scripts with real clients, and compare the results with the scripts and the reference."""
    writer = Writer()
    _check(client or [], soak_group or [])
    plan = ClientsPlan(
        run_id=run_id or new_run_id(),
        scripts=_chosen(suites, scripts or []),
        libraries=(),
        targets=parse_targets(target or ["reference-tcp"], profile=profile, guards_external=True),
        command=command_line(),
        out=out,
        compares=compare,
        taps=tap,
        confirms=confirm,
        entries=read_expectations(expectation_files(suites, expect or []), known_ids(suites)),
        jobs=jobs,
    )
    _announce(plan, writer, dry_run=dry_run)
    # Last, because jars of Java's client may have to be fetched: errors in the options are reported first.
    plan = replace(plan, libraries=asyncio.run(choose_libraries(client or [], writer.say)))
    if dry_run:
        return _print_dry_run(plan, writer)
    with telling_of_interruption(plan.folder.path, "report"):
        carry_out: Callable[[Tell], Coroutine[None, None, object]] = partial(drive, plan)
        if soak:
            how = partial(soak_all, groups=tuple(soak_group or GROUPS), records_per_s=soak_rate)
            carry_out = partial(how, plan, soak, seed)
        return _carry_out(plan, carry_out, writer)


def _announce(plan: ClientsPlan, writer: Writer, *, dry_run: bool) -> None:
    """Print what will be done to external brokers; refuse to run there without the tap that protects them."""
    if not dry_run:
        refuse_taken(plan.folder.path)
    for target in (each for each in plan.targets if each.is_external):
        if not plan.taps:
            raise PlanError(f"{target.spec} has others' things, which the tap guards: leave --no-tap out")
        writer.say(announcement(target, topics="topics"))


def _print_dry_run(plan: ClientsPlan, writer: Writer) -> ExitCode:
    code = list_only(plan.targets, lambda _: outline(plan.run_id))
    for library in plan.libraries:
        writer.say(f"scripts with {library.name}: at most {len(plan.scripts)}, each with names of its own")
    return code


def _carry_out(
    plan: ClientsPlan, carry_out: Callable[[Tell], Coroutine[None, None, object]], writer: Writer
) -> ExitCode:
    path = plan.folder.path
    with ProgressDisplay(writer) as display:
        asyncio.run(carry_out(display.target_says))
        run = Run.load(path)
        write_report(run)
    print_summary(run, writer)
    return exit_code_of(run)


def _chosen(suites: str, patterns: Sequence[str]) -> tuple[ClientScript, ...]:
    catalogue = collect_client_scripts(suites)
    with refusing(ScenarioError):
        return select_client_scripts(catalogue, patterns)


def _check(names: Sequence[str], groups: Sequence[str]) -> None:
    strange = [name for name in groups if name not in GROUPS]
    if strange:
        raise PlanError(f"{strange[0]!r} is no group of a soak; choose from {', '.join(GROUPS)}")
    unknown = [name for name in names if not is_library(name)]
    if unknown:
        raise PlanError(f"{unknown[0]!r} is not a client library; choose from {', '.join(LIBRARY_FORMS)}")


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
    return list(dict.fromkeys(re.sub(r"^reference(?=:|$)", "reference-tcp", spec) for spec in specs))


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

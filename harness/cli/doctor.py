"""`doctor`: show what this machine has and lacks, with remedies."""

import sys
from importlib.metadata import PackageNotFoundError, version
from typing import Final

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from harness.cli.errors import ends_with_exit_code
from harness.extras import why_without
from harness.results.status import ExitCode
from harness.scenario.errors import ScenarioError
from harness.scenario.registry import collect
from harness.targets.base.interface import TargetError
from harness.targets.checks import Check, all_checks
from harness.targets.runtimes.node import find_node

_PACKAGES: Final = ("kio", "pydantic", "pytest", "rich", "typer")
_EXTRAS: Final = {
    "spark": "no report is made",
    "clients": "no real clients can run, and no librdkafka mock",
    "containers": "no target can be a container",
    "captures": "no captures of tcpdump can be judged",
}
"""What does not work without an extra, by extra."""


@ends_with_exit_code
def doctor(*, suites: str = "suites") -> ExitCode:
    """Check this machine: what is there, what is missing, and what to do about it."""
    python = Check(name="python", ok=True, detail=sys.version.split(maxsplit=1)[0], remedy="")
    checks = (python, _packages(), _suites(suites), *all_checks())
    table = Table(box=None, pad_edge=False, show_header=False)
    for column in ("mark", "name", "detail"):
        table.add_column(column, overflow="fold")
    for check in checks:
        table.add_row("[green]✓[/]" if check.ok else "[red]✗[/]", check.name, _detail(check))
    for extra, loss in _EXTRAS.items():
        lacking = why_without(extra)
        _add_optional(table, extra, None if lacking else "installed", f"{loss}; {lacking}")
    _add_node(table)
    _add_docker(table)
    Console().print(table)
    return ExitCode.EXPECTED if all(check.ok for check in checks) else ExitCode.UNAVAILABLE


def _add_optional(table: Table, name: str, found: str | None, remedy: str) -> None:
    table.add_row("[green]✓[/]" if found else "[dim]·[/]", name, found or f"[dim]absent: {escape(remedy)}[/]")


def _add_node(table: Table) -> None:
    try:
        node = find_node()
        _add_optional(table, "node", f"{node.program}, Node {node.version} ({node.reason})", "")
    except TargetError as error:
        _add_optional(table, "node", None, f"{error}, to have the Allure report rendered")


def _add_docker(table: Table) -> None:
    if why_without("containers") is not None:
        return
    # Docker's client is an optional extra.
    from harness.targets.containers.engine import engine_description  # noqa: PLC0415 - see above

    try:
        _add_optional(table, "docker", engine_description(), "")
    except TargetError as error:
        _add_optional(table, "docker", None, f"{error}; all but container targets works without")


def _detail(check: Check) -> str:
    detail = escape(check.detail)
    return detail if check.ok else f"{detail}\n[bold]remedy:[/] {escape(check.remedy)}"


def _packages() -> Check:
    found, missing = [], []
    for package in _PACKAGES:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            missing.append(package)
    detail = ", ".join(missing or found)
    remedy = "install kafka-conformance again, with pip" if missing else ""
    return Check(name="packages", ok=not missing, detail=detail, remedy=remedy)


def _suites(package: str) -> Check:
    try:
        count = len(collect(package))
    except (ImportError, ScenarioError) as error:
        is_absent = isinstance(error, ImportError)
        remedy = "name a package with --suites" if is_absent else "correct the scenario that it names"
        return Check(name="suites", ok=False, detail=str(error), remedy=remedy)
    return Check(name="suites", ok=True, detail=f"{count} scenarios in package {package!r}")

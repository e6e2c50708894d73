"""`list` and `explain`: show scenarios, clauses and behaviours without running anything."""

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path
from typing import Final

import typer
from rich.console import Console
from rich.table import Table

from harness.cli.errors import ends_with_exit_code
from harness.orchestration.plan import PlanError, refusing, select_scripts
from harness.results.client_impact import BEHAVIOURS
from harness.results.status import ExitCode
from harness.scenario.behaviours import load_behaviours
from harness.scenario.clauses import load_clauses
from harness.scenario.crossings import TABLES, Crossing, load_blanks
from harness.scenario.crossings import crossings as find_crossings
from harness.scenario.registry import Catalogue
from harness.scenario.script import Script, script_to_json, step_text
from harness.targets.base.interface import TargetError
from harness.targets.reference.behaviours import BehaviourSheet, behaviour_sheet, behaviour_sheets
from harness.trace.clause import Clause

_TITLES: Final = ("scenario", "APIs", "rows", "what it claims")


@ends_with_exit_code
def list_scenarios(
    patterns: list[str] | None = None,
    *,
    as_json: bool = False,
    clauses: bool = False,
    behaviours: bool = False,
    crossings: bool = False,
    coverage: bool = False,
    minimum: float = 100.0,
    suites: str = "suites",
) -> ExitCode:
    """List scenarios, each with its one-sentence claim, or the coverage of the catalogue; run nothing."""
    if coverage:
        return _list_coverage(patterns or [], minimum=minimum, as_json=as_json, suites=suites)
    found: Sequence[Clause | BehaviourSheet | Crossing]
    if clauses:
        rows = _clauses(load_clauses(suites).values(), patterns or ["*"])
        found, lines = rows, _clause_lines(rows)
    elif behaviours:
        sheets = behaviour_sheets()
        found, lines = sheets, (f"{sheet.name}  ({sheet.releases})" for sheet in sheets)
    else:
        chosen = select_scripts(Catalogue(suites), patterns or []).values()
        if not crossings:
            _list_scripts(chosen, as_json=as_json)
            return ExitCode.EXPECTED
        crossed = find_crossings(chosen, load_blanks(suites))
        found, lines = crossed, crossing_lines(crossed)
    if as_json:
        _print_json([asdict(each) for each in found])
    else:
        typer.echo("\n".join(lines))
    return ExitCode.EXPECTED


def _print_json(data: object) -> None:
    typer.echo(json.dumps(data, indent=2, ensure_ascii=False))


def _list_scripts(chosen: Collection[Script], *, as_json: bool) -> None:
    if as_json:
        _print_json([_summary(script) for script in chosen])
        return
    rows = [(script.id, " ".join(script.apis), " ".join(script.clauses), script.title) for script in chosen]
    console = Console()
    if console.is_terminal:
        table = Table(box=None, pad_edge=False)
        for title in _TITLES:
            table.add_column(title, overflow="fold")
        for row in rows:
            table.add_row(*row)
        console.print(table)
    else:
        # A program that reads a pipe needs whole ids, and fields that it can split.
        typer.echo("\n".join("\t".join(row) for row in (_TITLES, *rows)))
    typer.echo(f"{len(chosen)} scenarios")


def _list_coverage(named: Sequence[str], *, minimum: float, as_json: bool, suites: str) -> ExitCode:
    if len(named) > 1:
        raise PlanError("--coverage is of one run: name its folder, or nothing for the newest")
    # Tables are an extra, and slow to import.
    from harness.cli.coverage import list_coverage  # noqa: PLC0415 - see above

    run = Path(named[0]) if named else None
    return list_coverage(run, minimum=minimum, as_json=as_json, suites=suites)


def crossing_lines(found: Sequence[Crossing]) -> Iterator[str]:
    """Yield the tables: how many scripts show each crossing, or the letter of a blank's reason."""
    marks = iter(found)
    for table, (rows, columns) in TABLES.items():
        yield "".join((f"{table:<25}", *(f"{each:>9}" for each in columns)))
        for row in rows:
            yield "".join((f"{row:<25}", *(f"{each.mark:>9}" for each in islice(marks, len(columns)))))
        yield ""
    shown, reasoned = sum(bool(each.shown_by) for each in found), sum(each.kind is not None for each in found)
    yield "c: Kafka cannot get there, n: no target can show it, s: same code as elsewhere"
    yield f"{shown} shown, {reasoned} with a reason, {len(found) - shown - reasoned} blank"


def _clauses(clauses: Iterable[Clause], patterns: Sequence[str]) -> Sequence[Clause]:
    chosen = [each for each in clauses if any(fnmatchcase(each.id, pattern) for pattern in patterns)]
    if not chosen:
        raise PlanError(f"no row of the catalogue matches {' or '.join(patterns)}; write e.g. 'SG-*'")
    return chosen


def _clause_lines(clauses: Iterable[Clause]) -> Iterator[str]:
    for clause in clauses:
        yield f"{clause.id}  {clause.statement}"
        if clause.exclusion is not None:
            yield f"       {clause.exclusion}: {clause.reason}"


def _summary(script: Script) -> dict[str, object]:
    return {
        "id": script.id,
        "title": script.title,
        "source": script.source,
        "clauses": script.clauses,
        "apis": [f"{api} v{version}" for api, version in script.api_versions],
        "needs": script.needs,
        "broker_config": dict(script.broker_config),
        "digest": script.digest(),
    }


@ends_with_exit_code
def explain(
    scenario_id: str | None = None,
    *,
    behaviour: str | None = None,
    as_json: bool = False,
    suites: str = "suites",
) -> None:
    """Explain a scenario: its claim, the Kafka source that decides it, and its conversation."""
    if behaviour is not None:
        _explain_behaviour(behaviour, suites=suites, as_json=as_json)
    if scenario_id is None:
        if behaviour is None:
            raise PlanError("name a scenario, or a behaviour by --behaviour")
        return
    chosen = select_scripts(Catalogue(suites), [scenario_id])
    if len(chosen) > 1:
        ids = "".join(f"\n    {script.id}  {script.title}" for script in chosen.values())
        raise PlanError(f"{scenario_id!r} names {len(chosen)} scenarios; explain one of them:{ids}")
    for script in chosen.values():
        if as_json:
            _print_json(script_to_json(script))
        else:
            _explain(script)


def _explain_behaviour(name: str, *, suites: str, as_json: bool) -> None:
    with refusing(TargetError):
        sheet = behaviour_sheet(name)
    shown = load_behaviours(suites).get(sheet.name)
    if as_json:
        by = {} if shown is None else {"shown_by": shown.shown_by}
        _print_json({**asdict(sheet), **by})
        return
    typer.echo(f"{sheet.name}\n    {sheet.meaning}\n")
    typer.echo(f"Releases    {sheet.releases}\nDecided by  {sheet.source}")
    if (impact := BEHAVIOURS.get(sheet.name)) is not None:
        typer.echo(f"Noticed     {impact.says}")
    for scenario_id in () if shown is None else shown.shown_by:
        typer.echo(f"Shown by    {scenario_id}")


def _explain(script: Script) -> None:
    lines = [
        f"{script.id}",
        f"    {script.title}",
        *(f"    {line}" for line in script.notes.splitlines()),
        "",
        f"Decided by  {script.source}",
        f"Catalogue   {', '.join(script.clauses) or 'no row'}",
        f"Speaks      {', '.join(f'{api} v{version}' for api, version in script.api_versions)}",
        f"Needs       {', '.join(script.needs) or 'nothing beyond answers'}",
        f"Brokers     {', '.join(f'{k}={v}' for k, v in script.broker_config.items()) or 'as all others'}",
        "",
        *(f"{index:>3}  {step_text(step)}" for index, step in enumerate(script.steps)),
        "",
        f"Run it:  kafka-conformance run --target kafka:latest {script.id}",
    ]
    for line in lines:
        typer.echo(line)

"""`list` and `explain`: what there is to be held, without holding it."""

import json
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from harness.cli.errors import ends_with_exit_code
from harness.conduct.plan import select_scripts
from harness.scenario.registry import collect
from harness.scenario.script import Script, script_to_json, step_text


@ends_with_exit_code
def list_scenarios(
    patterns: Annotated[list[str] | None, typer.Argument(help="Ids or globs, e.g. 'classic/join/*'.")] = None,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON array, for scripts.")] = False,
    suites: Annotated[str, typer.Option(help="The Python package that holds the scenarios.")] = "suites",
) -> None:
    """List scenarios with their sentence, without running anything."""
    chosen = select_scripts(collect(suites), patterns or [])
    if as_json:
        typer.echo(json.dumps([_summary(script) for script in chosen.values()], indent=2, ensure_ascii=False))
        return
    table = Table(box=None, pad_edge=False)
    for title in ("scenario", "APIs", "rows", "what it claims"):
        table.add_column(title, overflow="fold")
    for script in chosen.values():
        table.add_row(script.id, " ".join(script.apis), " ".join(script.clauses), script.title)
    console = Console()
    console.print(table)
    console.print(f"{len(chosen)} scenarios")


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
    scenario_id: Annotated[str, typer.Argument(help="A scenario's id.")],
    *,
    as_json: Annotated[bool, typer.Option("--json", help="The script as data.")] = False,
    suites: Annotated[str, typer.Option(help="The Python package that holds the scenarios.")] = "suites",
) -> None:
    """Tell what a scenario claims, by which Kafka source, and how its conversation goes."""
    for script in select_scripts(collect(suites), [scenario_id]).values():
        if as_json:
            typer.echo(json.dumps(script_to_json(script), indent=2, ensure_ascii=False))
        else:
            _explain(script)


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
        f"Hold it:  kafka-conformance run --target kafka:latest {script.id}",
    ]
    for line in lines:
        typer.echo(line)

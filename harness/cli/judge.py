"""`judge`: compare what brokers answered in captures and taps with what the reference answers."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness.captures import DEFAULT_PORT, Judge, JudgedCaptures, judge_captures, judge_here
from harness.captures.pages import Given, write_pages
from harness.captures.patterns import patterns_of
from harness.captures.sources import tapped_broker
from harness.cli.errors import ends_with_exit_code
from harness.cli.replay import exit_code
from harness.cli.wide_console import wide_console
from harness.orchestration.plan import PlanError, parse_properties
from harness.replay import ReferenceProfile
from harness.report.model.run_data import Run
from harness.results.exit_code import ExitCode, worst
from harness.results.run_kinds import open_folder
from harness.spark.master import SparkError, why_no_spark
from harness.targets.base.interface import TargetError
from harness.targets.reference.profile import coordinator_properties, stored_specification
from harness.targets.reference.target import DEFAULT_PROFILE
from harness.targets.secured.properties import read_properties
from harness.trace.events import RunKind
from harness.trace.files import write_whole
from harness.trace.schema import TraceError

_CAPTURES = typer.Argument(
    help="Captures (pcap, pcapng), journals of taps, or folders with journals; several are read as one.",
    show_default=False,
)
_PROFILE = typer.Option(
    help="The release of the brokers, e.g. `4.1`; by default that of the tapped broker, else the newest."
)
_PORT = typer.Option("--port", help=f"A port of the brokers; may be repeated. By default {DEFAULT_PORT}.")
_PROPERTY = typer.Option(
    "--broker-property",
    help="A property that the brokers have, e.g. `group.initial.rebalance.delay.ms=0`; may be repeated. "
    "All others are as the tap recorded them, else Kafka's defaults.",
)
_BROKER_CONFIG = typer.Option(
    "--broker-config",
    help="The brokers' `server.properties`; what does not concern the coordinator is ignored.",
    dir_okay=False,
)
_WHOLE = typer.Option(
    "--whole",
    help="The captures have everything ever sent about these groups: compare from the start.",
)
_HASH_IDS = typer.Option(
    "--hash-ids", help="Hash groups, members, clients and topics in all that is printed and written."
)
_JSON = typer.Option("--json", help="A file to write the results to.", dir_okay=False)
_OUT = typer.Option(
    "--out", help="A folder to write pages to: a summary, and a page for each finding.", file_okay=False
)
_BESIDE = typer.Option(
    "--beside", help="A run whose scenarios stand beside the captures on the coverage page of `--out`."
)
_MASTER = typer.Option(help="Judge on Spark, at this master: `local[4]`, `spark://…`; else in this process.")
_DEFAULT_COMPARED: Final = (
    "compared with Kafka's default configuration; if the brokers had another, name it with --broker-config "
    "or --broker-property"
)
_SHOWN: Final = 40
_IN_PAGES: Final = "judged.json"
"""The file with the results, beside the pages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Compared:
    """What the brokers are compared with."""

    spec: ReferenceProfile
    properties: Mapping[str, str]
    """The coordinator's properties that were given or recorded."""
    is_newest: bool
    """Whether the newest profile is used because none is known."""
    says: str | None
    """The line that tells what the user did not name."""


@ends_with_exit_code
def judge(
    captures: Annotated[list[Path], _CAPTURES],
    *,
    profile: Annotated[str | None, _PROFILE] = None,
    port: Annotated[list[int] | None, _PORT] = None,
    broker_property: Annotated[list[str] | None, _PROPERTY] = None,
    broker_config: Annotated[Path | None, _BROKER_CONFIG] = None,
    whole: Annotated[bool, _WHOLE] = False,
    hash_ids: Annotated[bool, _HASH_IDS] = False,
    json_file: Annotated[Path | None, _JSON] = None,
    out: Annotated[Path | None, _OUT] = None,
    beside: Annotated[Path | None, _BESIDE] = None,
    spark_master: Annotated[str | None, _MASTER] = None,
) -> ExitCode:
    """Compare a broker's answers in captures or taps with those of the reference."""
    compared = _compared(captures, profile, broker_config, parse_properties(broker_property or []))
    run = _run_beside(beside, out)
    judged = judge_captures(
        captures,
        compared.spec,
        ports=frozenset(port or [DEFAULT_PORT]),
        is_whole=whole,
        hashes_ids=hash_ids,
        has_excerpts=out is not None,
        judge=_judge_at(spark_master),
    )
    console = wide_console()
    if compared.says is not None:
        _say(console, compared.says)
    _print(console, judged)
    if not compared.properties and any(each.replayed.findings for each in judged.groups):
        _say(console, _DEFAULT_COMPARED)
    written = json.dumps(_as_json(judged, compared.spec), indent=2, ensure_ascii=False) + "\n"
    if json_file is not None:
        write_whole(json_file, written)
    if out is not None:
        write_whole(out / _IN_PAGES, written)
        subject = Given(captures, compared.properties, is_newest=compared.is_newest, beside=run)
        _say(console, f"Pages: {write_pages(out, judged, compared.spec, subject)}")
    code = exit_code([each.replayed for each in judged.groups])
    return worst([code, ExitCode.BAD_DATA] if judged.notes.damages else [code])


def _run_beside(beside: Path | None, out: Path | None) -> Run | None:
    """Read the run to show beside the captures; refuse an output folder with unrelated files."""
    if out is None and beside is not None:
        raise PlanError("--beside has no effect without --out")
    if out is not None and out.is_dir() and any(out.iterdir()) and not (out / _IN_PAGES).is_file():
        raise PlanError(
            f"{out}: this folder has files that are no pages of `judge`; name an empty or new one"
        )
    return None if beside is None else Run.load(open_folder(beside, RunKind.SUITES).path)


def _judge_at(spark_master: str | None) -> Judge:
    if spark_master is None:
        return judge_here
    if (lacking := why_no_spark(spark_master)) is not None:
        raise SparkError(lacking)
    from harness.captures.on_spark import judge_on_spark  # noqa: PLC0415 - PySpark is an extra, and slow to import

    return partial(judge_on_spark, master=spark_master)


def _compared(
    captures: Sequence[Path],
    profile: str | None,
    broker_config: Path | None,
    given: Mapping[str, str],
) -> _Compared:
    """Return what the user named, completed by what a tap recorded, else by the newest release."""
    tapped = tapped_broker(captures)
    recorded = tapped.broker_config if tapped is not None and broker_config is None else {}
    in_file = {} if broker_config is None else read_properties(broker_config, "--broker-config")
    properties = coordinator_properties({**recorded, **in_file}) | dict(given)
    is_newest = profile is None and tapped is None
    spec = _spec(profile or (DEFAULT_PROFILE if tapped is None else tapped.profile), properties)
    says = None
    if recorded:
        says = f"compared with {spec.profile.name} as the tapped broker was configured"
    elif is_newest:
        says = f"compared with the newest profile, {spec.profile.name}; name another with --profile"
    return _Compared(spec=spec, properties=properties, is_newest=is_newest, says=says)


def _spec(profile: str, properties: Mapping[str, str]) -> ReferenceProfile:
    try:
        return stored_specification(profile, properties, where="the brokers' configuration", defaults={})
    except (TargetError, TraceError) as error:
        raise PlanError(str(error)) from error


def _print(console: Console, judged: JudgedCaptures) -> None:
    table = Table("group", "clients", "compared", "not compared", "answered otherwise")
    for each in judged.groups:
        replayed = each.replayed
        table.add_row(
            Text(_printable(each.group)),
            Text(_printable(", ".join(each.clients) or "unknown")),
            str(replayed.compared),
            str(sum(replayed.not_compared.values())),
            str(len(replayed.findings)),
        )
    console.print(table)
    for line in judged.notes.in_words():
        _say(console, line)
    for each in judged.groups:
        for why, count in sorted(each.replayed.not_compared.items()):
            _say(console, f"group {each.group}: not compared: {count} {why}")
    findings = [finding for each in judged.groups for finding in each.replayed.findings]
    for pattern in patterns_of(judged.groups):
        clients = ", ".join(f"{name or 'unknown'} {count}" for name, count in pattern.clients.items())
        _say(console, f"{pattern.signature}: {pattern.what}, {pattern.count} times, to {clients}")
        _say(console, f"  {pattern.noticed}")
    for finding in findings[:_SHOWN]:
        _say(console, f"group {finding.group}, at {finding.at_ms / 1_000:.3f} s: {finding.says}")
    if len(findings) > _SHOWN:
        _say(console, f"and {len(findings) - _SHOWN} more")


def _say(console: Console, line: str) -> None:
    console.print(_printable(line), soft_wrap=True, highlight=False, markup=False)


def _printable(text: str) -> str:
    """Escape characters in a text that are not printable, such as a terminal's control sequences."""
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)


def _as_json(judged: JudgedCaptures, spec: ReferenceProfile) -> dict[str, object]:
    return {
        "profile": spec.profile.name,
        "notes": list(judged.notes.in_words()),
        "patterns": [asdict(each) for each in patterns_of(judged.groups)],
        "groups": [
            {
                "group": each.group,
                "clients": each.clients,
                "compared": each.replayed.compared,
                "not_compared": dict(each.replayed.not_compared),
                "findings": [asdict(finding) for finding in each.replayed.findings],
            }
            for each in judged.groups
        ],
    }

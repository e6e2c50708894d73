"""`gate`: decide on a stored run, and return an exit code."""

import shlex
from enum import StrEnum
from pathlib import Path
from typing import Final

import typer

from harness.cli.errors import ends_with_exit_code
from harness.clients.collect import known_ids
from harness.gate.decision import UPDATE, three_lines
from harness.gate.decision_file import annotations, write_decision
from harness.gate.evaluate import Gated, evaluate
from harness.gate.policy import FILE_NAME, Baseline, Policy, PolicyError, load_policy
from harness.gate.sides import OF_CLIENTS_TOO, open_run
from harness.orchestration.judging import Given
from harness.orchestration.plan import expectation_files
from harness.report.site.run_site import add_gate_view, add_regression
from harness.results.status import ExitCode
from harness.terminal import Writer, plain
from harness.trace.files import LATEST

_KEPT: Final = 4
"""Rows for what follows the notes."""


class Style(StrEnum):
    """The service whose annotations are printed."""

    NONE = "none"
    GITHUB = "github"


@ends_with_exit_code
def gate(
    run_folder: Path = Path("reports", LATEST),
    *,
    baseline: Path | None = None,
    config: Path | None = None,
    pair: list[str] | None = None,
    expect: list[Path] | None = None,
    suites: str = "suites",
    annotate: Style = Style.NONE,
    out: Path | None = None,
    exit_zero: bool = False,
) -> ExitCode:
    """Decide on a stored run: exit code 0 is green, any other says why not.

    What `run --topic` and `--assume` stated is stored with the run.
    """
    folder = run_folder.resolve()
    usual = Path(FILE_NAME)
    policy = load_policy(config or (usual if usual.is_file() else None))
    policy = _with_pairs(policy, pair or [])
    if pair and baseline is None and policy.baseline.run is None:
        raise PolicyError(f"--pair {pair[0]}: there is no baseline; name one with --baseline RUN")
    files = expectation_files(suites, expect or [])
    given = Given(expectation_files=files, catalogue=known_ids(suites), baseline=baseline)
    gated = evaluate(open_run(run_folder, OF_CLIENTS_TOO), policy, given)
    summary = write_decision(gated, out or folder, policy=policy)
    page = add_gate_view(out or folder, gated.decision.run_id)
    add_regression(out or folder)
    writer = Writer()
    _print(gated, writer, run_folder)
    if annotate is Style.GITHUB:
        for line in annotations(gated.decision):
            typer.echo(line)
    writer.say(f"Summary: {summary}")
    writer.say(f"Page: {page}")
    return ExitCode.EXPECTED if exit_zero else gated.decision.code


def _with_pairs(policy: Policy, pairs: list[str]) -> Policy:
    named = dict(policy.baseline.targets)
    for pair in pairs:
        new, separator, old = pair.partition("=")
        if not (new and separator and old):
            raise PolicyError(f"--pair {pair}: write NEW=OLD, e.g. kafka-4.4.0=kafka-4.3.1")
        named[new] = old
    baseline = Baseline.model_validate({**policy.baseline.model_dump(), "targets": named})
    return policy.model_copy(update={"baseline": baseline})


def _print(gated: Gated, writer: Writer, run: Path) -> None:
    decision = gated.decision
    for line in three_lines(decision):
        writer.say(line)
    found = next((each for each in decision.complaints if each.entry is not None), None)
    if found is not None and found.entry is not None:
        writer.say("If that is known and right, this lists it, with a reason and a link:")
        is_command = found.entry.startswith(shlex.join(UPDATE))
        for line in f"{found.entry}{f' --run {shlex.quote(str(run))}' if is_command else ''}".splitlines():
            writer.say(f"  {line}")
        if found is not decision.complaints[0]:
            writer.say(f"again: {found.reproduction}")
    notes = [[plain(f"note: {note}")] for note in decision.notes]
    writer.say_some(notes, rest="gate.md has them all", noun="note", keep=_KEPT)

"""`expect`: maintain the entries for known differences: lint, update, prune, why."""

import difflib
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Final

import typer

from harness.cli.errors import ends_with_exit_code
from harness.clients.collect import known_ids
from harness.diff.expectations import (
    Entry,
    ExpectationError,
    SourcedEntry,
    covered_by,
    covered_file,
    load_expectations,
)
from harness.diff.judge import TargetInfo
from harness.diff.target_pattern import named_target
from harness.gate.decision import plain
from harness.gate.evaluate import JudgedRun, judge_whole
from harness.gate.expectation_care import (
    Proposal,
    applying,
    covered_text,
    lint,
    outworn,
    proposals,
    superseded,
    without_entries,
)
from harness.orchestration.plan import PlanError, expectation_files, parse_targets
from harness.results.status import ExitCode
from harness.suggestions import close_to
from harness.trace.files import LATEST, write_whole

expect = typer.Typer(
    help="Check, add and remove expectation entries (known differences).", no_args_is_help=True
)

_INSTALLED: Final = frozenset(("site-packages", "dist-packages"))
"""Folders into which Python installs packages."""
_LINK: Final = "link (KAFKA-…, KIP-… or an address)"
_NEWEST: Final = Path("reports", LATEST)


def _today() -> date:
    return datetime.now(UTC).date()


@expect.command("lint")
@ends_with_exit_code
def lint_files(*, suites: str = "suites", expect: list[Path] | None = None) -> ExitCode:
    """Check expectation files: fields, reasons, links, scenarios, targets, causes, duplicates, expiry."""
    chosen = expectation_files(suites, expect or [])
    count, faults, expired = lint(chosen, known_ids(suites), _today())
    for line in (*faults, *expired):
        typer.echo(line)
    typer.echo(f"{count} entries in {len(chosen)} files: {len(faults)} faults, {len(expired)} expired")
    if faults:
        return ExitCode.CONFIGURATION
    return ExitCode.STALE if expired else ExitCode.EXPECTED


@expect.command("update")
@ends_with_exit_code
def update(
    scenarios: list[str] | None = None,
    *,
    runs: list[Path] | None = None,
    every: bool = False,
    target: list[str] | None = None,
    reason: str | None = None,
    link: str | None = None,
    expires: str | None = None,
    owner: str | None = None,
    yes: bool = False,
    suites: str = "suites",
    expect: list[Path] | None = None,
) -> ExitCode:
    """Add an entry for each cause of the chosen unexpected results; each needs a reason and a link.

    New entries go to the last file of `--expect`, which need not exist, else to the first beside the suites.
    """
    if not scenarios and not every:
        raise PlanError("name the results to list as known: ids or globs of scenarios, or --all")
    further = expect or []
    extra = {key: value for key, value in (("expires", expires), ("owner", owner)) if value}
    found_count = written_count = 0
    for run_folder in runs or [_NEWEST]:
        # What one run made expected needs no entry for the next.
        paths = expectation_files(suites, [*further[:-1], *(path for path in further[-1:] if path.exists())])
        home = _home(paths, further)
        entries = load_expectations(paths)
        run = _judged(run_folder, entries)
        found = proposals(run, entries, scenarios=scenarios or [], targets=target or [], home=home)
        written = [
            each for each in found if _foresee(each, home, reason=reason, link=link, further=extra, yes=yes)
        ]
        _remove(superseded(run, entries, written), yes=yes)
        found_count, written_count = found_count + len(found), written_count + len(written)
    if not found_count:
        raise PlanError("no unexpected result is among those; `kafka-conformance gate` shows them")
    typer.echo(f"{written_count} of {found_count} written")
    return ExitCode.EXPECTED


def _home(paths: Sequence[Path], further: Sequence[Path]) -> Path:
    """Return the file for new entries: the last that the user named, else the first one beside the suites."""
    if further:
        return further[-1]
    if not paths:
        raise PlanError("there is no expectation file yet; name one: --expect FILE")
    return paths[0]


def _foresee(
    proposal: Proposal,
    home: Path,
    *,
    reason: str | None,
    link: str | None,
    further: dict[str, str],
    yes: bool,
) -> bool:
    """Prompt for a missing reason or link, show the change, and write it if that is confirmed."""
    typer.echo(f"\n{proposal.says}\n  {plain(proposal.judgement.reason)}")
    old = None if proposal.changes is None else proposal.changes.entry
    # What explains a cause explains it in one more scenario too.
    kept = old if proposal.cause is not None else None
    reported = reason or (kept.reason if kept else _asked("reason", old.reason if old else None))
    linked = link or (kept.link if kept else _asked(_LINK, old.link if old else None))
    given = {"reason": reported, "link": linked, **further}
    _refuse_faulty(proposal.values(given))
    path = home if proposal.changes is None else proposal.changes.path
    before = _text(path)
    after = proposal.applied_to(before, given)
    changes = {path: (before, after)}
    if proposal.cause is not None:
        beside = covered_file(path)
        covered = {**covered_by(path), **proposal.covered}
        # The scenarios come first: an entry without them is refused.
        changes = {beside: (_text(beside), covered_text(after, covered)), **changes}
    return _written(changes, yes=yes)


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def _remove(entries: Sequence[SourcedEntry], *, yes: bool) -> None:
    for path in dict.fromkeys(one.path for one in entries if _is_own(one.path)):
        gone = {one.index for one in entries if one.path == path}
        before = _text(path)
        _written({path: (before, without_entries(before, gone))}, yes=yes)


def _refuse_faulty(values: Mapping[str, object]) -> None:
    """Refuse an entry that the next run would refuse, before anything is written."""
    try:
        Entry.model_validate(values)
    except ValueError as error:
        lines = [line.strip() for line in str(error).splitlines()]
        raise ExpectationError(f"such an entry would be refused: {' '.join(lines[1:3])}") from error


def _is_own(path: Path) -> bool:
    """Return whether a file is the user's, and not part of an installed package."""
    return _INSTALLED.isdisjoint(path.resolve().parts)


def _asked(what: str, usual: str | None) -> str:
    if not sys.stdin.isatty():
        name = what.partition(" ")[0]
        raise PlanError(f"an entry needs a {name}, and this terminal cannot ask for it: give --{name}")
    return str(typer.prompt(what, default=usual))


def _written(changes: Mapping[Path, tuple[str, str]], *, yes: bool) -> bool:
    """Show changes of files as diffs, and make them in their order if that is confirmed."""
    changes = {path: texts for path, texts in changes.items() if texts[0] != texts[1]}
    for path, (before, after) in changes.items():
        if not _is_own(path):
            raise PlanError(f"{path} is part of an installed package; name a file of your own: --expect FILE")
        shown = difflib.unified_diff(
            before.splitlines(), after.splitlines(), fromfile=str(path), tofile=str(path), lineterm="", n=2
        )
        typer.echo("\n".join(shown))
    if not yes and not (sys.stdin.isatty() and typer.confirm("write it?", default=False)):
        typer.echo("not written" if sys.stdin.isatty() else "not written: confirm with --yes")
        return False
    for path, (_, after) in changes.items():
        write_whole(path, after)
    return True


@expect.command("prune")
@ends_with_exit_code
def prune(
    runs: list[Path] | None = None,
    *,
    yes: bool = False,
    suites: str = "suites",
    expect: list[Path] | None = None,
) -> ExitCode:
    """Show the entries that have expired or match none of the runs, and remove them.

    From entries with a cause, take the scenarios that conform now.
    """
    entries = load_expectations(expectation_files(suites, expect or []))
    opened = [_judged(path, entries) for path in runs or [_NEWEST]]
    found = outworn(opened, entries, known_ids(suites), _today())
    for one in found:
        typer.echo(f"{one.entry.place}: {one.entry.entry.scenario}: {one.why}")
    if not found:
        typer.echo(f"every entry about the {len(opened)} run(s) still applies")
    for path in dict.fromkeys(one.entry.path for one in found):
        gone = [one for one in found if one.entry.path == path]
        before, beside = _text(path), covered_file(path)
        after = without_entries(before, {one.entry.index for one in gone if not one.left})
        left = {one.entry.place: one.left for one in gone}
        covered = {
            cause: ids & left.get(one.place, ids)
            for one in entries
            if one.path == path
            for cause, ids in one.covered.items()
        }
        changes = {path: (before, after)}
        if covered:
            changes[beside] = (_text(beside), covered_text(after, covered))
        _written(changes, yes=yes)
    return ExitCode.EXPECTED


@expect.command("why")
@ends_with_exit_code
def why(
    scenario: str,
    *,
    target: str,
    client: str | None = None,
    run_folder: Path | None = None,
    suites: str = "suites",
    expect: list[Path] | None = None,
) -> ExitCode:
    """Say which entry applies to a scenario on a target, and why the others do not."""
    catalogue = known_ids(suites)
    if scenario not in catalogue:
        hint = close_to(scenario, catalogue, otherwise="`kafka-conformance list` shows all of them")
        raise PlanError(f"there is no scenario {scenario!r}; {hint}")
    entries = load_expectations(expectation_files(suites, expect or []))
    run = None if run_folder is None else _judged(run_folder, entries)
    name, info = _info(target, client, run)
    judged = () if run is None else run.checked.judgements
    judgement = next((j for j in judged if (j.scenario_id, j.target) == (scenario, name)), None)
    if judgement is not None:
        typer.echo(f"in the run: {judgement.outcome}, {judgement.expectation}: {plain(judgement.reason)}")
        for cause in judgement.causes:
            typer.echo(f"cause: {plain(cause)}")
    found = applying(entries, scenario, info, judgement, _today())
    for one, obstacles in found:
        verdict = "applies" if not obstacles else f"does not apply: {'; '.join(obstacles)}"
        typer.echo(f"{one.place}: {verdict}")
        typer.echo(f"    {one.entry.reason} ({one.entry.link})")
        for cause in one.entry.causes:
            typer.echo(f"    cause: {plain(cause)}")
    typer.echo(f"{len(entries) - len(found)} of {len(entries)} entries speak of other scenarios")
    return ExitCode.EXPECTED


def _info(target: str, library: str | None, run: JudgedRun | None) -> tuple[str, TargetInfo]:
    """Return a target's name in results, and its information: from the run, or else from its spec."""
    if run is not None:
        infos = {name: info for name, info in run.infos.items() if info.library == library}
        wanted = named_target(target, {info.target: info.spec for info in infos.values()})
        found = next(((name, info) for name, info in infos.items() if info.target == wanted), None)
        if found is None:
            beside = "" if library is None else f" with {library}"
            there = "; ".join(run.infos) or "none"
            raise PlanError(f"the run has no target {target!r}{beside}; it has {there}")
        return found
    (parsed,) = parse_targets([target], guards_external=True)
    info = TargetInfo(
        run_id="", target=parsed.name, spec=parsed.spec, profile="", oracle=None, library=library
    )
    return parsed.name, info


def _judged(path: Path, entries: tuple[SourcedEntry, ...]) -> JudgedRun:
    return judge_whole(path, entries, _today())

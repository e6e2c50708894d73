"""Results of client scripts as judgements, like those of scenarios; each target and library is one column."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import date
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Final

from harness.diff.baseline import compared_with
from harness.diff.check import CheckedRun
from harness.diff.expectations import SourcedEntry, apply_expectations
from harness.diff.judge import TargetInfo
from harness.diff.model import Judgement
from harness.invariants import AtFault
from harness.results.client_results import (
    ClientResult,
    ClientScriptData,
    ClientsRun,
    clients_folder,
    load_clients,
    read_results,
    write_results,
)
from harness.results.replay_results import ReplayFinding
from harness.results.status import ResultStatus
from harness.spark.rows import OF_LIBRARY, BrokerHeader
from harness.trace.files import RunFolder
from harness.verdict import Expectation, Outcome

_DIGITS: Final = 12
_DEPARTED: Final = (Outcome.DIVERGES, Outcome.INDETERMINATE)
_AS_HERE: Final[Mapping[str, str]] = MappingProxyType({})


def column_name(target: str, library: str) -> str:
    """Return the name of a target with a library, for use wherever a target's name is expected."""
    return f"{target}, {library}"


def client_infos(run: ClientsRun, libraries: Sequence[str] = ()) -> Mapping[str, TargetInfo]:
    """Return the target information that a checker needs, by `column_name` of each target and library.

    Args:
        run: the client scripts.
        libraries: further libraries, for which the run may have no result.
    """
    return {
        column_name(record.name, library): TargetInfo(
            run_id=run.run_id,
            target=record.name,
            spec=record.spec,
            profile=record.profile,
            oracle=None,
            library=library,
        )
        for record in run.targets
        for library in dict.fromkeys((*run.libraries, *libraries))
    }


def client_judgements(run: ClientsRun, names: Mapping[str, str] = _AS_HERE) -> tuple[Judgement, ...]:
    """Return the results of client scripts as judgements, with their stored expectations.

    Args:
        run: the client scripts.
        names: targets to rename, with their new names.
    """
    return tuple(_judgement(run, each, names) for each in run.results)


def _judgement(run: ClientsRun, result: ClientResult, names: Mapping[str, str]) -> Judgement:
    name = run.name_of(result)
    script = run.scripts[result.script_id]
    return Judgement(
        run_id=run.run_id,
        target=column_name(names.get(name, name), result.library),
        oracle=None,
        scenario_id=result.script_id,
        title=script.title,
        suite=result.script_id.partition("/")[0],
        apis=(),
        clauses=(),
        source=script.source,
        outcome=result.outcome.value,
        expectation=result.expectation.value,
        delta=result.delta.value,
        reason=result.foreseen or reason_of(result),
        observed=reason_of(result),
        causes=(),
        link=result.link,
        signature=client_signature(result),
        first_step=result.remarks[0].step if result.remarks else None,
        difference_count=len(result.remarks) + violation_count(result) + len(result.replays),
        event_count=0,
        duration_ms=1000 * result.duration_s,
        confirmation=result.confirmation.value,
        shown_count=result.shown_count,
        attempt_count=result.attempt_count,
    )


def check_clients(
    run: ClientsRun,
    *,
    entries: Sequence[SourcedEntry],
    baseline: Sequence[Judgement] | None,
    today: date,
) -> CheckedRun:
    """Check client scripts against expectation entries and against an earlier run's results.

    Args:
        run: the client scripts.
        entries: the known differences.
        baseline: an earlier run's judgements, with its targets renamed to this run's names; or None.
        today: the date by which entries expire.
    """
    applied = apply_expectations(client_judgements(run), client_infos(run), entries, today)
    compared = compared_with(applied.judgements, baseline)
    return CheckedRun(
        judgements=compared.judgements,
        differences=(),
        stale_entries=applied.stale_entries,
        removed=compared.removed,
    )


def keep_expectations(folder: Path, entries: Sequence[SourcedEntry], today: date) -> ClientsRun:
    """Store with the results of client scripts what the expectation entries make of them, and reload the run.

    Raises:
        ReportError: a file is missing or damaged.
        TraceError: likewise.
    """
    run = load_clients(folder)
    if not run.files.judgement_json.is_file():
        return run
    checked = check_clients(run, entries=entries, baseline=None, today=today)
    judged = {(each.target, each.scenario_id): each for each in checked.judgements}
    kept = []
    for each in read_results(run.files):
        place = column_name(run.name_of(each), each.library), each.script_id
        now = judged[place]
        changes = {
            "expectation": Expectation(now.expectation),
            "foreseen": "" if now.reason == now.observed else now.reason,
            "link": now.link,
        }
        kept.append(each.model_copy(update=changes))
    write_results(run.files, kept)
    return load_clients(folder)


def client_signature(result: ClientResult) -> str | None:
    """Return a hash of the first departure, equal in every run; None if no departure can be named.

    The hash leaves out what varies by chance: an event's number in its conversation, and the observed values.
    """
    departure = _departure(result) if result.outcome in _DEPARTED else None
    if departure is None:
        return None
    parts = json.dumps([result.script_id, result.library, *departure], ensure_ascii=False)
    return sha256(parts.encode(errors="replace")).hexdigest()[:_DIGITS]


def _departure(result: ClientResult) -> tuple[object, ...] | None:
    if result.remarks:
        first = result.remarks[0]
        against = "script" if first in result.mismatches else "reference"
        return (against, first.step, first.about)
    broken = sorted(each.invariant for each in result.violations if each.party == AtFault.COORDINATOR)
    if broken:
        return ("wire", broken[0])
    if result.replays:
        found = result.replays[0]
        return ("replay", found.api, found.api_version, found.field)
    return None


def violation_count(result: ClientResult) -> int:
    """Return how many invariants the coordinator broke; those that only clients broke do not count."""
    return sum(each.party == AtFault.COORDINATOR for each in result.violations)


def reason_of(result: ClientResult) -> str:
    """Return the reason of a result in one line; empty if there is nothing to report."""
    place, says = ("", result.because) if result.is_lost else first_remark(result)
    return ": ".join(part for part in (place, says) if part)


def first_remark(result: ClientResult) -> tuple[str, str]:
    """Return where and how a result first departs; the place is empty if only the outcome has a reason."""
    if result.remarks:
        first = result.remarks[0]
        against = "" if first in result.mismatches else "against the reference: "
        return f"step {first.step}, {first.text}", f"{against}{first.says}"
    if result.violations and result.status is not ResultStatus.PASSED:
        broken = result.violations[0]
        return f"on the wire, event {broken.sequence}", f"{broken.invariant}: {broken.detail}"
    if result.replays:
        return f"in the replay, {replay_place(result.replays[0])}", result.replays[0].says
    return "", result.because


def replay_place(finding: ReplayFinding) -> str:
    """Return where in a conversation the reference answers differently, in words."""
    parts = (
        f"event {finding.position}",
        f"{finding.api} v{finding.api_version}",
        finding.actor,
        f"group {finding.group}",
        finding.field,
    )
    return ", ".join(part for part in parts if part)


def archived_clients(folder: RunFolder) -> tuple[Sequence[BrokerHeader], Sequence[Judgement]]:
    """Return the targets with libraries of a run's client scripts, and their results, for an archive.

    Raises:
        ReportError: a file of the scripts is missing or damaged.
        TraceError: likewise.
    """
    found = clients_folder(folder.path)
    if found is None:
        return (), ()
    run_id, run = folder.read_run().run_id, load_clients(found)
    judgements = tuple(replace(each, run_id=run_id) for each in client_judgements(run))
    scripts = [_reported(each) for _, each in sorted(run.scripts.items())]
    headers = [
        BrokerHeader(
            **asdict(record)
            | {"run_id": run_id, "target": name, "config_digest": _digest([*scripts, version])},
            broker_ordinal=OF_LIBRARY,
        )
        for record in run.targets
        for library, version in run.libraries.items()
        if (name := column_name(record.name, library)) in {each.target for each in judgements}
    ]
    return headers, judgements


def _reported(script: ClientScriptData) -> Sequence[object]:
    return [script.id, *[step.text for step in script.steps]]


def _digest(parts: Sequence[object]) -> str:
    return sha256(json.dumps(parts, ensure_ascii=False).encode(errors="replace")).hexdigest()[:_DIGITS]

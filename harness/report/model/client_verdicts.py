"""What became of the client scripts of a run, as the archive of runs keeps it and the gate compares it."""

import json
from collections.abc import Sequence
from hashlib import sha256
from typing import Final

from harness.invariants import AtFault
from harness.report.model.clients_page import first_remark
from harness.results.client_results import (
    ClientResult,
    ClientScriptData,
    ClientsRun,
    clients_folder,
    load_clients,
)
from harness.spark.archive_rows import ClientVerdict
from harness.trace.files import RunFolder
from harness.verdict import Outcome

_DIGITS: Final = 12
_DEPARTED: Final = (Outcome.DIVERGES, Outcome.INDETERMINATE)


def client_verdicts(folder: RunFolder) -> tuple[ClientVerdict, ...]:
    """Read what became of a run's client scripts; nothing where it has none, or they were cut short.

    Raises:
        ReportError: a file of theirs is missing or damaged.
        TraceError: likewise.
    """
    found = clients_folder(folder.path)
    if found is None:
        return ()
    run_id, clients = folder.read_run().run_id, load_clients(found)
    scripts_digest = _digest([_reported(each) for _, each in sorted(clients.scripts.items())])
    return tuple(_verdict(run_id, clients, each, scripts_digest) for each in clients.results)


def client_signature(result: ClientResult) -> str | None:
    """Return a hash of what first departs, equal in every run; None where nothing that can be named does.

    Left out is what is chance: the number of an event in its conversation, and what was seen there in words.
    """
    departure = _departure(result) if result.outcome in _DEPARTED else None
    return None if departure is None else _digest([result.script_id, result.library, *departure])


def _departure(result: ClientResult) -> tuple[object, ...] | None:
    remarks = sorted((*result.mismatches, *result.differences), key=lambda each: each.step)
    if remarks:
        against = "script" if remarks[0] in result.mismatches else "reference"
        return (against, remarks[0].step, remarks[0].says)
    broken = sorted(each.invariant for each in result.violations if each.party == AtFault.COORDINATOR)
    if broken:
        return ("wire", broken[0])
    if result.replays:
        first = result.replays[0]
        return ("replay", first.api, first.api_version, first.field)
    return None


def _verdict(run_id: str, run: ClientsRun, result: ClientResult, scripts_digest: str) -> ClientVerdict:
    record = run.references[result.target]
    remarks = (*result.mismatches, *result.differences)
    place, says = first_remark(result)
    return ClientVerdict(
        run_id=run_id,
        target=record.name,
        library=result.library,
        library_version=run.libraries[result.library],
        script_id=result.script_id,
        title=run.scripts[result.script_id].title,
        outcome=result.outcome,
        expectation=result.expectation,
        reason=": ".join(part for part in (place, says) if part),
        signature=client_signature(result),
        first_step=min((each.step for each in remarks), default=None),
        mismatch_count=len(result.mismatches),
        difference_count=len(result.differences),
        violation_count=sum(each.party == AtFault.COORDINATOR for each in result.violations),
        replay_count=len(result.replays),
        compared=result.compared,
        duration_ms=1000 * result.duration_s,
        spec=record.spec,
        profile=record.profile,
        implementation=record.implementation,
        broker_config=json.dumps(dict(record.broker_config), sort_keys=True),
        scripts_digest=scripts_digest,
        confirmation=result.confirmation,
        shown_count=result.shown_count,
        attempt_count=result.attempt_count,
    )


def _reported(script: ClientScriptData) -> Sequence[object]:
    return [script.id, *[step.text for step in script.steps]]


def _digest(parts: Sequence[object]) -> str:
    return sha256(json.dumps(parts, ensure_ascii=False).encode(errors="replace")).hexdigest()[:_DIGITS]

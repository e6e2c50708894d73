"""The results of a run's client scripts, as the archive of runs stores them."""

import json
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Final

from harness.results.client_judgements import client_judgements, violation_count
from harness.results.client_results import (
    ClientResult,
    ClientScriptData,
    ClientsRun,
    clients_folder,
    load_clients,
)
from harness.spark.archive_rows import ClientVerdict
from harness.trace.files import RunFolder

_DIGITS: Final = 12


def client_verdicts(folder: RunFolder) -> tuple[ClientVerdict, ...]:
    """Read the results of a run's client scripts; none if it has no scripts, or they were cut short.

    Raises:
        ReportError: a file of the scripts is missing or damaged.
        TraceError: likewise.
    """
    found = clients_folder(folder.path)
    if found is None:
        return ()
    run_id, clients = folder.read_run().run_id, load_clients(found)
    scripts_digest = _digest([_reported(each) for _, each in sorted(clients.scripts.items())])
    return tuple(_verdict(run_id, clients, each, scripts_digest) for each in clients.results)


def _verdict(run_id: str, run: ClientsRun, result: ClientResult, scripts_digest: str) -> ClientVerdict:
    record = run.references[result.target]
    (judgement,) = client_judgements(replace(run, results=(result,)))
    return ClientVerdict(
        run_id=run_id,
        target=record.name,
        library=result.library,
        library_version=run.libraries[result.library],
        script_id=result.script_id,
        title=judgement.title,
        outcome=judgement.outcome,
        expectation=judgement.expectation,
        reason=judgement.reason,
        signature=judgement.signature,
        first_step=judgement.first_step,
        mismatch_count=len(result.mismatches),
        difference_count=len(result.differences),
        violation_count=violation_count(result),
        replay_count=len(result.replays),
        compared=result.compared,
        duration_ms=judgement.duration_ms,
        spec=record.spec,
        profile=record.profile,
        implementation=record.implementation,
        broker_config=json.dumps(dict(record.broker_config), sort_keys=True),
        scripts_digest=scripts_digest,
        confirmation=judgement.confirmation,
        shown_count=judgement.shown_count,
        attempt_count=judgement.attempt_count,
    )


def _reported(script: ClientScriptData) -> Sequence[object]:
    return [script.id, *[step.text for step in script.steps]]


def _digest(parts: Sequence[object]) -> str:
    return sha256(json.dumps(parts, ensure_ascii=False).encode(errors="replace")).hexdigest()[:_DIGITS]

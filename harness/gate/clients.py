"""Client scripts as evidence for a gate: judged like scenarios, with details from their own folder."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Final

from harness.diff.check import CheckedRun
from harness.diff.expectations import SourcedEntry
from harness.diff.judge import TargetInfo
from harness.diff.model import Judgement
from harness.gate.complaint import Complaint, Kind
from harness.gate.policy import Handling, Policy
from harness.report.model.clients import client_reproduction, column_key
from harness.report.model.names import scenario_page
from harness.results.baseline import ResultKey
from harness.results.client_judgements import check_clients, client_infos, client_judgements, column_name
from harness.results.client_results import ClientsRun
from harness.results.exit_code import ENDED_COMPLETE
from harness.trace.events import TARGET_LOST

Weighed = tuple[Complaint, Handling]
NOTHING_CHECKED: Final = CheckedRun(judgements=(), differences=(), stale_entries=(), removed=())
_LOST_REMEDY: Final = "record/logs.tar.zst in the clients' folder has what its brokers wrote"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientEvidence:
    """The evidence from a run's client scripts for a decision; empty if it has none."""

    checked: CheckedRun = NOTHING_CHECKED
    infos: Mapping[str, TargetInfo] = field(default_factory=dict)
    """By target and library, including the libraries of the baseline."""
    baseline: tuple[Judgement, ...] = ()
    """The baseline's judgements, with its targets renamed to this run's names."""
    places: Mapping[ResultKey, tuple[str, str]] = field(default_factory=dict)
    """For each result, a command line that runs the script again, and its page."""
    further: tuple[Weighed, ...] = ()
    """Complaints about the scripts as a whole."""


def client_evidence(
    run: ClientsRun | None,
    baseline: ClientsRun | None,
    policy: Policy,
    *,
    entries: Sequence[SourcedEntry] = (),
    today: date,
) -> ClientEvidence:
    """Judge a run's client scripts with today's expectations, and compare them with a baseline's."""
    if run is None:
        return ClientEvidence() if baseline is None else ClientEvidence(further=(_gone(policy),))
    before = None
    if baseline is not None:
        before = client_judgements(baseline, {old: new for new, old in policy.baseline.targets.items()})
    return ClientEvidence(
        checked=check_clients(run, entries=entries, baseline=before, today=today),
        infos=client_infos(run, () if baseline is None else tuple(baseline.libraries)),
        baseline=before or (),
        places=_places(run),
        further=(*_of_ending(run), *_of_lost(run, policy)),
    )


def _gone(policy: Policy) -> Weighed:
    complaint = Complaint(
        kind=Kind.VANISHED,
        subject="client scripts",
        reason="the baseline has some, and this run has none",
        remedy="run with --clients, or set baseline.vanished to warn",
    )
    return complaint, policy.baseline.vanished


def _places(run: ClientsRun) -> Mapping[ResultKey, tuple[str, str]]:
    found: dict[ResultKey, tuple[str, str]] = {}
    for each in run.results:
        name = run.name_of(each)
        page = scenario_page(each.script_id, column_key(name, each.library))
        found[column_name(name, each.library), each.script_id] = client_reproduction(run, each), page
    return found


def _of_ending(run: ClientsRun) -> Iterator[Weighed]:
    if run.ended != ENDED_COMPLETE:
        kind = Kind.TARGET_LOST if run.ended.startswith(TARGET_LOST) else Kind.CUT_SHORT
        complaint = Complaint(
            kind=kind,
            subject=f"the clients of run {run.run_id}",
            reason=run.ended,
            remedy="let the clients run again; the gate decides only on complete runs",
        )
        yield complaint, Handling.FAIL


def _of_lost(run: ClientsRun, policy: Policy) -> Iterator[Weighed]:
    """Complain of each target that was lost while its scripts ran, which broke off all of them."""
    infos = client_infos(run)
    lost = {
        name: each.because.removeprefix(TARGET_LOST)
        for each in run.results
        if each.is_lost
        and policy.counts.scenario(each.script_id)
        and policy.counts.target(infos[column_name(name := run.name_of(each), each.library)])
    }
    for name, reported in lost.items():
        complaint = Complaint(
            kind=Kind.TARGET_LOST, subject=name, reason=reported.strip(), remedy=_LOST_REMEDY
        )
        yield complaint, Handling.FAIL

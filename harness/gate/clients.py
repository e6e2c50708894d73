"""Client scripts as evidence for a gate, like scenarios."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from harness.diff.check import CheckedRun
from harness.gate.complaint import Complaint, Kind
from harness.gate.decision import Evidence, Weighed
from harness.gate.policy import Handling, Policy
from harness.report.model.clients import client_reproduction, column_key
from harness.report.model.names import scenario_page
from harness.results.baseline import ResultKey
from harness.results.client_judgements import check_clients, client_infos, client_judgements, column_name
from harness.results.client_results import ClientsRun
from harness.results.exit_code import ENDED_COMPLETE
from harness.trace.events import TARGET_LOST

_LOST_REMEDY: Final = "record/logs.tar.zst in the clients' folder has what its brokers wrote"


def with_clients(
    evidence: Evidence, run: ClientsRun | None, baseline: ClientsRun | None, policy: Policy
) -> Evidence:
    """Judge a run's client scripts with today's expectations, and add them to the evidence."""
    if run is None:
        return evidence if baseline is None else replace(evidence, further=(_gone(policy),))
    before = None
    if baseline is not None:
        before = client_judgements(baseline, {old: new for new, old in policy.baseline.targets.items()})
    checked = check_clients(run, entries=evidence.entries, baseline=before, today=evidence.today)
    infos = client_infos(run, () if baseline is None else tuple(baseline.libraries))
    return replace(
        evidence,
        checked=together(evidence.checked, checked),
        infos={**evidence.infos, **infos},
        baseline=(*evidence.baseline, *(before or ())),
        places=_places(run),
        further=(*_of_ending(run), *_of_lost(run, policy)),
    )


def together(of_scenarios: CheckedRun, of_clients: CheckedRun) -> CheckedRun:
    """Return the results of scenarios and of client scripts as those of one run."""
    return replace(
        of_scenarios,
        judgements=(*of_scenarios.judgements, *of_clients.judgements),
        stale_entries=(*of_scenarios.stale_entries, *of_clients.stale_entries),
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

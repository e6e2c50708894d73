"""A complete stored run, judged with current expectations: scenarios, client scripts, or both."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from harness.diff.check import CheckedRun
from harness.diff.expectations import SourcedEntry
from harness.diff.judge import TargetInfo
from harness.gate.clients import NOTHING_CHECKED
from harness.gate.clients_alone import clients_cut_short
from harness.gate.stored import cut_short, open_run
from harness.orchestration.judging import check_folder
from harness.results.client_judgements import check_clients, client_infos
from harness.results.client_results import clients_folder, load_clients
from harness.results.run_kinds import is_clients_folder
from harness.trace.schema import TraceError


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedRun:
    """A run's results and the targets that they belong to."""

    checked: CheckedRun
    infos: Mapping[str, TargetInfo]
    """By target, or by target and library."""


def judge_whole(path: Path, entries: Sequence[SourcedEntry], today: date) -> JudgedRun:
    """Judge a complete run, without changing its folder.

    Raises:
        ReportError: it is not a run's folder, or it is of another kind.
        TraceError: it was cut short, or a file is damaged.
    """
    if is_clients_folder(path):
        return _of_clients(path.resolve(), entries, today)
    run = open_run(path)
    _refuse(path, cut_short(run))
    checked = check_folder(run.folder, entries=entries, baseline=None, today=today)
    folder = clients_folder(run.path)
    clients = None if folder is None else _of_clients(folder, entries, today)
    return _together(JudgedRun(checked=checked, infos=run.infos), clients)


def _of_clients(path: Path, entries: Sequence[SourcedEntry], today: date) -> JudgedRun:
    run = load_clients(path)
    _refuse(path, clients_cut_short(run))
    checked = NOTHING_CHECKED
    if run.results:
        checked = check_clients(run, entries=entries, baseline=None, today=today)
    return JudgedRun(checked=checked, infos=client_infos(run))


def _refuse(path: Path, reasons: Sequence[str]) -> None:
    if reasons:
        raise TraceError(f"{path}: nothing can be concluded from it: {'; '.join(reasons)}")


def _together(of_scenarios: JudgedRun, of_clients: JudgedRun | None) -> JudgedRun:
    if of_clients is None:
        return of_scenarios
    checked = CheckedRun(
        judgements=(*of_scenarios.checked.judgements, *of_clients.checked.judgements),
        differences=of_scenarios.checked.differences,
        stale_entries=(*of_scenarios.checked.stale_entries, *of_clients.checked.stale_entries),
        removed=of_scenarios.checked.removed,
    )
    return JudgedRun(checked=checked, infos={**of_scenarios.infos, **of_clients.infos})

"""The results of earlier runs for Allure, read from the archive, so no earlier report needs to be kept.

This module writes the files that Allure 2 copies from report to report (`history/history.json` and the
trends) and the file that Allure 3 appends to (`history/history.jsonl`). All are made anew each time.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Final

import pyarrow as pa  # type: ignore[import-untyped] # it ships no types
import pyarrow.parquet as pq  # type: ignore[import-untyped] # likewise

from harness.diff.target_pattern import is_reference
from harness.report.allure.terms import (
    STATUS,
    case_id,
    category,
    history_id,
    later_history_id,
    message,
    stable,
)
from harness.report.model.run_data import Run
from harness.results.errors import ReportError
from harness.results.status import ResultStatus, status_of
from harness.spark.archive import Archive
from harness.spark.archive_rows import ARCHIVE
from harness.trace.events import RunHeader
from harness.trace.schema import TraceError
from harness.verdict import Confirmation

RUNS_MAX: Final = 10
"""The number of earlier runs in the history; Allure draws no more than twenty."""
HISTORY: Final = "history"
"""The history's folder within the results."""
LATER_HISTORY: Final = "history.jsonl"
"""The file in that folder that Allure 3 reads."""

ResultKey = tuple[str, str]
"""Target and scenario id."""
Circumstances = tuple[str | None, ...]
"""Scripts, harness and target; if two runs have them in common, a changed result is flaky."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PastResult:
    """The result of a scenario on a target in one run."""

    title: str
    outcome: str
    expectation: str
    reason: str
    signature: str | None
    difference_class: str | None
    duration_ms: float
    """In real time; 0 for results in virtual time, which took no real time."""
    confirmation: str

    @property
    def status(self) -> str:
        """Allure's name of the status."""
        return STATUS[status_of(self)]


@dataclass(frozen=True, slots=True, kw_only=True)
class PastRun:
    """The summary of one run."""

    run_id: str
    started_at: str
    circumstances: Mapping[str, Circumstances]
    """By target."""
    results: Mapping[ResultKey, PastResult]

    @property
    def start_ms(self) -> int:
        """When the run began, in milliseconds since 1970."""
        return epoch_ms(self.started_at)


def earlier_runs(run: Run, root: Path | None = None) -> tuple[PastRun, ...]:
    """Return earlier runs that share a target with this run, the newest first.

    Args:
        run: this run.
        root: the archive's folder; `runs` beside the run's folder if not given.

    Raises:
        ReportError: the archive is damaged.
    """
    archive = Archive(root=root or run.directory.resolve().parent / ARCHIVE)
    try:
        chosen = [header for header in _headers(archive) if _is_before(header, run.header)]
        chosen = sorted(chosen, key=lambda each: each.started_at, reverse=True)[:RUNS_MAX]
        return tuple(of_listed_targets(each, run) for each in _read(archive, chosen))
    except (OSError, TraceError, pa.ArrowException) as error:
        raise ReportError(f"{archive.root} cannot be read: {error}") from error


def of_listed_targets(past: PastRun, run: Run) -> PastRun:
    """Return a past run without the results of targets that this run does not list."""
    listed = {place: result for place, result in past.results.items() if is_listed(run, place[0])}
    return replace(past, results=listed)


def is_listed(run: Run, target: str) -> bool:
    """Return whether a target's results are listed; a reference's are only if all targets are references."""
    return target not in run.references or len(run.references) == len(run.targets)


def _is_before(header: RunHeader, this: RunHeader) -> bool:
    is_other = header.run_id != this.run_id and header.started_at < this.started_at
    return is_other and not set(header.targets).isdisjoint(this.targets)


def _headers(archive: Archive) -> list[RunHeader]:
    rows = _rows(archive, "runs", None, None)
    return [RunHeader(**{**row, **_tuples(row)}) for row in rows]  # type: ignore[arg-type] # its own columns


def _tuples(row: Mapping[str, object]) -> dict[str, tuple[object, ...]]:
    return {name: tuple(value) for name, value in row.items() if isinstance(value, list)}


def _rows(
    archive: Archive, kind: str, columns: list[str] | None, run_ids: Sequence[str] | None
) -> list[dict[str, object]]:
    files = archive.files(kind, run_ids)
    filters = None if run_ids is None else [("run_id", "in", list(run_ids))]
    tables = [pq.read_table(file, columns=_there(file, columns), filters=filters) for file in files]
    return [row for table in tables for row in table.to_pylist()]


def _there(file: Path, columns: list[str] | None) -> list[str] | None:
    """Return the columns that a file has; older files lack some."""
    if columns is None:
        return None
    names = set(pq.read_schema(file).names)
    return [name for name in columns if name in names]


_RESULT: Final = ["title", "outcome", "expectation", "reason", "signature", "duration_ms"]
_DRIVEN: Final = ["spec", "profile", "implementation", "broker_config"]


def _read(archive: Archive, headers: Sequence[RunHeader]) -> tuple[PastRun, ...]:
    if not headers:
        return ()
    run_ids = [header.run_id for header in headers]
    key = ["run_id", "target", "scenario_id"]
    classes = {
        tuple(row[name] for name in key): row["difference_class"]
        for row in _rows(archive, "differences", [*key, "ordinal", "difference_class"], run_ids)
        if row["ordinal"] == 0
    }
    results: dict[str, dict[ResultKey, PastResult]] = {run_id: {} for run_id in run_ids}
    for row in _rows(archive, "judgements", [*key, *_RESULT, "confirmation"], run_ids):
        reported = {name: row[name] for name in _RESULT} | {
            "difference_class": classes.get(tuple(row[name] for name in key)),
            "confirmation": row.get("confirmation") or Confirmation.NOT_REPEATED,
        }
        place = (str(row["target"]), str(row["scenario_id"]))
        if is_reference(place[0]):
            reported["duration_ms"] = 0.0
        results[str(row["run_id"])][place] = PastResult(**reported)  # type: ignore[arg-type] # its own columns
    driven: dict[str, dict[str, list[str]]] = {run_id: {} for run_id in run_ids}
    for row in _rows(archive, "headers", ["run_id", "target", "broker_ordinal", *_DRIVEN], run_ids):
        if row["broker_ordinal"] == 0:
            driven[str(row["run_id"])][str(row["target"])] = [str(row[name]) for name in _DRIVEN]
    return tuple(
        PastRun(
            run_id=header.run_id,
            started_at=header.started_at,
            circumstances={
                target: (*_of_run(header), *theirs) for target, theirs in driven[header.run_id].items()
            },
            results=results[header.run_id],
        )
        for header in headers
    )


def _of_run(header: RunHeader) -> Circumstances:
    return (header.scenario_digest, header.harness_version, header.harness_commit)


def this_run(run: Run) -> PastRun:
    """Return this run in the form of a past run."""
    findings = {place: found[0].difference_class for place, found in run.differences.items() if found}
    return PastRun(
        run_id=run.header.run_id,
        started_at=run.header.started_at,
        circumstances={
            each.target: (
                *_of_run(run.header),
                each.spec,
                each.profile,
                each.implementation,
                each.broker_config,
            )
            for each in run.targets
        },
        results={
            (each.target, each.scenario_id): PastResult(
                title=each.title,
                outcome=each.outcome,
                expectation=each.expectation,
                reason=each.reason,
                signature=each.signature,
                difference_class=findings.get((each.target, each.scenario_id)),
                duration_ms=0.0 if is_reference(each.target) else each.duration_ms,
                confirmation=each.confirmation,
            )
            for each in run.judgements
        },
    )


def flaky_places(runs: Sequence[PastRun]) -> frozenset[ResultKey]:
    """Find results that changed between consecutive runs of a target in equal circumstances.

    Results that the newest run marks as flaky are included.

    Args:
        runs: the newest first, including the run that is reported.
    """
    places = {place for run in runs for place in run.results}
    marked = (
        place
        for run in runs[:1]
        for place, each in run.results.items()
        if status_of(each) is ResultStatus.FLAKY
    )
    return frozenset(place for place in places if _is_flaky(place, runs)) | frozenset(marked)


def _is_flaky(place: ResultKey, runs: Sequence[PastRun]) -> bool:
    target = place[0]
    theirs = [run for run in runs if target in run.circumstances]
    return any(
        later.circumstances[target] == earlier.circumstances[target]
        and place in later.results
        and place in earlier.results
        and _seen(later.results[place]) != _seen(earlier.results[place])
        for later, earlier in pairwise(theirs)
    )


def _seen(result: PastResult) -> tuple[str, str | None]:
    return (result.outcome, result.signature)


def write_history(directory: Path, earlier: Sequence[PastRun], places: Iterable[ResultKey]) -> None:
    """Write the results of earlier runs (the newest first) at some places, for Allure 2 and Allure 3."""
    directory.mkdir(parents=True, exist_ok=True)
    wanted = sorted(places)
    content: dict[str, object] = {
        "history.json": {
            history_id(*place): reported for place in wanted if (reported := _history_of(place, earlier))
        }
    }
    for name, measure in _TRENDS.items():
        content[name] = [
            {"buildOrder": len(earlier) - index, "reportName": run.run_id, "data": measure(run)}
            for index, run in enumerate(earlier)
        ]
    for name, what in content.items():
        (directory / name).write_text(json.dumps(what), encoding="utf-8")
    oldest_first = [json.dumps(_point(run, wanted)) + "\n" for run in reversed(earlier)]
    (directory / LATER_HISTORY).write_text("".join(oldest_first), encoding="utf-8")


def _history_of(place: ResultKey, earlier: Sequence[PastRun]) -> dict[str, object] | None:
    found = [(run, run.results[place]) for run in earlier if place in run.results]
    if not found:
        return None
    counts = Counter(result.status for _, result in found)
    return {
        "statistic": {**counts, "total": len(found)},
        "items": [
            {
                "uid": stable(run.run_id, *place),
                "reportUrl": "",
                "status": result.status,
                "statusDetails": _message(result),
                "time": {
                    "start": run.start_ms,
                    "stop": run.start_ms + round(result.duration_ms),
                    "duration": round(result.duration_ms),
                },
            }
            for run, result in found
        ],
    }


def _message(result: PastResult) -> str:
    return message(status_of(result), result.difference_class, result.reason)


def _status_counts(run: PastRun) -> dict[str, int]:
    counts = Counter(result.status for result in run.results.values())
    names = sorted({*STATUS.values(), "unknown"})
    return {**{name: counts[name] for name in names}, "total": len(run.results)}


def _category_counts(run: PastRun) -> dict[str, int]:
    named = (category(status_of(each), each.difference_class) for each in run.results.values())
    return dict(Counter(name for name in named if name))


def _durations(run: PastRun) -> dict[str, int]:
    """Return a run's duration as Allure counts it: all conversations start when the run starts."""
    return {"duration": round(max((result.duration_ms for result in run.results.values()), default=0))}


def _retries(run: PastRun) -> dict[str, int]:
    return {"run": len(run.results), "retry": 0}


_TRENDS: Final = {
    "history-trend.json": _status_counts,
    "categories-trend.json": _category_counts,
    "duration-trend.json": _durations,
    "retry-trend.json": _retries,
}


def _point(run: PastRun, places: Sequence[ResultKey]) -> dict[str, object]:
    """Return a run in the format of Allure 3's own history."""
    found = [(place, run.results[place]) for place in places if place in run.results]
    return {
        "uuid": stable(run.run_id),
        "name": run.run_id,
        "timestamp": run.start_ms,
        "knownTestCaseIds": sorted({stable(case_id(scenario_id)) for (_, scenario_id), _ in found}),
        "testResults": {
            later_history_id(*place): {
                "id": stable(run.run_id, *place),
                "name": result.title,
                "fullName": ": ".join(place),
                "status": result.status,
                "message": _message(result),
                "start": run.start_ms,
                "stop": run.start_ms + round(result.duration_ms),
                "duration": round(result.duration_ms),
                "url": "",
                "historyId": later_history_id(*place),
            }
            for place, result in found
        },
        "metrics": {},
        "url": "",
    }


def epoch_ms(instant: str) -> int:
    """Parse an ISO 8601 time to milliseconds since 1970; use the current time if it cannot be parsed."""
    try:
        moment = datetime.fromisoformat(instant)
    except ValueError:
        moment = datetime.now(UTC)
    return round(moment.timestamp() * 1000)

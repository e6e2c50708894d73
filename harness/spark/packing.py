"""Pack the folder of a finished run into a volume of an archive; no Spark."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

import pyarrow as pa  # type: ignore[import-untyped]  # Arrow has no annotations
import pyarrow.compute as pc  # type: ignore[import-untyped]  # likewise

from harness.diff.model import Attempt, Difference, Judgement
from harness.spark.archive import KINDS, Archive, VolumeWriter, naming_damage, volume_name
from harness.spark.archive_rows import Answer, BrokerHeader, ClientVerdict, RunClause, TimedStep, Trace
from harness.spark.arrow_schemas import arrow_table, column_names, read_table
from harness.spark.conversations import RunRows, bounds_of, completed, rows_of
from harness.trace.clause import Clause
from harness.trace.completeness import refuse_lost_events
from harness.trace.events import Event, TraceHeader
from harness.trace.files import RunFolder, attempt_name, read_records
from harness.trace.schema import TraceError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

ClientsOf: TypeAlias = Callable[[RunFolder], Sequence[ClientVerdict]]
"""Reads the results of a run's client scripts, whose files belong to a layer above this one."""
_CLIENTS_JUDGED: Final = ("clients", "record", "judgement.json.zst")
"""The path, inside a run's folder, of the file that client scripts write last."""


def pack(
    folders: Iterable[RunFolder],
    archive: Archive,
    *,
    clients_of: ClientsOf,
    progress: Callable[[str], None] | None = None,
) -> int:
    """Add the runs that an archive lacks, or has with an older judgement; return how many were added.

    Args:
        folders: the folders of finished runs.
        archive: the archive to add to.
        clients_of: reads their client scripts; it is in `harness.results.client_judgements`.
        progress: called with a message for each run.

    Raises:
        TraceError: a run was cut short, has lost events, was not judged, or has a damaged file.
    """
    count = 0
    with archive.writing(), naming_damage(archive.root):
        for folder in folders:
            run_id = folder.read_run().run_id
            if not archive.contains(run_id, _stamp(folder)):
                if progress is not None:
                    progress(f"packing {run_id}")
                _add(folder, archive, clients_of(folder))
                count += 1
        archive.merge()
    return count


def _add(folder: RunFolder, archive: Archive, clients: Sequence[ClientVerdict]) -> None:
    run = folder.read_run()
    footer = folder.read_footer()
    if footer is None:
        raise TraceError(f"{folder.path}: the run was cut short; only finished runs are archived")
    refuse_lost_events(folder)
    if not folder.judgements.exists():
        raise TraceError(f"{folder.path}: the run was not judged; `kafka-conformance report` does that")
    judgements = _judgements(folder)
    headers: list[BrokerHeader] = []
    traces: list[Trace] = []
    timed: list[TimedStep] = []
    conversations: dict[str, tuple[Answer, ...]] = {}
    name = volume_name(run.run_id, _stamp(folder))
    with VolumeWriter(archive.root, name) as writer:
        for theirs, events, found in target_rows(folder, judgements):
            headers += theirs
            traces += found.traces
            timed += found.timed_steps
            conversations |= found.conversations
            writer.write("events", events)
        records: Mapping[str, Sequence[DataclassInstance]] = {
            "runs": [run],
            "footers": [footer],
            "headers": headers,
            "traces": completed(traces, judgements),
            "timed_steps": timed,
            "judgements": judgements,
            "attempts": read_records(Attempt, folder.attempts) if folder.attempts.exists() else (),
            "differences": read_records(Difference, folder.differences),
            "clauses": _run_clauses(folder),
            "client_verdicts": clients,
        }
        for kind, found_records in records.items():
            writer.write(kind, arrow_table(KINDS[kind], found_records))
    archive.keep_conversations(conversations)
    archive.commit({name: {run.run_id: _stamp(folder)}})


def _judgements(folder: RunFolder) -> Sequence[Judgement]:
    """Read the judgement of each script on each target; raise TraceError if one is missing."""
    judgements = read_records(Judgement, folder.judgements)
    judged = {(each.target, each.scenario_id) for each in judgements}
    scripts = folder.read_scripts() if folder.scripts_json.exists() else ()
    for target in dict.fromkeys(each.target for each in judgements):
        for scenario_id in scripts:
            if (target, scenario_id) not in judged:
                raise TraceError(f"{folder.judgements}: there is no judgement of {scenario_id} on {target}")
    return judgements


def target_rows(
    folder: RunFolder, judgements: Iterable[Judgement]
) -> Iterator[tuple[Sequence[BrokerHeader], pa.Table, RunRows]]:
    """Read each target's headers, the events that its results come from, and the rows computed from those.

    Raises:
        TraceError: a file of the run is missing or damaged.
    """
    bounds = bounds_of(folder.read_scripts()) if folder.scripts_json.exists() else {}
    run_id = folder.read_run().run_id
    later: dict[str, dict[int, list[str]]] = defaultdict(lambda: defaultdict(list))
    for each in judgements:
        if each.attempt > 1:
            later[each.target][each.attempt].append(each.scenario_id)
    for target in folder.targets():
        headers, events = _broker_headers(folder, target), _ruling_events(folder, target, later[target])
        rows = rows_of(events, run_id=run_id, target=target, oracle=headers[0].oracle, bounds=bounds)
        yield headers, events, rows


def _ruling_events(folder: RunFolder, target: str, later: Mapping[int, Sequence[str]]) -> pa.Table:
    """Read a target's events; of some scenarios, by the number of an attempt, those of that attempt."""
    events = read_table(Event, folder.events(target))
    for number, scenario_ids in later.items():
        again, chosen = read_table(Event, folder.events(attempt_name(target, number))), pa.array(scenario_ids)
        first = events.filter(pc.invert(pc.is_in(events["scenario_id"], value_set=chosen)))
        again = again.filter(pc.is_in(again["scenario_id"], value_set=chosen))
        events = pa.concat_tables([first, again])
    return events


def _broker_headers(folder: RunFolder, target: str) -> list[BrokerHeader]:
    """Read the headers of a target's brokers, in the order in which they were started."""
    return [
        BrokerHeader(
            **{name: getattr(header, name) for name in column_names(TraceHeader)}, broker_ordinal=ordinal
        )
        for ordinal, header in enumerate(folder.read_headers(target))
    ]


def _run_clauses(folder: RunFolder) -> list[RunClause]:
    """Read the catalogue of a run; nothing if it has none."""
    if not folder.clauses.exists():
        return []
    run_id = folder.read_run().run_id
    return [
        RunClause(run_id=run_id, **{name: getattr(clause, name) for name in column_names(Clause)})
        for clause in read_records(Clause, folder.clauses)
    ]


def _stamp(folder: RunFolder) -> str:
    """Return a string that changes whenever the run is judged again."""
    clients = folder.path.joinpath(*_CLIENTS_JUDGED)
    # Without client scripts, the stamp is that of older archives, so their runs are not packed again.
    files = (folder.judgements, folder.differences, *((clients,) if clients.exists() else ()))
    return "-".join(str(file.stat().st_mtime_ns) if file.exists() else "none" for file in files)

"""From the folder of a finished run to its volume in an archive; no Spark."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

import pyarrow as pa  # type: ignore[import-untyped]  # Arrow has no annotations
import pyarrow.compute as pc  # type: ignore[import-untyped]  # likewise
import pyarrow.json as pj  # type: ignore[import-untyped]  # likewise

from harness.diff.model import Alignment, Attempt, Difference, Judgement
from harness.spark.archive import KINDS, Archive, VolumeWriter, naming_damage, volume_name
from harness.spark.archive_rows import Answer, BrokerHeader, ClientVerdict, RunClause, TimedStep, Trace
from harness.spark.arrow_schemas import arrow_schema, arrow_table, column_names
from harness.spark.attempts import ruling_attempts
from harness.spark.conversations import Numbers, RunRows, bounds_of, completed, rows_of
from harness.trace.clause import Clause
from harness.trace.completeness import refuse_lost_events
from harness.trace.events import Event, TraceHeader
from harness.trace.files import RunFolder, read_records
from harness.trace.schema import TraceError, parsed_json

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

ClientsOf: TypeAlias = Callable[[RunFolder], Sequence[ClientVerdict]]
"""Reads what became of the client scripts of a run, whose files belong to a layer above this one."""
_CLIENTS_JUDGED: Final = ("clients", "judgement.json")
"""Where that is written last."""


def pack(
    folders: Iterable[RunFolder],
    archive: Archive,
    *,
    clients_of: ClientsOf,
    progress: Callable[[str], None] | None = None,
) -> int:
    """Put those runs into an archive that lacks them or has an older judgement of them; say how many.

    Args:
        folders: of finished runs.
        archive: where they go.
        clients_of: reads their client scripts; `harness.report.model.client_verdicts` has it.
        progress: told what is being worked on.

    Raises:
        TraceError: one was cut short, has lost events, was not judged, or a file of it is damaged.
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
        for theirs, events, found in target_rows(folder):
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
            "clauses": _clauses(folder, run.run_id),
            "client_verdicts": clients,
        }
        for kind, found_records in records.items():
            writer.write(kind, arrow_table(KINDS[kind], found_records))
    archive.keep_conversations(conversations)
    archive.commit({name: {run.run_id: _stamp(folder)}})


def _judgements(folder: RunFolder) -> Sequence[Judgement]:
    """Read what became of each script on each target; raises TraceError where one has lost its judgement."""
    judgements = read_records(Judgement, folder.judgements)
    judged = {(each.target, each.scenario_id) for each in judgements}
    scripts = folder.read_scripts() if folder.scripts_json.exists() else ()
    for target in dict.fromkeys(each.target for each in judgements):
        for scenario_id in scripts:
            if (target, scenario_id) not in judged:
                raise TraceError(f"{folder.judgements}: there is no judgement of {scenario_id} on {target}")
    return judgements


def target_rows(folder: RunFolder) -> Iterator[tuple[Sequence[BrokerHeader], pa.Table, RunRows]]:
    """Read of each target what was run, the events that its results are of, and what these come to.

    Raises:
        TraceError: a file of the run is missing or damaged.
    """
    bounds = bounds_of(folder.read_scripts()) if folder.scripts_json.exists() else {}
    numbers, ruling = _answer_numbers(folder), ruling_attempts(folder)
    run_id = folder.read_run().run_id
    for target in folder.targets():
        headers = _broker_headers(folder, target)
        events = ruling_events(folder, target, ruling)
        oracle = headers[0].oracle
        yield (
            headers,
            events,
            rows_of(
                events, run_id=run_id, target=target, oracle=oracle, bounds=bounds, numbers=numbers[target]
            ),
        )


def _answer_numbers(folder: RunFolder) -> Mapping[str, Numbers]:
    """Read which of its step's answers each event is, by target.

    Raises:
        TraceError: the alignments are missing or damaged.
    """
    found: dict[str, dict[tuple[str, int], int]] = defaultdict(dict)
    for each in read_records(Alignment, folder.alignments):
        where = f"{folder.alignments}: `rows` of {each.scenario_id}"
        try:
            found[each.target] |= {
                (each.scenario_id, int(sequence)): int(answer)
                for _, _, answer, sequence, _, _ in parsed_json(each.rows, where=where)
                if answer is not None and sequence is not None
            }
        except (ValueError, TypeError) as error:
            raise TraceError(f"{where} are no such rows") from error
    return found


def ruling_events(folder: RunFolder, target: str, ruling: Mapping[str, Sequence[str]]) -> pa.Table:
    """Read a target's events; of scenarios that were run more than once, those that their results are of.

    Args:
        folder: of the run.
        target: the target's name.
        ruling: by the name of an attempt's trace, the scenarios whose results are of it.
    """
    events = read_event_table(folder.events(target))
    for trace in folder.repeats(target).values():
        if trace in ruling:
            chosen = pa.array(ruling[trace], pa.string())
            later = read_event_table(folder.events(trace))
            events = pa.concat_tables(
                [
                    events.filter(pc.invert(pc.is_in(events["scenario_id"], value_set=chosen))),
                    later.filter(pc.is_in(later["scenario_id"], value_set=chosen)),
                ]
            )
    return events


def read_event_table(path: Path) -> pa.Table:
    """Read a target's events by Arrow; columns and types are those of `Event`.

    Raises:
        TraceError: the file is missing, or contains what is no event.
    """
    schema = arrow_schema(Event)
    try:
        size = path.stat().st_size
        if not size:
            return schema.empty_table()
        return pj.read_json(
            path,
            read_options=pj.ReadOptions(block_size=max(size, 1 << 20)),
            parse_options=pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior="error"),
        ).select(column_names(Event))
    except FileNotFoundError as error:
        raise TraceError(f"{path}: there is no such file") from error
    except pa.ArrowException as error:
        raise TraceError(f"{path}: {error}") from error


def _broker_headers(folder: RunFolder, target: str) -> list[BrokerHeader]:
    """Read what was driven, in the order of starting."""
    return [
        BrokerHeader(
            **{name: getattr(header, name) for name in column_names(TraceHeader)}, broker_ordinal=ordinal
        )
        for ordinal, header in enumerate(folder.read_headers(target))
    ]


def _clauses(folder: RunFolder, run_id: str) -> list[RunClause]:
    if not folder.clauses.exists():
        return []
    return [
        RunClause(run_id=run_id, **{name: getattr(clause, name) for name in column_names(Clause)})
        for clause in read_records(Clause, folder.clauses)
    ]


def _stamp(folder: RunFolder) -> str:
    """Tell one judgement of a run from another."""
    clients = folder.path.joinpath(*_CLIENTS_JUDGED)
    # Without client scripts it is what it was before archives knew of them: such runs are as they were.
    files = (folder.judgements, folder.differences, *((clients,) if clients.exists() else ()))
    return "-".join(str(file.stat().st_mtime_ns) if file.exists() else "none" for file in files)

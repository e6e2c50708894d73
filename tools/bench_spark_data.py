"""Archives of any size for the pipeline's benchmark: copies of real runs, with planted differences.

Each copy is a separate run. In a share of the conversations that equal the oracle's, one answer is changed. A
file beside the archive lists the places, so that detected differences can be checked against it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Final

import pyarrow as pa  # type: ignore[import-untyped]  # Arrow has no annotations
import pyarrow.compute as pc  # type: ignore[import-untyped]  # likewise
import pyarrow.parquet as pq  # type: ignore[import-untyped]  # likewise

from harness.diff.model import Difference, Judgement
from harness.spark.archive import KINDS, Archive, arrow_table, completed, target_rows, writing_volume
from harness.spark.rows import Answer, BrokerHeader, Trace
from harness.trace.events import EventKind, RunFooter, RunHeader
from harness.trace.files import RunFolder, read_records
from harness.trace.schema import TraceError
from harness.verdict import DifferenceClass, Expectation, Outcome

EXPECTED: Final = "_expected.parquet"
"""The file of the expected differences in an archive; Spark ignores names that begin so."""
ExpectedRow = tuple[str, str, str, int]
"""Run, target, scenario, and the step at which they first differ."""
_AT_ONCE: Final = 3
_RUNS_IN_VOLUME: Final = 64
_FIRST_NIGHT: Final = datetime(2020, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseRun:
    """A real run in memory, to be copied."""

    run: RunHeader
    events: Mapping[str, pa.Table]
    """The events by target."""
    traces: tuple[Trace, ...]
    conversations: Mapping[str, tuple[Answer, ...]]
    judgements: tuple[Judgement, ...]
    tables: Mapping[str, pa.Table]
    """All tables except runs and events, by kind."""

    @property
    def event_count(self) -> int:
        """The number of events in one copy."""
        return sum(len(table) for table in self.events.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Plant:
    """One answer that is changed in a copy."""

    run_id: str
    trace: Trace
    answer: int
    """The answer's index in the conversation."""

    @property
    def mark(self) -> str:
        """The unique text that replaces the answer's digest."""
        return f"planted in {self.run_id}, {self.trace.target}, {self.trace.scenario_id}"

    def place(self, base: BaseRun) -> ExpectedRow:
        """Return the place at which the difference must be found."""
        step = base.conversations[self.trace.conversation][self.answer].step
        return (self.run_id, self.trace.target, self.trace.scenario_id, step)


def load_base(folder: RunFolder) -> BaseRun:
    """Read a finished and judged run.

    Raises:
        TraceError: the run is not finished and judged, or a file of it is damaged.
    """
    run, footer = folder.read_run(), folder.read_footer()
    if footer is None:
        raise TraceError(f"{folder.path}: the run was cut short; only finished runs can be multiplied")
    headers: list[BrokerHeader] = []
    traces: list[Trace] = []
    conversations: dict[str, tuple[Answer, ...]] = {}
    events = {}
    judgements = read_records(Judgement, folder.judgements)
    for theirs, of_target, summaries, found in target_rows(folder, judgements):
        headers += theirs
        events[theirs[0].target] = of_target
        traces += summaries
        conversations |= found
    whole = completed(traces, judgements)
    records: Mapping[str, Sequence[RunFooter | BrokerHeader | Trace | Judgement | Difference]] = {
        "footers": [footer],
        "headers": headers,
        "traces": whole,
        "judgements": judgements,
        "differences": read_records(Difference, folder.differences),
    }
    return BaseRun(
        run=run,
        events=events,
        traces=whole,
        conversations=conversations,
        judgements=judgements,
        tables={kind: arrow_table(KINDS[kind], found) for kind, found in records.items()},
    )


def multiply(
    base: BaseRun,
    archive: Archive,
    *,
    event_count: int,
    planted_rate: float,
) -> int:
    """Fill an archive with copies of a run, and store the places of the expected differences.

    Args:
        base: the run to copy.
        archive: an empty archive.
        event_count: the least number of events; whole copies only.
        planted_rate: the share of the conversations equal to the oracle's in which one answer is changed.

    Returns:
        The number of events in the archive.
    """
    copies = -(-event_count // base.event_count)
    random = Random(0)  # noqa: S311 - where differences are planted is no secret
    plans = [_plan(base, _run_id(base, copy), planted_rate, random) for copy in range(copies)]
    volumes = [range(at, min(at + _RUNS_IN_VOLUME, copies)) for at in range(0, copies, _RUNS_IN_VOLUME)]
    natural = tuple(_natural(base))
    expected = [(_run_id(base, copy), *place) for copy in range(copies) for place in natural]
    expected += [plant.place(base) for plants in plans for plant in plants]
    with archive.writing(), ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="multiply") as pool:
        archive.keep_conversations(dict(base.conversations) | _changed_conversations(base, plans))
        written = pool.map(lambda copies: _write_volume(base, archive, copies, plans), volumes)
        for names in written:
            archive.commit(names)
    pq.write_table(_place_table(expected), archive.root / EXPECTED)
    return copies * base.event_count


def _place_table(places: Sequence[ExpectedRow]) -> pa.Table:
    names = ("run_id", "target", "scenario_id", "step")
    return pa.table({name: [place[at] for place in places] for at, name in enumerate(names)})


def expected_places(archive: Archive) -> set[ExpectedRow]:
    """Return the places of all expected first differences, including those of the real run."""
    table = pq.read_table(archive.root / EXPECTED)
    return set(zip(*[column.to_pylist() for column in table.columns], strict=True))


def _run_id(base: BaseRun, copy: int) -> str:
    return f"{base.run.run_id}.{copy:06d}"


def _natural(base: BaseRun) -> Iterator[tuple[str, str, int]]:
    """Yield the differences that the real run has already: target, scenario, first step."""
    for trace in base.traces:
        if trace.oracle_conversation not in (None, trace.conversation):
            ours, theirs = (
                base.conversations[name] for name in (trace.conversation, trace.oracle_conversation or "")
            )
            yield trace.target, trace.scenario_id, _first_unlike(ours, theirs)


def _first_unlike(ours: Sequence[Answer], theirs: Sequence[Answer]) -> int:
    """Compare answers by their places, and return the first step at which they differ."""
    sides = [
        {(each.step, each.occurrence, each.actor, each.connection): (each.kind, each.digest) for each in side}
        for side in (ours, theirs)
    ]
    return min(
        place[0] for place in sides[0].keys() | sides[1].keys() if sides[0].get(place) != sides[1].get(place)
    )


def _plan(base: BaseRun, run_id: str, rate: float, random: Random) -> tuple[Plant, ...]:
    """Choose the answers of a copy to change."""
    return tuple(
        Plant(run_id=run_id, trace=trace, answer=random.choice(answered))
        for trace in base.traces
        if trace.conversation == trace.oracle_conversation and random.random() < rate
        for answered in [_responses(base, trace)]
        if answered
    )


def _responses(base: BaseRun, trace: Trace) -> list[int]:
    return [
        index
        for index, answer in enumerate(base.conversations[trace.conversation])
        if answer.kind == EventKind.RESPONSE
    ]


def _answer_of(base: BaseRun, plant: Plant) -> Answer:
    return base.conversations[plant.trace.conversation][plant.answer]


def _changed_conversations(base: BaseRun, plans: Sequence[Sequence[Plant]]) -> dict[str, tuple[Answer, ...]]:
    changed = {}
    for plant in (plant for plants in plans for plant in plants):
        answers, at = base.conversations[plant.trace.conversation], plant.answer
        changed[plant.mark] = (*answers[:at], replace(answers[at], digest=plant.mark), *answers[at + 1 :])
    return changed


def _write_volume(
    base: BaseRun, archive: Archive, copies: Sequence[int], plans: Sequence[Sequence[Plant]]
) -> dict[str, dict[str, str]]:
    """Write some copies of the run as one volume; return the volume's runs."""
    name = f"copies-{copies[0]:06d}"
    with writing_volume(archive.root, name) as write:
        for copy in copies:
            _write_copy(base, write, copy, plans[copy])
    return {name: {_run_id(base, copy): "copy" for copy in copies}}


def _write_copy(
    base: BaseRun, write: Callable[[str, pa.Table], None], copy: int, plants: Sequence[Plant]
) -> None:
    run_id = _run_id(base, copy)
    started_at = (_FIRST_NIGHT + timedelta(days=copy)).isoformat()
    pace = 0.8 + 0.4 * Random(copy).random()  # noqa: S311 - how slow a night was is no secret
    renamed = {(plant.trace.target, plant.trace.scenario_id): plant for plant in plants}
    for target, table in base.events.items():
        write("events", _of_run(_changed_events(base, table, target, plants, pace), run_id))
    for kind in ("footers", "headers"):
        write(kind, _of_run(base.tables[kind], run_id))
    write("runs", arrow_table(KINDS["runs"], [replace(base.run, run_id=run_id, started_at=started_at)]))
    records: Mapping[str, Sequence[Trace | Judgement | Difference]] = {
        "traces": [
            replace(trace, conversation=plant.mark, outcome=Outcome.DIVERGES.value, signature=plant.mark)
            for trace in base.traces
            if (plant := renamed.get((trace.target, trace.scenario_id)))
        ],
        "judgements": [
            _diverging(base, judgement, plant)
            for judgement in base.judgements
            if (plant := renamed.get((judgement.target, judgement.scenario_id)))
        ],
        "differences": [_difference(base, plant) for plant in plants],
    }
    for kind, changed in records.items():
        table = base.tables[kind]
        if kind != "differences":
            table = _without(table, renamed)
        table = pa.concat_tables([table, arrow_table(KINDS[kind], changed)])
        write(kind, _of_run(table, run_id))


def _of_run(table: pa.Table, run_id: str) -> pa.Table:
    """Return a table with another run id in every record."""
    return table.set_column(
        table.column_names.index("run_id"), "run_id", pa.repeat(pa.scalar(run_id), len(table))
    )


def _without(table: pa.Table, places: Mapping[tuple[str, str], Plant]) -> pa.Table:
    """Return a table without the records of some targets and scenarios."""
    keys = pc.binary_join_element_wise(table["target"], table["scenario_id"], " ")
    gone = pa.array([f"{target} {scenario_id}" for target, scenario_id in places], pa.string())
    return table.filter(pc.invert(pc.is_in(keys, value_set=gone)))


def _changed_events(
    base: BaseRun, table: pa.Table, target: str, plants: Sequence[Plant], pace: float
) -> pa.Table:
    """Return events with the planted digests, and with all durations scaled."""
    elapsed = pc.multiply(table["elapsed_ms"], pace)
    table = table.set_column(table.column_names.index("elapsed_ms"), "elapsed_ms", elapsed)
    theirs = [plant for plant in plants if plant.trace.target == target]
    if not theirs:
        return table
    digests = table["digest"].to_pylist()
    kinds = table["kind"].to_pylist()
    places = list(zip(table["scenario_id"].to_pylist(), table["step"].to_pylist(), strict=True))
    for plant in theirs:
        answer = _answer_of(base, plant)
        place = (plant.trace.scenario_id, answer.step)
        at = [
            index
            for index, where in enumerate(places)
            if where == place and digests[index] == answer.digest and kinds[index] == answer.kind
        ]
        digests[at[0]] = plant.mark
    return table.set_column(table.column_names.index("digest"), "digest", pa.array(digests, pa.string()))


def _diverging(base: BaseRun, judgement: Judgement, plant: Plant) -> Judgement:
    return replace(
        judgement,
        outcome=Outcome.DIVERGES.value,
        expectation=Expectation.UNEXPECTED.value,
        reason="planted",
        signature=plant.mark,
        first_step=_answer_of(base, plant).step,
        difference_count=1,
    )


def _difference(base: BaseRun, plant: Plant) -> Difference:
    answer = _answer_of(base, plant)
    return Difference(
        run_id=plant.run_id,
        target=plant.trace.target,
        scenario_id=plant.trace.scenario_id,
        ordinal=0,
        is_consequence=False,
        against="reference",
        step=answer.step,
        api=answer.api,
        api_version=answer.api_version,
        difference_class=DifferenceClass.FIELD_VALUE.value,
        field="planted",
        expected='"no"',
        actual='"yes"',
        signature=plant.mark,
        cause="planted",
        is_lenient=False,
    )

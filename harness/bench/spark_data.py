"""Archives of any size for the pipeline's benchmark: real runs over and over, with planted differences.

Each copy is a run of its own. In a share of the conversations that went as the oracle's did, one answer is
changed; where, is kept beside the archive, so that whoever looks for differences can be held to it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Final

import pyarrow as pa  # type: ignore[import-untyped]  # Arrow has no annotations
import pyarrow.compute as pc  # type: ignore[import-untyped]  # likewise
import pyarrow.parquet as pq  # type: ignore[import-untyped]  # likewise

from harness.diff.model import Difference, Judgement
from harness.spark.archive import KINDS, Archive, read_event_table
from harness.spark.archive_rows import Answer, TimedStep, Trace
from harness.spark.conversations import bounds_of, told
from harness.spark.schemas import arrow_table
from harness.spark.stage import BrokerHeader
from harness.trace.events import EventKind, RunFooter, RunHeader, TraceHeader
from harness.trace.files import RunFolder, read_records
from harness.trace.schema import TraceError
from harness.verdict import DifferenceClass, Expectation, Outcome

EXPECTED: Final = "_expected.parquet"
"""Where an archive keeps what is to be found in it; Spark passes over names that begin so."""
Place = tuple[str, str, str, int]
"""Run, target, scenario, and the step at which they first differ."""
_AT_ONCE: Final = 3
_FIRST_NIGHT: Final = datetime(2020, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseRun:
    """A real run, in memory, to be multiplied."""

    run: RunHeader
    footer: RunFooter
    headers: tuple[BrokerHeader, ...]
    events: Mapping[str, pa.Table]
    """By target."""
    traces: tuple[Trace, ...]
    timed_steps: tuple[TimedStep, ...]
    conversations: Mapping[str, tuple[Answer, ...]]
    judgements: tuple[Judgement, ...]
    differences: tuple[Difference, ...]

    @property
    def event_count(self) -> int:
        """How many events one copy has."""
        return sum(len(table) for table in self.events.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Plant:
    """One answer that is changed in a copy."""

    run_id: str
    trace: Trace
    answer: int
    """Its index in the conversation."""

    @property
    def mark(self) -> str:
        """What takes the place of the answer's digest, nowhere else to be found."""
        return f"planted in {self.run_id}, {self.trace.target}, {self.trace.scenario_id}"


def load_base(folder: RunFolder) -> BaseRun:
    """Read a finished and judged run.

    Raises:
        TraceError: it is none, or a file of it is damaged.
    """
    run, footer = folder.read_run(), folder.read_footer()
    if footer is None:
        raise TraceError(f"{folder.path}: the run was cut short; only finished runs can be multiplied")
    bounds = bounds_of(folder.read_scripts())
    headers: list[BrokerHeader] = []
    traces: list[Trace] = []
    timed: list[TimedStep] = []
    conversations: dict[str, tuple[Answer, ...]] = {}
    events = {}
    for target in folder.targets():
        header = folder.read_headers(target)[0]
        plain = {name: getattr(header, name) for name in TraceHeader.__dataclass_fields__}
        headers.append(BrokerHeader(**plain, broker_ordinal=0))
        events[target] = read_event_table(folder.events(target))
        found = told(events[target], run_id=run.run_id, target=target, oracle=header.oracle, bounds=bounds)
        traces += found.traces
        timed += found.timed_steps
        conversations |= found.conversations
    return BaseRun(
        run=run,
        footer=footer,
        headers=tuple(headers),
        events=events,
        traces=tuple(traces),
        timed_steps=tuple(timed),
        conversations=conversations,
        judgements=read_records(Judgement, folder.judgements),
        differences=read_records(Difference, folder.differences),
    )


def multiply(
    base: BaseRun,
    archive: Archive,
    *,
    event_count: int,
    planted_rate: float,
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
) -> int:
    """Fill an archive with copies of a run until it has so many events, and keep what is to be found.

    Args:
        base: the run.
        archive: an archive that holds nothing.
        event_count: at least so many events; whole copies only.
        planted_rate: in which share of the conversations that are as the oracle's one answer is changed.
        seed: of where.
        progress: told how many copies are written.

    Returns:
        How many events the archive has.
    """
    copies = -(-event_count // base.event_count)
    random = Random(seed)  # noqa: S311 - where differences are planted is no secret
    archive.keep_conversations(base.conversations)
    natural = tuple(_natural(base))
    expected: list[Place] = []
    planted: dict[str, tuple[Answer, ...]] = {}
    plans = [_plan(base, f"{base.run.run_id}.{copy:06d}", planted_rate, random) for copy in range(copies)]
    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="multiply") as pool:
        written = pool.map(lambda at: _write_copy(base, archive, at, plans[at], seed), range(copies))
        for copy, changed in enumerate(written):
            planted |= changed
            expected += [(_run_id(base, copy), *place) for place in natural]
            expected += [
                (plant.run_id, plant.trace.target, plant.trace.scenario_id, _answer_of(base, plant).step)
                for plant in plans[copy]
            ]
            if progress:
                progress(copy + 1)
    archive.keep_conversations(planted)
    names = ["run_id", "target", "scenario_id", "step"]
    table = pa.table(dict(zip(names, zip(*expected, strict=True), strict=True)) if expected else _nothing())
    pq.write_table(table, archive.root / EXPECTED)
    return copies * base.event_count


def _nothing() -> pa.Table:
    return pa.table({"run_id": [], "target": [], "scenario_id": [], "step": []})


def expected_places(archive: Archive) -> set[Place]:
    """Return where first differences are to be found in an archive, those that were there before included."""
    table = pq.read_table(archive.root / EXPECTED)
    return set(zip(*[column.to_pylist() for column in table.columns], strict=True))


def _run_id(base: BaseRun, copy: int) -> str:
    return f"{base.run.run_id}.{copy:06d}"


def _pairs(base: BaseRun) -> Iterator[tuple[Trace, Trace]]:
    """Pair the traces that are held with their oracles'."""
    held = {(trace.target, trace.scenario_id): trace for trace in base.traces if trace.is_held}
    for trace in held.values():
        oracle = held.get((trace.oracle or "", trace.scenario_id))
        if oracle is not None:
            yield trace, oracle


def _natural(base: BaseRun) -> Iterator[tuple[str, str, int]]:
    """Find what differs in the real run already: target, scenario, first step."""
    for trace, oracle in _pairs(base):
        ours, theirs = base.conversations[trace.conversation], base.conversations[oracle.conversation]
        if trace.conversation != oracle.conversation:
            yield trace.target, trace.scenario_id, _first_unlike(ours, theirs)


def _first_unlike(ours: Sequence[Answer], theirs: Sequence[Answer]) -> int:
    """Compare answers by where they stand, and return the first step at which they differ."""
    sides = [
        {(each.step, each.occurrence, each.actor, each.connection): (each.kind, each.digest) for each in side}
        for side in (ours, theirs)
    ]
    return min(
        place[0] for place in sides[0].keys() | sides[1].keys() if sides[0].get(place) != sides[1].get(place)
    )


def _plan(base: BaseRun, run_id: str, rate: float, random: Random) -> tuple[Plant, ...]:
    """Choose where a copy is changed."""
    return tuple(
        Plant(run_id=run_id, trace=trace, answer=random.choice(answered))
        for trace, oracle in _pairs(base)
        if trace.conversation == oracle.conversation and random.random() < rate
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


def _write_copy(
    base: BaseRun, archive: Archive, copy: int, plants: Sequence[Plant], seed: int
) -> dict[str, tuple[Answer, ...]]:
    """Write one copy of the run, and return the conversations that were changed in it."""
    run_id = _run_id(base, copy)
    started = _FIRST_NIGHT + timedelta(days=copy)
    random = Random(f"{seed}/{copy}")  # noqa: S311 - how much slower a night was is no secret
    pace = 0.8 + 0.4 * random.random()
    changed = {}
    renamed = {}
    for plant in plants:
        answers = base.conversations[plant.trace.conversation]
        at = plant.answer
        changed[plant.mark] = (*answers[:at], replace(answers[at], digest=plant.mark), *answers[at + 1 :])
        renamed[plant.trace.target, plant.trace.scenario_id] = plant
    for target, table in base.events.items():
        archive.write_events(run_id, target, _changed_events(base, table, target, plants, pace))
    records = {
        "runs": [replace(base.run, run_id=run_id, started_at=started.isoformat())],
        "footers": [replace(base.footer, run_id=run_id)],
        "headers": base.headers,
        "traces": [
            replace(trace, conversation=renamed[trace.target, trace.scenario_id].mark)
            if (trace.target, trace.scenario_id) in renamed
            else trace
            for trace in base.traces
        ],
        "timed_steps": base.timed_steps,
        "judgements": [
            _diverging(base, judgement, renamed[judgement.target, judgement.scenario_id])
            if (judgement.target, judgement.scenario_id) in renamed
            else judgement
            for judgement in base.judgements
        ],
        "differences": [*base.differences, *(_difference(base, plant) for plant in plants)],
        "clauses": [],
    }
    for kind, found in records.items():
        archive.write(kind, run_id, arrow_table(KINDS[kind], found))
    archive.mark(run_id, {})
    return changed


def _changed_events(
    base: BaseRun, table: pa.Table, target: str, plants: Sequence[Plant], pace: float
) -> pa.Table:
    """Change the digests where something is planted, and how long everything took."""
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
        is_lenient=False,
    )

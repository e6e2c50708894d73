"""The archive's summary of each conversation, computed from a target's events without Spark."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import sha256
from itertools import groupby
from operator import itemgetter
from typing import Final

import pyarrow as pa  # type: ignore[import-untyped]  # Arrow has no annotations
import pyarrow.compute as pc  # type: ignore[import-untyped]  # likewise

from harness.diff.model import Judgement
from harness.spark.archive_rows import Answer, TimedStep, Trace
from harness.trace.events import ANSWER_KINDS, EventKind
from harness.trace.schema import parsed_json

_DIGEST_CHARACTERS: Final = 24
_BOUNDS: Final = {"not_before_ms": "not before", "not_after_ms": "not after"}
_REFUSED: Final = [EventKind.NOT_APPLICABLE.value, EventKind.HARNESS_ERROR.value]
_READ: Final = [
    "scenario_id",
    "step",
    "sequence",
    "kind",
    "actor",
    "connection",
    "api",
    "api_version",
    "digest",
    "canonical",
    "elapsed_ms",
]

Bounds = Mapping[tuple[str, int], Sequence[tuple[str, float]]]
"""By scenario and step: the kind and limit (ms) of each bound that the script sets there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRows:
    """The rows that are computed from a target's events."""

    traces: tuple[Trace, ...]
    """Without the oracles' conversations and the judgements, which `completed` adds."""
    timed_steps: tuple[TimedStep, ...]
    conversations: Mapping[str, tuple[Answer, ...]]
    """By digest."""


def rows_of(events: pa.Table, *, run_id: str, target: str, oracle: str | None, bounds: Bounds) -> RunRows:
    """Summarise each conversation of a target.

    Args:
        events: the columns of `Event`, all of this run and target, in any order.
        run_id: the run's id.
        target: the target's name.
        oracle: the name of the target's oracle.
        bounds: the time bounds of the run's scripts.
    """
    traces: list[Trace] = []
    timed: list[TimedStep] = []
    conversations: dict[str, tuple[Answer, ...]] = {}
    refused = _refused(events)
    by_scenario = {
        scenario_id: [answer for _, answer in group]
        for scenario_id, group in groupby(_answers(events), key=itemgetter(0))
    }
    for scenario_id, event_count in _event_counts(events).items():
        answers = by_scenario.get(scenario_id, [])
        digest = _digest([answer for answer, _ in answers])
        conversations[digest] = tuple(answer for answer, _ in answers)
        traces.append(
            Trace(
                run_id=run_id,
                target=target,
                scenario_id=scenario_id,
                oracle=oracle,
                conversation=digest,
                oracle_conversation=None,
                is_held=scenario_id not in refused,
                outcome=None,
                signature=None,
                event_count=event_count,
                answer_count=len(answers),
            )
        )
        timed += _timed_steps(traces[-1], answers, bounds)
    return RunRows(traces=tuple(traces), timed_steps=tuple(timed), conversations=conversations)


def _timed_steps(
    trace: Trace, answers: Sequence[tuple[Answer, float | None]], bounds: Bounds
) -> Iterator[TimedStep]:
    for answer, elapsed_ms in answers:
        if elapsed_ms is None or not _is_first_response(answer):
            continue
        for bound, limit_ms in bounds.get((trace.scenario_id, answer.step), ()):
            yield TimedStep(
                run_id=trace.run_id,
                target=trace.target,
                scenario_id=trace.scenario_id,
                step=answer.step,
                bound=bound,
                limit_ms=limit_ms,
                elapsed_ms=elapsed_ms,
            )


def _is_first_response(answer: Answer) -> bool:
    return answer.kind == EventKind.RESPONSE and answer.occurrence == 0


def completed(traces: Sequence[Trace], judgements: Sequence[Judgement]) -> tuple[Trace, ...]:
    """Return the traces of all targets of a run, with their oracles' conversations and their judgements."""
    conversations = {(one.target, one.scenario_id): one.conversation for one in traces if one.is_held}
    judged = {(one.target, one.scenario_id): (one.outcome, one.signature) for one in judgements}
    nothing = (None, None)
    return tuple(
        replace(
            one,
            oracle_conversation=conversations.get((one.oracle or "", one.scenario_id))
            if one.is_held
            else None,
            outcome=judged.get((one.target, one.scenario_id), nothing)[0],
            signature=judged.get((one.target, one.scenario_id), nothing)[1],
        )
        for one in traces
    )


def bounds_of(scripts: Mapping[str, object]) -> Bounds:
    """Collect the bounds on the time of answers from scripts given as JSON data."""
    return {
        (scenario_id, index): found
        for scenario_id, script in scripts.items()
        if isinstance(script, dict)
        for index, step in enumerate(script["steps"])
        if (found := [(_BOUNDS[name], float(step[name])) for name in _BOUNDS if step.get(name) is not None])
    }


def _event_counts(events: pa.Table) -> dict[str, int]:
    counted = events.group_by("scenario_id").aggregate([("sequence", "count")]).sort_by("scenario_id")
    return dict(zip(counted["scenario_id"].to_pylist(), counted["sequence_count"].to_pylist(), strict=True))


def _refused(events: pa.Table) -> set[str]:
    """Return the ids of the scenarios that were not run."""
    is_refusal = pc.is_in(events["kind"], value_set=pa.array(_REFUSED))
    return set(events["scenario_id"].filter(is_refusal).to_pylist())


def _answers(events: pa.Table) -> Iterator[tuple[str, tuple[Answer, float | None]]]:
    """Yield each answer with its scenario and its elapsed time, in the order of scenarios and steps.

    An answer's number is its place among the answers of its step, as in `harness.diff.alignment`.
    """
    kinds = pa.array([kind.value for kind in ANSWER_KINDS])
    awaited = events.select(_READ).filter(pc.is_in(events["kind"], value_set=kinds))
    ordered = awaited.sort_by([(name, "ascending") for name in ("scenario_id", "step", "sequence")])
    for (scenario_id, step), rows in groupby(ordered.to_pylist(), key=itemgetter("scenario_id", "step")):
        for number, row in enumerate(rows):
            answer = Answer(
                step=step,
                occurrence=number,
                actor=row["actor"],
                connection=row["connection"],
                kind=row["kind"],
                api=row["api"],
                api_version=row["api_version"],
                error_codes=_error_codes(row["canonical"]),
                digest=row["digest"],
            )
            yield scenario_id, (answer, row["elapsed_ms"])


@lru_cache(maxsize=65536)
def _error_codes(canonical: str | None) -> tuple[str, ...]:
    return tuple(sorted(set(_codes(parsed_json(canonical, where="`canonical`"))))) if canonical else ()


def _codes(value: object) -> Iterator[str]:
    match value:
        case dict():
            for name, part in value.items():
                if name == "error_code":
                    yield str(part)
                else:
                    yield from _codes(part)
        case list():
            for part in value:
                yield from _codes(part)
        case _:
            pass


def _digest(answers: Sequence[Answer]) -> str:
    """Return a hash of the answers in their order, without their times."""
    parts = [[a.step, a.occurrence, a.actor, a.connection, a.kind, a.digest] for a in answers]
    return sha256(json.dumps(parts).encode()).hexdigest()[:_DIGEST_CHARACTERS]

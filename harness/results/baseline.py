"""The earlier run that a run was compared with: its identity, and the results that differ between the two."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from pydantic import Field, TypeAdapter

from harness.diff.model import GOOD, Judgement
from harness.results.stored_data import StoredData, read_whole
from harness.trace.files import RunFolder, write_whole
from harness.verdict import Delta

FILE_NAME: Final = "baseline.json"
BY_OPTION: Final = "--baseline"

ResultKey = tuple[str, str]
"""Target and scenario id."""


class BaselineResult(StoredData):
    """One result that changed since the baseline, or that differs from its oracle in both runs."""

    scenario_id: str
    target: str
    delta: str
    """A `Delta`."""
    outcome: str | None
    """None if this run does not have the result."""
    signature: str | None
    prior_outcome: str | None
    """None if the baseline does not have the result."""
    prior_signature: str | None
    weight: str = ""
    """How a gate weighed the result; empty if no gate decided."""


class BaselineData(StoredData):
    """A baseline, and the comparison of a run with it."""

    run_id: str
    named_by: str
    """The option or the file that named the baseline."""
    pairs: Mapping[str, str] = Field(default_factory=dict)
    """Target of this run to the baseline's target that it was compared with, where their names differ."""
    results: tuple[BaselineResult, ...]


def results_against(
    judgements: Iterable[Judgement],
    removed: Iterable[Judgement],
    before: Iterable[Judgement],
    weights: Mapping[ResultKey, str] | None = None,
) -> tuple[BaselineResult, ...]:
    """Pair results with the baseline's, leaving out those that are good in both runs.

    The baseline's targets have this run's names; the weights are a gate's, if one decided.
    """
    earlier = {(each.target, each.scenario_id): each for each in before}
    pairs: list[tuple[Judgement | None, Judgement | None]] = [
        (each, earlier.get((each.target, each.scenario_id)))
        for each in judgements
        if each.delta != Delta.NO_BASELINE and (each.delta != Delta.SAME or each.outcome not in GOOD)
    ]
    pairs += [(None, each) for each in removed]
    return tuple(
        BaselineResult(
            scenario_id=known.scenario_id,
            target=known.target,
            delta=now.delta if now else Delta.REMOVED,
            outcome=now.outcome if now else None,
            signature=now.signature if now else None,
            prior_outcome=prior.outcome if prior else None,
            prior_signature=prior.signature if prior else None,
            weight=(weights or {}).get((known.target, known.scenario_id), ""),
        )
        for now, prior in pairs
        if (known := now or prior)
    )


def keep_baseline(folder: Path, baseline: BaselineData | None) -> None:
    """Write the baseline of a run's judgements to the run's record; delete the file if there was none."""
    path = RunFolder(folder).record / FILE_NAME
    if baseline is None:
        path.unlink(missing_ok=True)
        return
    write_whole(path, json.dumps(baseline.model_dump(), ensure_ascii=False, indent=1) + "\n")


def kept_baseline(folder: Path) -> BaselineData | None:
    """Return the baseline that a run's judgements were made with; None if there was none.

    Raises:
        TraceError: the file is damaged.
    """
    path = RunFolder(folder).record / FILE_NAME
    return read_whole(TypeAdapter(BaselineData), path) if path.is_file() else None

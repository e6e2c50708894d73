"""The earlier run that a run was compared with: its identity, and the results that differ between the two."""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, ValidationError

from harness.diff.model import GOOD, Judgement
from harness.results.stored_data import ReportError
from harness.trace.files import RunFolder, write_whole
from harness.trace.plain_files import read_plain
from harness.verdict import Delta

FILE_NAME: Final = "baseline.json"
BY_OPTION: Final = "--baseline"

ResultKey = tuple[str, str]
"""Target and scenario id."""


class BaselineResult(BaseModel):
    """One result that changed since the baseline, or that differs from its oracle in both runs."""

    model_config = ConfigDict(frozen=True)

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


class BaselineData(BaseModel):
    """A baseline, and the comparison of a run with it."""

    model_config = ConfigDict(frozen=True)

    run_id: str
    named_by: str
    """The option or the file that named the baseline."""
    pairs: dict[str, str] = {}
    """Target of this run to the baseline's target that it was compared with, where their names differ."""
    results: tuple[BaselineResult, ...]


def results_against(
    judgements: Iterable[Judgement],
    removed: Iterable[Judgement],
    before: Iterable[Judgement],
    weights: Mapping[ResultKey, str] | None = None,
) -> tuple[BaselineResult, ...]:
    """Pair results with the baseline's, leaving out those that are good in both runs.

    Args:
        judgements: the run's judgements, with their deltas.
        removed: the baseline's judgements whose scenarios the run does not have.
        before: the baseline's judgements, with its targets renamed to this run's names.
        weights: how a gate weighed the results, if a gate decided.
    """
    earlier = {(each.target, each.scenario_id): each for each in before}
    reported = weights or {}
    here = (each for each in judgements if _is_reported(each))
    return tuple(_results(here, removed, earlier, reported))


def _is_reported(judgement: Judgement) -> bool:
    if judgement.delta == Delta.NO_BASELINE:
        return False
    return judgement.delta != Delta.SAME or judgement.outcome not in GOOD


def _results(
    here: Iterable[Judgement],
    removed: Iterable[Judgement],
    earlier: Mapping[ResultKey, Judgement],
    weights: Mapping[ResultKey, str],
) -> Iterator[BaselineResult]:
    pairs: list[tuple[Judgement | None, Judgement | None]] = [
        *((each, earlier.get((each.target, each.scenario_id))) for each in here),
        *((None, each) for each in removed),
    ]
    for now, prior in pairs:
        known = now or prior
        assert known is not None, "one of the runs has it"
        yield BaselineResult(
            scenario_id=known.scenario_id,
            target=known.target,
            delta=now.delta if now else Delta.REMOVED,
            outcome=now.outcome if now else None,
            signature=now.signature if now else None,
            prior_outcome=prior.outcome if prior else None,
            prior_signature=prior.signature if prior else None,
            weight=weights.get((known.target, known.scenario_id), ""),
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
        ReportError: the file is damaged.
    """
    path = RunFolder(folder).record / FILE_NAME
    if not path.is_file():
        return None
    try:
        return BaselineData.model_validate_json(read_plain(path))
    except ValidationError as error:
        raise ReportError(f"{path} tells no baseline: {error}") from error

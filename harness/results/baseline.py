"""The earlier run that a run was compared with: which it is, and what either of the two has otherwise."""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, ValidationError

from harness.diff.baseline import GOOD
from harness.diff.model import Judgement
from harness.results.errors import ReportError
from harness.trace.files import write_whole
from harness.verdict import Delta

FILE_NAME: Final = "baseline.json"
BY_OPTION: Final = "--baseline"

ResultKey = tuple[str, str]
"""Target and scenario id."""


class BaselineResult(BaseModel):
    """One result that is not as in the baseline, or that differs from its oracle there and here alike."""

    model_config = ConfigDict(frozen=True)

    scenario_id: str
    target: str
    delta: str
    """A `Delta`."""
    outcome: str | None
    """None where this run does not have it."""
    signature: str | None
    prior_outcome: str | None
    """None where the baseline does not have it."""
    prior_signature: str | None
    weight: str = ""
    """What a gate made of it; empty where none decided."""


class BaselineData(BaseModel):
    """A baseline as a run was compared with it."""

    model_config = ConfigDict(frozen=True)

    run_id: str
    named_by: str
    """The option, or the file that named it."""
    pairs: dict[str, str] = {}
    """Target here to the target there in whose place it stands, where their names differ."""
    results: tuple[BaselineResult, ...]


def results_against(
    judgements: Iterable[Judgement],
    removed: Iterable[Judgement],
    before: Iterable[Judgement],
    weights: Mapping[ResultKey, str] | None = None,
) -> tuple[BaselineResult, ...]:
    """Lay results beside a baseline's; what is well in both is left out.

    Args:
        judgements: of the run, with their deltas.
        removed: what the baseline has and the run has not.
        before: the baseline's, its targets by the names that they have here.
        weights: what a gate made of them, if one decided.
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
    for each in here:
        prior = earlier.get((each.target, each.scenario_id))
        yield BaselineResult(
            scenario_id=each.scenario_id,
            target=each.target,
            delta=each.delta,
            outcome=each.outcome,
            signature=each.signature,
            prior_outcome=prior.outcome if prior else None,
            prior_signature=prior.signature if prior else None,
            weight=weights.get((each.target, each.scenario_id), ""),
        )
    for each in removed:
        yield BaselineResult(
            scenario_id=each.scenario_id,
            target=each.target,
            delta=Delta.REMOVED,
            outcome=None,
            signature=None,
            prior_outcome=each.outcome,
            prior_signature=each.signature,
            weight=weights.get((each.target, each.scenario_id), ""),
        )


def keep_baseline(folder: Path, baseline: BaselineData | None) -> None:
    """Keep in a run's folder which baseline its judgements were made with, or that there was none."""
    path = folder / FILE_NAME
    if baseline is None:
        path.unlink(missing_ok=True)
        return
    write_whole(path, json.dumps(baseline.model_dump(), ensure_ascii=False, indent=1) + "\n")


def kept_baseline(folder: Path) -> BaselineData | None:
    """Return the baseline that a run's judgements were made with; None where there was none.

    Raises:
        ReportError: the file is damaged.
    """
    path = folder / FILE_NAME
    if not path.is_file():
        return None
    try:
        return BaselineData.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise ReportError(f"{path} tells no baseline: {error}") from error

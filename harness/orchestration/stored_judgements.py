"""The results that a run has on file: written at once, and read only if nothing of them is missing."""

from collections import Counter
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final

from harness.diff.check import CheckedRun
from harness.diff.model import Attempt, Difference, Judgement
from harness.trace.files import RunFolder, read_records, write_records
from harness.trace.schema import TraceError
from harness.verdict import Confirmation, Delta, DifferenceClass, Expectation, Outcome

_VALUES: Final[Mapping[str, type[StrEnum]]] = {
    "outcome": Outcome,
    "expectation": Expectation,
    "delta": Delta,
    "confirmation": Confirmation,
    "difference_class": DifferenceClass,
}
"""Fields of records whose values are few."""


def keep_judgements(folder: RunFolder, checked: CheckedRun) -> None:
    """Write the results of a run beside its traces; the judgements last, since they stand for all."""
    write_records(folder.differences, checked.differences)
    if checked.attempts or folder.attempts.exists():
        write_records(folder.attempts, checked.attempts)
    write_records(folder.judgements, checked.judgements)


def stored_judgements(folder: RunFolder) -> CheckedRun | None:
    """Read the results that a run stored; None if it was stopped before it was judged.

    Raises:
        TraceError: a file of the results is missing, damaged or incomplete.
    """
    if not folder.judgements.is_file():
        return None
    judgements = read_records(Judgement, folder.judgements)
    differences = read_records(Difference, folder.differences)
    attempts = read_records(Attempt, folder.attempts) if folder.attempts.is_file() else ()
    refuse_unjudged(folder, judgements)
    _refuse_gaps(folder, judgements, differences, attempts)
    return CheckedRun(
        judgements=judgements,
        differences=differences,
        stale_entries=(),
        removed=(),
        attempts=attempts,
    )


def refuse_unjudged(folder: RunFolder, judgements: Sequence[Judgement]) -> None:
    """Refuse results of which one is missing: there is one for each scenario with each target.

    Raises:
        TraceError: says how many are missing.
    """
    if not folder.scripts_json.is_file():
        return
    judged = {(each.target, each.scenario_id) for each in judgements}
    recorded = {(target, name) for target in folder.targets() for name in folder.read_scripts()}
    if missing := recorded - judged:
        raise TraceError(
            f"{folder.judgements}: {len(missing)} of {len(recorded)} judgements are missing that "
            f"{folder.scripts_json.name} wants; {_remedy(folder)}"
        )
    if strange := judged - recorded:
        target, name = min(strange)
        raise TraceError(
            f"{folder.judgements}: the run has no {name!r} on {target!r}, which is judged; {_remedy(folder)}"
        )


def _refuse_gaps(
    folder: RunFolder,
    judgements: Sequence[Judgement],
    differences: Sequence[Difference],
    attempts: Sequence[Attempt],
) -> None:
    records: tuple[Judgement | Difference | Attempt, ...] = (*judgements, *differences, *attempts)
    for record in records:
        for name, values in _VALUES.items():
            value = getattr(record, name, None)
            if value is not None and value not in list(values):
                raise TraceError(
                    f"{folder.path}: {record.scenario_id} on {record.target}: {name} {value!r:.80} is none; "
                    f"{_remedy(folder)}"
                )
    differing = Counter((each.target, each.scenario_id) for each in differences)
    due = Counter({(each.target, each.scenario_id): each.difference_count for each in judgements})
    if +differing != +due:
        raise TraceError(f"{folder.differences}: not the differences of the judgements; {_remedy(folder)}")
    ran = Counter((each.target, each.scenario_id) for each in attempts if each.was_run)
    counts = {(each.target, each.scenario_id): each.attempt_count for each in judgements}
    repeated = {place for place, count in counts.items() if count > 1} | {
        (each.target, each.scenario_id) for each in attempts
    }
    if any(ran[place] != counts.get(place) for place in repeated):
        raise TraceError(f"{folder.attempts}: not the attempts of the judgements; {_remedy(folder)}")


def _remedy(folder: RunFolder) -> str:
    return f"`kafka-conformance report --judge {folder.path}` judges the run again"

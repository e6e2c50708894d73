"""A decision in Markdown, for a step summary or a comment on a pull request."""

from collections.abc import Iterator, Mapping
from typing import Final

from harness.diff.judge import TargetInfo
from harness.gate.decision import Complaint, Decision
from harness.gate.words import (
    can_be_foreseen,
    entry_to_paste,
    escaped,
    next_step,
    reproduction,
    told_kinds,
)
from harness.report.phrases import shortened
from harness.report.standing import Standing

SIZE_MAX: Final = 60_000
"""Bytes; GitHub refuses a comment of 64 KiB and a step summary of 1 MiB."""
_COLUMNS: Final = (
    Standing.PASSED,
    Standing.KNOWN,
    Standing.FAILED,
    Standing.INDETERMINATE,
    Standing.STALE,
    Standing.ERROR,
    Standing.SKIPPED,
)


def markdown(decision: Decision, infos: Mapping[str, TargetInfo]) -> str:
    """Write a decision as Markdown; what does not fit is counted."""
    text = "\n".join(_head(decision))
    for index, complaint in enumerate(decision.complaints):
        block = "\n".join(_block(complaint, infos))
        if _size(text) + _size(block) > SIZE_MAX:
            text += f"\n\n… and {len(decision.complaints) - index} more; `gate.json` has them all."
            break
        text += f"\n{block}"
    tail = "\n".join(_tail(decision))
    return f"{text}\n{tail}\n" if _size(text) + _size(tail) <= 2 * SIZE_MAX else f"{text}\n"


def _size(text: str) -> int:
    return len(text.encode("utf-8", errors="replace"))


def _head(decision: Decision) -> Iterator[str]:
    if decision.is_green:
        yield "## ✓ Group coordinator conformance: green"
    else:
        yield f"## ✗ Group coordinator conformance: {told_kinds(decision)}"
    yield ""
    against = f", compared with {escaped(decision.baseline_id)}" if decision.baseline_id else ""
    yield (
        f"Run {escaped(decision.run_id)}{against}; exit code {decision.code.value} "
        f"({decision.code.name.lower().replace('_', ' ')})."
    )
    if not decision.standings:
        return
    yield ""
    yield f"| target | {' | '.join(column.value for column in _COLUMNS)} |"
    yield f"| --- |{' --: |' * len(_COLUMNS)}"
    for target, counts in decision.standings.items():
        figures = " | ".join(str(counts.get(column, 0)) for column in _COLUMNS)
        yield f"| {escaped(target)} | {figures} |"


def _block(complaint: Complaint, infos: Mapping[str, TargetInfo]) -> Iterator[str]:
    yield ""
    yield f"### {complaint.kind}: {escaped(complaint.subject)}"
    yield ""
    if complaint.judgement is not None:
        yield f"*{escaped(complaint.judgement.title)}*"
        yield ""
    yield escaped(shortened(complaint.reason))
    yield ""
    again = reproduction(complaint, infos)
    if again:
        yield f"    {again}"
    if not again or complaint.remedy:
        yield escaped(next_step(complaint, infos)) if not again else f"\n{complaint.remedy}"
    if complaint.judgement is not None and can_be_foreseen(complaint):
        yield ""
        yield "<details><summary>If this is known and right: the entry for it</summary>"
        yield ""
        entry = entry_to_paste(complaint.judgement, infos[complaint.judgement.target])
        yield "\n".join(f"    {line}" for line in entry.splitlines())
        yield ""
        yield "</details>"


def _tail(decision: Decision) -> Iterator[str]:
    if decision.passed_over:
        yield ""
        yield f"<details><summary>{len(decision.passed_over)} passed over by the policy</summary>"
        yield ""
        for each in decision.passed_over:
            yield f"- {each.kind}: {escaped(each.subject)}: {escaped(shortened(each.reason))}"
        yield ""
        yield "</details>"
    for note in decision.notes:
        yield ""
        yield f"> {escaped(note)}"

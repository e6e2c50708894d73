"""A decision in Markdown, for a step summary or a comment on a pull request."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from harness.diff.judge import TargetInfo
from harness.gate.causes import Cause, causes_of
from harness.gate.decision import Decision
from harness.gate.words import (
    can_be_foreseen,
    entry_to_paste,
    listed_kinds,
    next_step,
)
from harness.report.model.escaping import in_markdown
from harness.report.model.phrases import counted, shortened
from harness.results.answer_impact import impact_of
from harness.results.status import ResultStatus

SIZE_MAX: Final = 60_000
"""In bytes; GitHub refuses a comment of 64 KiB and a step summary of 1 MiB."""
_ALIKE_MAX: Final = 50
"""The number of results that are named because they differ like the first one."""
_COLUMNS: Final = (
    ResultStatus.PASSED,
    ResultStatus.KNOWN,
    ResultStatus.FAILED,
    ResultStatus.INDETERMINATE,
    ResultStatus.FLAKY,
    ResultStatus.STALE,
    ResultStatus.ERROR,
    ResultStatus.SKIPPED,
)


def markdown(decision: Decision, infos: Mapping[str, TargetInfo]) -> str:
    """Return a decision as Markdown; what does not fit is only counted."""
    text = "\n".join(_head(decision))
    causes = causes_of(decision.complaints)
    for index, cause in enumerate(causes):
        block = "\n".join(_block(cause, infos))
        if _size(text) + _size(block) > SIZE_MAX:
            rest = sum(each.count for each in causes[index:])
            text += f"\n\n… and {rest} more; `gate.json` has them all."
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
        yield f"## ✗ Group coordinator conformance: {listed_kinds(decision)}"
    yield ""
    against = f", compared with {in_markdown(decision.baseline_id)}" if decision.baseline_id else ""
    yield (
        f"Run {in_markdown(decision.run_id)}{against}; exit code {decision.code.value} "
        f"({decision.code.name.lower().replace('_', ' ')})."
    )
    if not decision.standings:
        return
    yield ""
    yield f"| target | {' | '.join(column.value for column in _COLUMNS)} |"
    yield f"| --- |{' --: |' * len(_COLUMNS)}"
    for target, counts in decision.standings.items():
        figures = " | ".join(str(counts.get(column, 0)) for column in _COLUMNS)
        yield f"| {in_markdown(target)} | {figures} |"


def _block(cause: Cause, infos: Mapping[str, TargetInfo]) -> Iterator[str]:
    complaint = cause.first
    yield ""
    yield f"### {complaint.kind}: {in_markdown(complaint.subject)}"
    yield ""
    if complaint.judgement is not None:
        yield f"*{in_markdown(complaint.judgement.title)}*"
        yield ""
    yield in_markdown(shortened(complaint.reason))
    yield ""
    if complaint.difference is not None and (says := impact_of(complaint.difference)):
        yield f"What a client notices: {in_markdown(says)}"
        yield ""
    if cause.others:
        yield from _folded(f"the same in {counted(len(cause.others), 'more result')}", _alike(cause))
        yield ""
    again = complaint.line
    if again:
        yield f"    {again}"
    if not again or complaint.remedy:
        yield in_markdown(next_step(complaint)) if not again else f"\n{complaint.remedy}"
    if complaint.judgement is not None and can_be_foreseen(complaint):
        yield ""
        entry = entry_to_paste(complaint.judgement, infos[complaint.judgement.target])
        lines = [f"    {line}" for line in entry.splitlines()]
        yield from _folded("If this difference is known: the entry for it", lines)


def _alike(cause: Cause) -> Iterator[str]:
    for each in cause.others[:_ALIKE_MAX]:
        yield f"- {in_markdown(each.subject)}"
    if len(cause.others) > _ALIKE_MAX:
        yield f"- and {len(cause.others) - _ALIKE_MAX} more"


def _folded(title: str, lines: Iterable[str]) -> Iterator[str]:
    yield f"<details><summary>{title}</summary>"
    yield ""
    yield from lines
    yield ""
    yield "</details>"


def _tail(decision: Decision) -> Iterator[str]:
    if decision.passed_over:
        yield ""
        lines = [
            f"- {each.kind}: {in_markdown(each.subject)}: {in_markdown(shortened(each.reason))}"
            for each in decision.passed_over
        ]
        yield from _folded(f"{len(decision.passed_over)} passed over by the policy", lines)
    for note in decision.notes:
        yield ""
        yield f"> {in_markdown(note)}"

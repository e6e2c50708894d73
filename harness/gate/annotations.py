"""A decision as GitHub's workflow commands: at most ten, worst first, the last one counting the rest."""

from collections.abc import Iterator, Mapping
from typing import Final

from harness.diff.judge import TargetInfo
from harness.gate.decision import Complaint, Decision
from harness.gate.words import next_step, plain
from harness.report.phrases import shortened

COUNT_MAX: Final = 10
"""GitHub shows no more of a step."""


def annotations(decision: Decision, infos: Mapping[str, TargetInfo]) -> Iterator[str]:
    """Write the complaints as errors and, where there is room, what was passed over as notices."""
    told = [("error", each) for each in decision.complaints]
    told += [("notice", each) for each in decision.passed_over]
    rest = len(told) - COUNT_MAX
    shown = told if rest <= 0 else told[: COUNT_MAX - 1]
    for level, complaint in shown:
        yield _command(level, complaint, infos)
    if rest > 0:
        level = told[COUNT_MAX - 1][0]
        yield f"::{level} title=conformance::{rest + 1} more, see the summary"


def _command(level: str, complaint: Complaint, infos: Mapping[str, TargetInfo]) -> str:
    title = _property(plain(f"{complaint.kind}: {complaint.subject}"))
    message = f"{plain(shortened(complaint.reason))}\n{next_step(complaint, infos)}"
    return f"::{level} title={title}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")

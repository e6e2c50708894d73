"""A decision as GitHub's workflow commands: at most ten, one a cause, worst first, the rest counted."""

from collections.abc import Iterator
from typing import Final

from harness.gate.causes import Cause, causes_of
from harness.gate.decision import Decision
from harness.gate.words import next_step, plain
from harness.report.model.phrases import counted, shortened

COUNT_MAX: Final = 10
"""GitHub shows no more annotations of a step."""


def annotations(decision: Decision) -> Iterator[str]:
    """Yield the complaints as errors and, if there is room, what was passed over as notices."""
    reported = [("error", each) for each in causes_of(decision.complaints)]
    reported += [("notice", each) for each in causes_of(decision.passed_over)]
    shown = reported if len(reported) <= COUNT_MAX else reported[: COUNT_MAX - 1]
    for level, cause in shown:
        yield _command(level, cause)
    if rest := reported[len(shown) :]:
        count = sum(cause.count for _, cause in rest)
        yield f"::{rest[0][0]} title=conformance::{count} more, see the summary"


def _command(level: str, cause: Cause) -> str:
    complaint = cause.first
    more = f", and {counted(len(cause.others), 'more result')} alike" if cause.others else ""
    title = _property(plain(f"{complaint.kind}: {complaint.subject}{more}"))
    message = f"{plain(shortened(complaint.reason))}\n{next_step(complaint)}"
    return f"::{level} title={title}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")

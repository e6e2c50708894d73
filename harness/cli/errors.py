"""From exceptions that users can act on to a message and a documented exit code."""

import errno
import functools
from collections.abc import Callable
from typing import Final, ParamSpec

import typer

from harness.conduct.plan import PlanError
from harness.diff.expectations import ExpectationError
from harness.gate.expectation_file import EditError
from harness.gate.merge import MergeError
from harness.gate.policy import PolicyError
from harness.mutants.equivalents import EquivalentsError
from harness.report.errors import ReportError
from harness.report.exit_code import ExitCode
from harness.scenario.errors import ScenarioError
from harness.spark.session import SparkError
from harness.tap.tap import TapError
from harness.targets.base import TargetError
from harness.trace.schema import TraceError

P = ParamSpec("P")

_CODES: Final[tuple[tuple[type[Exception], ExitCode], ...]] = (
    (PlanError, ExitCode.USAGE),
    (ExpectationError, ExitCode.CONFIGURATION),
    (EquivalentsError, ExitCode.CONFIGURATION),
    (PolicyError, ExitCode.CONFIGURATION),
    (EditError, ExitCode.CONFIGURATION),
    (MergeError, ExitCode.BAD_DATA),
    (ScenarioError, ExitCode.CONFIGURATION),
    (ImportError, ExitCode.CONFIGURATION),  # a package of suites that is not there, or imports what is not
    (TraceError, ExitCode.BAD_DATA),
    (ReportError, ExitCode.NO_INPUT),
    (TargetError, ExitCode.UNAVAILABLE),
    (TapError, ExitCode.UNAVAILABLE),
    (SparkError, ExitCode.TEMPORARY_FAILURE),
)
_REMEDIES: Final = {
    errno.ENOSPC: "make room, or choose another place with --out",
    errno.EDQUOT: "make room, or choose another place with --out",
    errno.EACCES: "choose a place that may be written, or change its permissions",
    errno.EPERM: "choose a place that may be written, or change its permissions",
    errno.EROFS: "choose a place that may be written",
    errno.ENOTDIR: "choose another place",
    errno.EISDIR: "choose another place",
    errno.EEXIST: "choose another place",  # of a folder where a file lies
    errno.ENAMETOOLONG: "choose a shorter name",
    errno.EMFILE: "allow more open files (ulimit -n), or hold fewer scenarios at once with --jobs",
    errno.ENFILE: "close what has too many files open",
}
"""What a system may refuse that is no fault of ours, and what helps."""


def ends_with_exit_code(command: Callable[P, ExitCode | None]) -> Callable[P, None]:
    """Let a command return an `ExitCode`, and turn the errors that it may raise into theirs."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            code = command(*args, **kwargs)
        except Exception as error:
            told = _told(error)
            if told is None:
                raise
            message, code = told
            typer.echo(f"kafka-conformance: {message}", err=True)
        raise typer.Exit(int(code or ExitCode.EXPECTED))

    return run


def _told(error: Exception) -> tuple[str, ExitCode] | None:
    """Return what users are told of an error, and its code; None where it is our fault."""
    code = next((code for kind, code in _CODES if isinstance(error, kind)), None)
    if code is not None:
        return str(error), code
    refused = _refused(error)
    if refused is None:
        return None
    what = "" if refused.filename is None else f"{refused.filename}: "
    return f"{what}{refused.strerror}: {_REMEDIES[refused.errno or 0]}", ExitCode.TEMPORARY_FAILURE


def _refused(error: Exception) -> OSError | None:
    """Return what the system refused, if it is that alone which went wrong."""
    if isinstance(error, OSError):
        return error if error.errno in _REMEDIES else None
    if isinstance(error, ExceptionGroup):
        found = [_refused(each) for each in error.exceptions]
        return found[0] if all(found) else None
    return None

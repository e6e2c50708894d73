"""From exceptions that users can act on to a message and a documented exit code."""

import errno
import functools
from collections.abc import Callable, Mapping
from typing import Final, ParamSpec

import typer

from harness.extras import remedy_for
from harness.results.exit_code import ExitCode

P = ParamSpec("P")

CODES: Final[Mapping[str, ExitCode]] = {
    "harness.orchestration.plan:PlanError": ExitCode.USAGE,
    "harness.diff.expectations:ExpectationError": ExitCode.CONFIGURATION,
    "harness.mutants.equivalents:EquivalentsError": ExitCode.CONFIGURATION,
    "harness.gate.policy:PolicyError": ExitCode.CONFIGURATION,
    "harness.gate.expectation_file:EditError": ExitCode.CONFIGURATION,
    "harness.gate.merge:MergeError": ExitCode.BAD_DATA,
    "harness.gate.post:PostError": ExitCode.USAGE,
    "harness.scenario.errors:ScenarioError": ExitCode.CONFIGURATION,
    "harness.targets.secured.properties:CommandConfigError": ExitCode.CONFIGURATION,
    # A package of suites that is not there, or imports what is not.
    "builtins:ImportError": ExitCode.CONFIGURATION,
    "harness.trace.schema:TraceError": ExitCode.BAD_DATA,
    # Of JSON in a record; a file of its own is told with its name.
    "json.decoder:JSONDecodeError": ExitCode.BAD_DATA,
    "pyarrow.lib:ArrowInvalid": ExitCode.BAD_DATA,
    "harness.results.errors:ReportError": ExitCode.NO_INPUT,
    "harness.targets.base.interface:TargetError": ExitCode.UNAVAILABLE,
    "harness.tap.tap:TapError": ExitCode.UNAVAILABLE,
    "harness.spark.master:SparkError": ExitCode.TEMPORARY_FAILURE,
}
"""By the name of an exception: whoever raised it has imported it, and no other command needs to."""
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
    errno.EMFILE: "allow more open files (ulimit -n), or run fewer scenarios at once with --jobs",
    errno.ENFILE: "close the program that has too many files open",
}
"""What a system may refuse that is no fault of ours, and what helps."""


def ends_with_exit_code(command: Callable[P, ExitCode | None]) -> Callable[P, None]:
    """Let a command return an `ExitCode`, and turn the errors that it may raise into theirs."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            code = command(*args, **kwargs)
        except Exception as error:
            reported = _reported(error)
            if reported is None:
                raise
            message, code = reported
            typer.echo(f"kafka-conformance: {message}", err=True)
        raise typer.Exit(int(code or ExitCode.EXPECTED))

    return run


def _reported(error: Exception) -> tuple[str, ExitCode] | None:
    """Return what users are told of an error, and its code; None where it is our fault."""
    remedy = remedy_for(error) if isinstance(error, ImportError) else None
    if remedy is not None:
        return remedy, ExitCode.CONFIGURATION
    names = (f"{kind.__module__}:{kind.__qualname__}" for kind in type(error).__mro__)
    code = next((CODES[name] for name in names if name in CODES), None)
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

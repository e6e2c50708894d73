"""From exceptions that users can act on to a message and a documented exit code."""

import errno
import functools
import os
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
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
_ELSEWHERE: Final = "choose another place"
"""What helps where nothing can be made, for whatever reason, such as below `/proc`."""


def ends_with_exit_code(command: Callable[P, ExitCode | None]) -> Callable[P, None]:
    """Let a command return an `ExitCode`, and turn the errors that it may raise into theirs."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            code = command(*args, **kwargs)
        except Exception as error:
            reported = _reported(error, [each for each in kwargs.values() if isinstance(each, Path)])
            if reported is None:
                raise
            message, code = reported
            typer.echo(f"kafka-conformance: {message}", err=True)
        raise typer.Exit(int(code or ExitCode.EXPECTED))

    return run


def _reported(error: Exception, named: Collection[Path]) -> tuple[str, ExitCode] | None:
    """Return what users are told of an error, and its code; None where it is our fault.

    Args:
        error: what was raised.
        named: files and folders of the command line.
    """
    remedy = remedy_for(error) if isinstance(error, ImportError) else None
    if remedy is not None:
        return remedy, ExitCode.CONFIGURATION
    names = (f"{kind.__module__}:{kind.__qualname__}" for kind in type(error).__mro__)
    code = next((CODES[name] for name in names if name in CODES), None)
    if code is not None:
        return str(error), code
    refused = _refused(error, named)
    if refused is None:
        return None
    if refused.errno in _REMEDIES:
        what, remedy = refused.filename, _REMEDIES[refused.errno]
    else:
        what, remedy = _place_of(refused, named), _ELSEWHERE
    where = "" if what is None else f"{what}: "
    return f"{where}{refused.strerror}: {remedy}", ExitCode.TEMPORARY_FAILURE


def _refused(error: Exception, named: Collection[Path]) -> OSError | None:
    """Return what the system refused, if it is that alone which went wrong."""
    cause = error.__context__
    if isinstance(error, RuntimeError) and isinstance(cause, OSError) and cause.errno == errno.ELOOP:
        error = cause  # a loop of links, as `Path.resolve` reports it until Python 3.12
    if isinstance(error, OSError):
        is_refused = error.errno in _REMEDIES or _place_of(error, named) is not None
        return error if is_refused else None
    if isinstance(error, ExceptionGroup):
        found = [_refused(each, named) for each in error.exceptions]
        return found[0] if all(found) else None
    return None


def _place_of(error: OSError, named: Collection[Path]) -> Path | None:
    """Return what was named on the command line, and leads to where nothing can be made.

    That is tried, since the system says the same of a file that should be there and is not.
    """
    if not isinstance(error.filename, str | os.PathLike):
        return None
    path = Path(error.filename).absolute()
    beside = [each for each in named if _lies_beside(path, each.absolute())]
    if not beside or os.path.lexists(path):
        return None
    try:
        path.mkdir()
    except OSError:
        return max(beside, key=lambda each: len(os.path.commonpath((path, each.absolute()))))
    path.rmdir()
    return None


def _lies_beside(path: Path, named: Path) -> bool:
    """Tell whether one path is the other, below it, above it, or a file that is made beside it."""
    return path.is_relative_to(named.parent) or named.is_relative_to(path)

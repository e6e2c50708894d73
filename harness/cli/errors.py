"""From exceptions that users can act on to a message and a documented exit code."""

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


def ends_with_exit_code(command: Callable[P, ExitCode | None]) -> Callable[P, None]:
    """Let a command return an `ExitCode`, and turn the errors that it may raise into theirs."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            code = command(*args, **kwargs)
        except tuple(kind for kind, _ in _CODES) as error:
            code = next(code for kind, code in _CODES if isinstance(error, kind))
            typer.echo(f"kafka-conformance: {error}", err=True)
        raise typer.Exit(int(code or ExitCode.EXPECTED))

    return run

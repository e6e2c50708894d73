"""A pytest plug-in: the last lines name the tests that were skipped, for what this machine lacks.

With CONFORMANCE_REQUIRE (e.g. `chromium,docker`) a test fails that would be skipped for lack of one of them.
"""

import os
from collections import defaultdict
from typing import Final, Never

import pytest

REQUIRE_VARIABLE: Final = "CONFORMANCE_REQUIRE"


def skip_without(program: str, reason: str) -> Never:
    """Skip the test for lack of a program, or fail it where the program is required."""
    if program in os.environ.get(REQUIRE_VARIABLE, "").split(","):
        pytest.fail(f"{reason}, and {REQUIRE_VARIABLE} names {program}")
    pytest.skip(reason)


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name each test that was skipped, by the reason."""
    skipped: dict[str, list[str]] = defaultdict(list)
    for report in terminalreporter.getreports("skipped"):
        reason = report.longrepr[-1] if isinstance(report.longrepr, tuple) else report.longreprtext
        skipped[reason.removeprefix("Skipped: ")].append(report.nodeid)
    for reason, tests in skipped.items():
        terminalreporter.write_line(f"{len(tests)} skipped, {reason}:")
        for test in tests:
            terminalreporter.write_line(f"  {test}")

"""Broken invariants on the terminal, and the exit code for them."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from rich.table import Table

from harness.invariants import AtFault, Invariant, Violation
from harness.results.exit_code import ExitCode
from harness.tap.run import reported
from harness.terminal import Writer, plain

_KEPT: Final = 4
"""Rows for what follows the violations."""


def print_violations(writer: Writer, violations: Sequence[Violation]) -> None:
    """Print how often each invariant was broken and by whom, and the first violations."""
    count = Counter((each.invariant, each.party) for each in violations)
    table = Table("invariant", *AtFault, title="Broken")
    for invariant in Invariant:
        table.add_row(invariant, *(str(count[invariant, party]) for party in AtFault))
    for line in writer.lines_of(lambda console: console.print(table)):
        writer.say(line)
    lines = [[plain(f"{each.target}: {reported(each)}")] for each in violations]
    writer.say_some(lines, rest="the pages of the run have them all", keep=_KEPT)


def worst_of(violations: Sequence[Violation], *, is_scripted: bool) -> ExitCode:
    """Return the exit code for violations; scripted clients may break rules."""
    counted = [each for each in violations if not is_scripted or each.party == AtFault.COORDINATOR]
    return ExitCode.UNEXPECTED if counted else ExitCode.EXPECTED

"""The page of a soak: the account of records, disturbances over time, and errors that clients received."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter

from harness.invariants import AtFault, Violation
from harness.report.site.pages import NavItem, Site
from harness.results.client_results import ClientsRun, read_violations
from harness.results.status import ENDED_COMPLETE, ExitCode
from harness.results.stored_data import StoredData, read_whole
from harness.trace.events import TARGET_LOST, TraceHeader

_NAVIGATION: Final = (NavItem(view="soak", name="Soak"),)
_ROWS: Final = ("crash", "close", "guest", "error")
"""The kinds of happening, one line of the diagram each."""
_HAPPENING_COUNT_MAX: Final = 2_000


class GroupData(StoredData):
    """The account of the records in one group."""

    group: str
    delivered: int
    repeated: int
    lost: tuple[str, ...]
    committed: bool
    upheavals: Mapping[str, int]
    errors: Mapping[str, int]
    unexpected: tuple[str, ...]
    happenings: tuple[tuple[float, str, str], ...] = ()
    acknowledged: int | None = None
    in_hand: int | None = None
    in_doubt: int | None = None

    def reported(self, produced: int) -> str:
        """Return the account in one line."""
        acknowledged = "" if self.acknowledged is None else f", {self.settled}"
        return (
            f"{self.group}: of {produced} records {self.delivered} delivered{acknowledged}, "
            f"{self.repeated} of them again, {len(self.lost)} lost; "
            f"disturbances {dict(self.upheavals)}, errors {dict(self.errors)}"
        )

    @property
    def settled(self) -> str:
        """Return what became of the records of a share group."""
        return (
            f"{self.acknowledged} acknowledged, {self.in_hand} in hand of members that were killed, "
            f"{self.in_doubt} of which neither came again nor are known to be acknowledged"
        )

    @property
    def shown(self) -> tuple[tuple[float, str, str], ...]:
        """The happenings that a page shows."""
        return self.happenings[:_HAPPENING_COUNT_MAX]

    @property
    def marks(self) -> tuple[tuple[float, int, str], ...]:
        """The place of each happening in the diagram: seconds, line, and tooltip."""
        return tuple(
            (at_s, _ROWS.index(what.partition(" ")[0]), f"{at_s:.1f} s: {what}, {who}")
            for at_s, what, who in self.shown
            if what.partition(" ")[0] in _ROWS
        )


class SoakData(StoredData):
    """The account of one library on one target."""

    library: str
    produced: int
    duration_s: float
    groups: tuple[GroupData, ...]


class Soaked(StoredData):
    """One library on one target, with the violations found by the tap."""

    target: TraceHeader
    soak: SoakData
    violations: tuple[Violation, ...]

    @property
    def unexpected(self) -> tuple[str, ...]:
        """Everything unexpected, in words."""
        return (
            *(f"{each.group}: {says}" for each in self.soak.groups for says in each.unexpected),
            *(
                f"{each.invariant}: {each.detail}"
                for each in self.violations
                if each.party == AtFault.COORDINATOR
            ),
        )

    @property
    def is_right(self) -> bool:
        """Whether nothing is unexpected."""
        return not self.unexpected


def soak_site(run: ClientsRun) -> Path:
    """Write the page of a soak into its run's folder.

    Raises:
        ReportError: an account is damaged.
    """
    banner = "" if run.ended == ENDED_COMPLETE else f"The soak did not finish: {run.ended}."
    site = Site(run.folder, run.run_id, banner=banner, nav=_NAVIGATION)
    soaked = read_soaks(run)
    site.view("soak", "soak.html.j2", clients=run, soaked=soaked, lines=_ROWS, is_right=_all_right(soaked))
    return site.finish()


def _all_right(soaked: Sequence[Soaked]) -> bool:
    return bool(soaked) and all(each.is_right for each in soaked)


def soak_exit_code(run: ClientsRun) -> ExitCode:
    """Return the exit code of a soak; the account of an incomplete soak is not considered."""
    if run.ended.startswith(TARGET_LOST):
        return ExitCode.UNAVAILABLE
    if run.ended != ENDED_COMPLETE:
        return ExitCode.BAD_DATA
    soaked = read_soaks(run)
    if not soaked:
        return ExitCode.NOTHING_RAN
    return ExitCode.EXPECTED if _all_right(soaked) else ExitCode.UNEXPECTED


def read_soaks(run: ClientsRun) -> tuple[Soaked, ...]:
    """Read the accounts of a soak, in the order of targets and libraries.

    Raises:
        ReportError: an account is damaged.
        TraceError: a line about a violated invariant is damaged.
    """
    found: list[Soaked] = []
    for record in run.references.values():
        violations = read_violations(run.files, record.name)
        for account in run.files.all_soak_json(record.name):
            soak = read_whole(TypeAdapter(SoakData), account)
            of_library = tuple(each for each in violations if each.scenario_id == soak.library)
            found.append(Soaked(target=record, soak=soak, violations=of_library))
    return tuple(found)

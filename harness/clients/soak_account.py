"""The account of a soak: what became of all records in each group."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from harness.clients.steps import Fact

_EXPECTED_ERRORS: Final = frozenset(
    {
        "REBALANCE_IN_PROGRESS",
        "ILLEGAL_GENERATION",
        "UNKNOWN_MEMBER_ID",
        "COMMIT_FAILED",
        "_MAX_POLL_EXCEEDED",
        "_STATE",
        "_WAIT_COORD",
        "INVALID_RECORD_STATE",
    }
)
"""Errors that a commit, or an acknowledgement whose lock has expired, may get in an upheaval."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupAccount:
    """The account of the records in one group."""

    group: str
    delivered: int
    """How many different records were delivered."""
    repeated: int
    """How many deliveries were repetitions."""
    lost: tuple[str, ...]
    """Records that were never delivered; the first hundred."""
    committed: bool
    """Whether all records are committed."""
    upheavals: Mapping[str, int]
    errors: Mapping[str, int]
    """The number of errors that clients reported, by name."""
    happenings: tuple[tuple[float, str, str], ...] = ()
    """Upheavals and errors in order of time: on the clients' clock, what happened, and the member."""
    settled: Mapping[str, int] | None = None
    """In a share group: what became of records, by the members' word; None in other groups."""
    wrong: tuple[str, ...] = ()
    """Anything else that is unexpected, in words."""

    @property
    def unexpected(self) -> tuple[str, ...]:
        """All that is unexpected, in words."""
        found = [f"{len(self.lost)} records were lost, the first is {self.lost[0]}"] if self.lost else []
        found += [] if self.committed else ["not everything is committed"]
        found += [f"error {name}" for name in self.errors if name not in _EXPECTED_ERRORS]
        return (*found, *self.wrong)

    def facts(self, produced: int) -> dict[str, Fact]:
        """Return the account as what was observed of a script's step."""
        return {
            "produced": produced,
            "delivered": self.delivered,
            "delivered again": self.repeated,
            "lost": list(self.lost),
            "all committed": self.committed,
            **(self.settled or {}),
            "upheavals": dict(self.upheavals),
            "errors": dict(self.errors),
            "unexpected": list(self.unexpected),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class SoakResult:
    """The account of one library on one target."""

    library: str
    produced: int
    duration_s: float
    groups: tuple[GroupAccount, ...]

"""The account of a soak: what became of all records, as it is stored and shown."""

from collections.abc import Mapping
from typing import Final

from pydantic import computed_field

from harness.results.stored_data import StoredData

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
HAPPENINGS: Final = ("crash", "close", "guest", "error")
"""The kinds of happening, one line of the diagram each."""
_HAPPENING_COUNT_MAX: Final = 2_000


class GroupAccount(StoredData):
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
    """Upheavals and errors in order of time: seconds since the beginning, what happened, and the member."""
    acknowledged: int | None = None
    """In a share group: how many records were acknowledged, as members reported."""
    in_hand: int | None = None
    """In a share group: how many records were in the hands of members when these were killed."""
    in_doubt: int | None = None
    """How many of them were in a commit that was not answered, and did not come again."""
    wrong: tuple[str, ...] = ()
    """Anything else that is unexpected, in words."""

    @computed_field  # type: ignore[prop-decorator] # it takes a property
    @property
    def unexpected(self) -> tuple[str, ...]:
        """All that is unexpected, in words."""
        found = [f"{len(self.lost)} records were lost, the first is {self.lost[0]}"] if self.lost else []
        found += [] if self.committed else ["not everything is committed"]
        found += [f"error {name}" for name in self.errors if name not in _EXPECTED_ERRORS]
        return (*found, *self.wrong)

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
            (at_s, HAPPENINGS.index(what.partition(" ")[0]), f"{at_s:.1f} s: {what}, {who}")
            for at_s, what, who in self.shown
            if what.partition(" ")[0] in HAPPENINGS
        )


class SoakResult(StoredData):
    """The account of one library on one target."""

    library: str
    produced: int
    duration_s: float
    groups: tuple[GroupAccount, ...]

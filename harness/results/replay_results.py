"""What came of replays, read from the files beside the journal that was replayed."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter

from harness.results.stored_data import StoredData, read_lines, read_whole

FINDINGS: Final = "replay.jsonl"
"""A finding a line; empty where the reference says the same."""
COUNTS: Final = "replay.json"
"""How much was compared of each conversation, and what was not, with the reasons."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayFinding:
    """An answer that the reference would not have given. Grain: conversation, position, field."""

    conversation: str
    position: int
    """The answer's sequence in its conversation; the request's where the difference is its time."""
    at_ms: float
    """When it came, on the tap's clock."""
    api: str
    api_version: int
    actor: str | None
    group: str
    field: str
    """Path of the field, e.g. `members[1].metadata`; empty where it is about the whole answer."""
    expected: str
    """The reference's value, JSON."""
    actual: str
    """The recorded one, JSON."""
    state: str
    """The group as the reference had it before."""
    says: str
    """For people."""
    connection: str = ""
    """On which it came."""
    client: str = ""
    """The client's library with its version, as it names itself; empty where that is not known."""


class ReplayCounts(StoredData):
    """How much of a conversation was replayed."""

    conversation: str
    compared: int
    not_compared: Mapping[str, int] = {}

    @property
    def reported(self) -> str:
        """The counts in words."""
        left_out = "; ".join(f"{count} {why}" for why, count in sorted(self.not_compared.items()))
        return f"{self.compared} answers compared with the reference's" + (
            f", not compared: {left_out}" if left_out else ""
        )


def read_findings(directory: Path) -> tuple[ReplayFinding, ...]:
    """Read what was found when conversations were replayed; nothing where nobody did that.

    Raises:
        TraceError: a line is damaged.
    """
    return tuple(read_lines(TypeAdapter(ReplayFinding), directory / FINDINGS))


def read_counts(directory: Path) -> tuple[ReplayCounts, ...]:
    """Read how much was replayed of each conversation; nothing where nobody did that.

    Raises:
        ReportError: the file is damaged.
    """
    path = directory / COUNTS
    return read_whole(TypeAdapter(tuple[ReplayCounts, ...]), path) if path.is_file() else ()

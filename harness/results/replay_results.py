"""The results of replays, read from the files beside the journal that was replayed."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter

from harness.results.stored_data import read_lines, read_whole

FINDINGS: Final = "replay.jsonl.zst"
"""One finding a line; empty if the reference answers the same."""
COUNTS: Final = "replay.json"
"""How much of each conversation was compared, and the reasons for what was not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayFinding:
    """An answer that the reference would not have given. Grain: conversation, position, field."""

    conversation: str
    position: int
    """The answer's sequence in its conversation; the request's if the difference is one of time."""
    at_ms: float
    """When the answer came, on the tap's clock."""
    api: str
    api_version: int
    actor: str | None
    group: str
    field: str
    """Path of the field, e.g. `members[1].metadata`; empty if the finding is about the whole answer."""
    expected: str
    """The reference's value, JSON."""
    actual: str
    """The recorded value, JSON."""
    state: str
    """The group's state in the reference before the answer."""
    says: str
    """The finding in words, for people."""
    connection: str = ""
    """The connection on which the answer came."""
    client: str = ""
    """The client's library and version, as the client reports them; empty if unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """The result of replaying one conversation."""

    conversation: str
    compared: int
    """Answers of the coordinator that were compared with the reference's."""
    not_compared: Mapping[str, int] = field(default_factory=dict)
    """The numbers of the coordinator's answers that were not compared, by reason."""
    findings: tuple[ReplayFinding, ...] = ()
    """They are in a file of their own."""

    @property
    def reported(self) -> str:
        """The counts in words."""
        left_out = "; ".join(f"{count} {why}" for why, count in sorted(self.not_compared.items()))
        return f"{self.compared} answers compared" + (f", not compared: {left_out}" if left_out else "")


def total(replayed: tuple[Replayed, ...]) -> Replayed:
    """Return the sums over several conversations."""
    not_compared = sum((Counter(each.not_compared) for each in replayed), Counter[str]())
    return Replayed(
        conversation="all",
        compared=sum(each.compared for each in replayed),
        not_compared=dict(not_compared),
        findings=tuple(finding for each in replayed for finding in each.findings),
    )


def read_findings(directory: Path) -> tuple[ReplayFinding, ...]:
    """Read the findings of replays; none if nothing was replayed.

    Raises:
        TraceError: a line is damaged.
    """
    return tuple(read_lines(TypeAdapter(ReplayFinding), directory / FINDINGS))


def read_counts(directory: Path) -> tuple[Replayed, ...]:
    """Read how much of each conversation was replayed; none if nothing was replayed.

    Raises:
        ReportError: the file is damaged.
    """
    path = directory / COUNTS
    return read_whole(TypeAdapter(tuple[Replayed, ...]), path) if path.is_file() else ()

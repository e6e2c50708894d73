"""Reading of a journal while it is written, for immediate checks."""

from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from harness.invariants.exchange import LOOKED_AT
from harness.tap.journal import Entry, next_entry, open_journal
from harness.tap.reading import TraceReader
from harness.trace.events import Event

_ENTRIES_AT_ONCE: Final = 20_000
"""After so many entries, control returns to the caller before more are read."""


class Follower:
    """Reads a journal from where it left off; it decodes only the fields that invariants need."""

    def __init__(self, path: Path, *, run_id: str, target: str) -> None:
        self._path = path
        self._file = open_journal(path)
        self._reader = TraceReader(run_id=run_id, target=target, only=LOOKED_AT)

    def events(self) -> Iterator[Event]:
        """Yield the events that were recorded since the last call."""
        return self._reader.events(self._entries())

    def _entries(self) -> Iterator[Entry]:
        for _ in range(_ENTRIES_AT_ONCE):
            entry = next_entry(self._file, self._path)
            if entry is None:
                return
            yield entry

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

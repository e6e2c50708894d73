"""Which kind of run a folder has."""

import os
from pathlib import Path

from harness.results.stored_data import run_kind


def test_what_is_no_file_is_not_read(tmp_path: Path) -> None:
    """Somebody would have to write to it first."""
    os.mkfifo(tmp_path / "run.json")

    assert run_kind(tmp_path) is None

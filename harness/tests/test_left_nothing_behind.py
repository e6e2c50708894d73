"""What imports bring along leaves nothing in the folder of who uses the harness."""

import subprocess
import sys
from pathlib import Path

import pytest

from harness.tests.completed_runs import environment

_WHERE = "import {}; from hypothesis.configuration import storage_directory; print(storage_directory())"


@pytest.mark.parametrize("imported", ["harness", "harness.wire.codec", "reference_coordinator.__main__"])
def test_hypothesis_which_kio_registers_with_keeps_nothing_in_the_working_directory(
    tmp_path: Path, imported: str
) -> None:
    inherited = {name: value for name, value in environment().items() if not name.startswith("HYPOTHESIS")}
    asked = subprocess.run(
        [sys.executable, "-c", _WHERE.format(imported)],
        cwd=tmp_path,
        env=inherited,
        capture_output=True,
        text=True,
        check=True,
    )
    assert not Path(asked.stdout.strip()).is_relative_to(tmp_path)
    assert list(tmp_path.iterdir()) == []

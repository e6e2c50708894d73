"""Run folders that a command line names."""

from pathlib import Path

from harness.report.errors import ReportError
from harness.trace.files import RunFolder


def run_folder(path: Path, *, made_by: str = "run") -> RunFolder:
    """Return the folder of a run.

    Args:
        path: what the user named.
        made_by: the command that makes such a run.

    Raises:
        ReportError: there is no run.
    """
    folder = RunFolder(path.resolve())
    if not folder.run_json.is_file():
        raise ReportError(f"{path} is no run's folder; `kafka-conformance {made_by}` makes one")
    return folder

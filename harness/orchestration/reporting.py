"""What Spark adds to a run's pages: the trend of the archive's runs up to this one."""

import shutil
from collections.abc import Callable
from typing import Final

import pyarrow.parquet as pq  # type: ignore[import-untyped]  # Arrow has no annotations

from harness.report.model.trend import PAGE_TABLES, RUN_COUNT_MAX, TREND_FOLDER
from harness.results.client_results import archived_clients
from harness.spark.archive import Archive, ArchiveError, naming_damage, pack
from harness.spark.trend import TREND_MARTS, build_trend
from harness.targets.base.interface import Lasting
from harness.trace.files import RunFolder

_MARTS: Final = {name: TREND_MARTS[name] for name in PAGE_TABLES}


def archive_and_build_trend(
    folder: RunFolder, archive: Archive, *, master: str, progress: Callable[[str], None]
) -> None:
    """Add a run to the archive, and build the tables of its trend; a run that was cut short has none.

    With a damaged archive the run only lacks its history; the progress text names the remedy.

    Raises:
        SparkError: Spark cannot be started.
        TraceError: the run's own files are damaged.
    """
    trend = folder.path / TREND_FOLDER
    # Pages show all tables that exist, so an old trend must not outlive the archive.
    shutil.rmtree(trend, ignore_errors=True)
    if folder.read_footer() is None:
        return
    try:
        pack([folder], archive, clients_of=archived_clients, progress=progress)
        run_ids = newest_up_to(folder.read_run().run_id, archive)
        archive.check(run_ids)
        build_trend(archive, trend, marts=_MARTS, run_ids=run_ids, master=master, progress=progress)
    except ArchiveError as error:
        progress(Lasting(f"no history: {error}"))


def newest_up_to(run_id: str, archive: Archive) -> tuple[str, ...]:
    """Return a run of an archive and the newest runs before it, oldest first."""
    with naming_damage(archive.root):
        tables = [pq.read_table(file, columns=["run_id", "started_at"]) for file in archive.files("runs")]
    archived = set(archive.run_ids())
    in_turn = sorted(
        (row["started_at"], row["run_id"])
        for table in tables
        for row in table.to_pylist()
        if row["run_id"] in archived
    )
    names = [name for _, name in in_turn]
    return tuple(names[: names.index(run_id) + 1][-RUN_COUNT_MAX:])

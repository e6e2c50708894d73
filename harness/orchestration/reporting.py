"""The tables behind a run's pages: those of the run itself, and those of earlier runs in an archive."""

import shutil
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final

import pyarrow.parquet as pq  # type: ignore[import-untyped]  # Arrow has no annotations

from harness.report.model.client_verdicts import client_verdicts
from harness.report.model.history import RUN_COUNT_MAX
from harness.report.model.trend import PAGE_TABLES, TREND_FOLDER
from harness.spark.archive import Archive, ArchiveError, damaged_archive, naming_damage
from harness.spark.archived import Archived
from harness.spark.job import build_tables
from harness.spark.packing import pack
from harness.spark.refusals import unreadable_files
from harness.spark.session import spark_session
from harness.spark.tables import write_tables
from harness.spark.trend import TREND_MARTS, shuffle_partitions
from harness.trace.files import RunFolder

_MARTS: Final = {name: TREND_MARTS[name] for name in PAGE_TABLES}


def archive_and_build_tables(
    folder: RunFolder, archive: Archive, *, master: str, progress: Callable[[str], None]
) -> None:
    """Add a run to the archive, and build the tables of its pages.

    With a damaged archive the run only lacks its history; the progress text names the remedy.

    Raises:
        SparkError: Spark cannot be started.
        TraceError: the run's own files are damaged.
    """
    partitions = _partitions(archive)
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="archive") as pool:
        # Spark takes as long to start as archiving a run takes, and builds the run's own tables first.
        archived = pool.submit(_archived, folder, archive, progress)
        build_page_tables(
            folder, archive, archived.result, partitions=partitions, master=master, progress=progress
        )


def _partitions(archive: Archive) -> int:
    try:
        return shuffle_partitions(archive)
    except (ArchiveError, OSError):
        return 1  # archiving reports what is wrong, and there will be no history to shuffle


def _archived(folder: RunFolder, archive: Archive, progress: Callable[[str], None]) -> Sequence[str]:
    """Add a run to the archive; return the ids of its history's runs, none if the archive is damaged."""
    try:
        if folder.read_footer() is not None:
            pack([folder], archive, clients_of=client_verdicts, progress=progress)
        run_ids = newest_up_to(folder.read_run().run_id, archive)
        archive.check(run_ids)
    except ArchiveError as error:
        progress(f"no history: {error}")
        return ()
    return run_ids


def build_page_tables(
    folder: RunFolder,
    archive: Archive,
    run_ids: Callable[[], Sequence[str]],
    *,
    partitions: int,
    master: str,
    progress: Callable[[str], None],
) -> None:
    """Build the tables of a run, and of its trend if the archive has earlier runs and is readable.

    Args:
        folder: the run's folder.
        archive: contains the runs of the trend.
        run_ids: returns the ids of those runs, as `newest_up_to` does; called after the run's own tables.
        partitions: the number of partitions in Spark's shuffles of the archive.
        master: Spark's master.
        progress: called with a text about the current work.

    Raises:
        SparkError: Spark cannot be started.
        TraceError: the run's files are damaged.
    """
    trend = (folder.path / TREND_FOLDER).resolve()
    # Pages show all tables that exist, so an old trend must not outlive the archive.
    shutil.rmtree(trend, ignore_errors=True)
    with spark_session(master=master, partitions=partitions, progress=progress) as spark:
        build_tables([folder.path], folder.tables, master=master, progress=progress)
        archived = run_ids()
        if len(archived) < 2:
            return
        progress(f"tables of {len(archived)} runs")
        try:
            with unreadable_files(partial(damaged_archive, archive.root)):
                sources = Archived(spark, archive, archived)
                write_tables(_MARTS, sources, trend, partitions=partitions, progress=progress)
        except ArchiveError as error:
            progress(f"no history: {error}")


def newest_up_to(run_id: str, archive: Archive) -> tuple[str, ...]:
    """Return a run and the newest archived runs before it, oldest first; nothing if it is not archived."""
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
    if run_id not in names:
        return ()
    return tuple(names[: names.index(run_id) + 1][-RUN_COUNT_MAX:])

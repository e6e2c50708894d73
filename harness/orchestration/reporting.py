"""The tables that a run's pages are made of: its own, and those of the runs before it in an archive."""

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
    """Put a run into the archive and make the tables of its pages.

    An archive that is damaged costs the run its history and nothing else; the remedy is told.

    Raises:
        SparkError: Spark cannot be started.
        TraceError: the run's own files are damaged.
    """
    partitions = _partitions(archive)
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="archive") as pool:
        # Spark takes as long to start as a run to be archived, and is asked for the run's own tables first.
        archived = pool.submit(_archived, folder, archive, progress)
        build_page_tables(
            folder, archive, archived.result, partitions=partitions, master=master, progress=progress
        )


def _partitions(archive: Archive) -> int:
    try:
        return shuffle_partitions(archive)
    except (ArchiveError, OSError):
        return 1  # whoever archives says what is wrong, and there will be no history to shuffle


def _archived(folder: RunFolder, archive: Archive, progress: Callable[[str], None]) -> Sequence[str]:
    """Put a run into the archive; return the runs of its history, none if the archive is damaged."""
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
    """Make the tables of a run, and of its trend where the archive has earlier runs and can be read.

    Args:
        folder: of the run.
        archive: has the runs of the trend.
        run_ids: returns those runs, as `newest_up_to` finds them; asked when the run's tables are made.
        partitions: into how many parts the archive is shuffled.
        master: Spark's.
        progress: told what is being worked on.

    Raises:
        SparkError: Spark cannot be started.
        TraceError: the run's files are damaged.
    """
    trend = (folder.path / TREND_FOLDER).resolve()
    # Pages show what is there, so a history of before must not outlive the archive.
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
    """Return a run and those of an archive that began before it, the newest so many, in their order."""
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

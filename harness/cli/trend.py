"""`trend`: make tables and pages of many runs together."""

from pathlib import Path

from harness.cli.errors import ends_with_exit_code
from harness.report.site.run_site import render_trend
from harness.results.client_results import archived_clients
from harness.results.status import ExitCode
from harness.results.stored_data import open_folder
from harness.spark.archive import Archive, pack
from harness.spark.master import LOCAL_MASTER
from harness.spark.rows import ARCHIVE
from harness.spark.trend import build_trend
from harness.terminal import ProgressDisplay, Writer
from harness.trace.events import RunKind


@ends_with_exit_code
def trend(
    runs: list[Path] | None = None,
    *,
    out: Path = Path("reports", "trend"),
    archive: Path | None = None,
    spark_master: str = LOCAL_MASTER,
) -> ExitCode:
    """Put runs into the archive, and make tables and pages of all of them."""
    folders = [open_folder(path, RunKind.SUITES) for path in runs or []]
    writer = Writer()
    place = archive or (folders[0].path.parent if folders else Path("reports")) / ARCHIVE
    kept = Archive(root=place.resolve())
    run_ids = list(dict.fromkeys(folder.read_run().run_id for folder in folders)) or None
    with ProgressDisplay(writer) as display:
        tell = display.teller("trend")
        if folders:
            pack(folders, kept, clients_of=archived_clients, progress=tell)
        kept.check(run_ids or kept.run_ids())
        counts = build_trend(kept, out, run_ids=run_ids, master=spark_master, progress=tell)
        page = render_trend(out)
    for name, count in counts.items():
        writer.say(f"{count:>10}  {name}")
    writer.say(f"Tables: {out}")
    writer.say(f"Page: {page}")
    return ExitCode.EXPECTED

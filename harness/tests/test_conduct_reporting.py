"""Which runs of an archive the trend of a run is made of."""

from pathlib import Path

from harness.conduct.reporting import newest_up_to
from harness.report.client_verdicts import client_verdicts
from harness.report.history import RUN_COUNT_MAX
from harness.spark.archive import Archive
from harness.spark.packing import pack
from harness.tests.spark_archive import finished


def test_a_trend_ends_with_its_run_and_has_the_newest_before_it(tmp_path: Path) -> None:
    archive = Archive(root=tmp_path / "archive")
    count = RUN_COUNT_MAX + 1
    pack([finished(tmp_path, number) for number in range(count, 0, -1)], archive, clients_of=client_verdicts)

    assert newest_up_to("run-2", archive) == ("run-1", "run-2")
    newest = newest_up_to(f"run-{count}", archive)
    assert (len(newest), newest[0], newest[-1]) == (RUN_COUNT_MAX, "run-2", f"run-{count}")
    assert newest_up_to("a run that was cut short", archive) == ()

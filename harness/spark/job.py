"""The job that builds a report's tables from any number of runs.

python -m harness.spark.job RUN… [--out FOLDER] [--master URL]
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Final

import typer

from harness.diff.model import Attempt, Judgement
from harness.spark import mart
from harness.spark.change_mart import behaviour_changes
from harness.spark.coverage_mart import clause_coverage
from harness.spark.master import LOCAL_MASTER
from harness.spark.rows import (
    AlignedStep,
    BehaviourChange,
    ClauseCoverage,
    ClusteredDifference,
    DifferenceCount,
    ErrorCodeCount,
    LatencyQuantile,
    SignatureCluster,
    TargetSummary,
)
from harness.spark.session import spark_session
from harness.spark.stage import Sources, run_headers, stage
from harness.spark.tables import Mart, partition_count, print_tables, write_tables
from harness.trace.files import RunFolder

MARTS: Final[Mapping[str, Mart[Sources]]] = {
    "verdict_matrix": Mart(
        row=Judgement,
        order=("run_id", "scenario_id", "target"),
        build=lambda of: mart.verdict_matrix(of.judgements),
    ),
    "attempts": Mart(
        row=Attempt,
        order=("run_id", "scenario_id", "target", "attempt"),
        build=lambda of: mart.attempts(of.attempts),
    ),
    "target_summary": Mart(
        row=TargetSummary,
        order=("run_id", "target"),
        build=lambda of: mart.target_summary(of.headers, of.footers, of.judgements, of.events),
    ),
    "aligned_steps": Mart(
        row=AlignedStep,
        order=("run_id", "scenario_id", "target", "step", "occurrence"),
        build=lambda of: mart.aligned_steps(of.alignments, of.events, of.first_events),
    ),
    "differences": Mart(
        row=ClusteredDifference,
        order=("run_id", "scenario_id", "target", "ordinal"),
        build=lambda of: mart.clustered_differences(of.differences),
    ),
    "differences_by_api_and_class": Mart(
        row=DifferenceCount,
        order=("run_id", "target", "api", "difference_class"),
        build=lambda of: mart.differences_by_api_and_class(of.differences),
    ),
    "signature_clusters": Mart(
        row=SignatureCluster,
        order=("cluster",),
        build=lambda of: mart.signature_clusters(mart.clustered_differences(of.differences), of.runs),
    ),
    "latency_quantiles": Mart(
        row=LatencyQuantile,
        order=("run_id", "target", "api", "api_version"),
        build=lambda of: mart.latency_quantiles(of.events),
    ),
    "error_codes": Mart(
        row=ErrorCodeCount,
        order=("run_id", "target", "api", "api_version", "error_code"),
        build=lambda of: mart.error_codes(of.events),
    ),
    "behaviour_changes": Mart(
        row=BehaviourChange,
        order=("run_id", "scenario_id", "ordinal"),
        build=behaviour_changes,
    ),
    "clause_coverage": Mart(
        row=ClauseCoverage,
        order=("run_id", "clause", "target"),
        build=lambda of: clause_coverage(of.clauses, of.headers, of.judgements),
    ),
}
"""All tables, by the name of their folder."""


def build_tables(
    runs: Sequence[Path],
    out: Path,
    *,
    master: str = LOCAL_MASTER,
    progress: Callable[[str], None] | None = None,
) -> dict[str, int]:
    """Build all tables from some runs, and return how many rows each has.

    Args:
        runs: folders of runs, in any order; naming one twice changes nothing.
        out: gets a folder of Parquet files for each table; its old content is replaced when all are written.
        master: a Spark master URL; with one that is not local, its executors must see the same paths.
        progress: called with a message at each stage of the work.

    Raises:
        OSError: the system refused an operation of Spark's, for example because a disk is full.
        SparkError: Spark cannot be started.
        TraceError: a run's files are missing or corrupt.
    """
    folders = [RunFolder(path) for path in dict.fromkeys(run.resolve() for run in runs)]
    run_headers(folders)  # checks that these are runs before Spark's start costs seconds
    tell = progress or (lambda _: None)
    partitions = partition_count(sum(_trace_bytes(folder) for folder in folders))
    with spark_session(master=master, partitions=partitions, progress=tell) as spark:
        tell(f"reading {len(folders)} {'run' if len(folders) == 1 else 'runs'}")
        sources = stage(spark, folders)
        return write_tables(MARTS, sources, out.resolve(), partitions=partitions, progress=tell)


def _trace_bytes(folder: RunFolder) -> int:
    paths = [folder.events(target) for target in folder.targets()]
    return sum(path.stat().st_size for path in paths if path.exists())


def main(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN…", help="Folders of runs.")],
    out: Annotated[Path | None, typer.Option(help="Where the tables go [`tables` in the last run].")] = None,
    master: Annotated[str, typer.Option(help="A Spark master URL.")] = LOCAL_MASTER,
) -> None:
    """Build a report's tables from runs; exits with 65 (bad input), 69 (no Spark) or 75 (a full disk)."""
    tables = out or RunFolder(runs[-1].resolve()).tables
    print_tables(lambda progress: build_tables(runs, tables, master=master, progress=progress))


if __name__ == "__main__":
    typer.run(main)

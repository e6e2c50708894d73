"""A damaged archive costs a run its history, not its report."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from harness.orchestration.run import archive_and_build_trend
from harness.report.model.trend import TREND_FOLDER
from harness.results.client_results import archived_clients
from harness.spark.archive import KINDS, Archive, ArchiveError, pack
from harness.spark.trend import build_trend
from harness.tests.completed_runs import completed_run
from harness.trace.files import RunFolder

pytest_plugins = ["harness.tests.spark_fixture"]

Damage = Callable[[Path], None]


@pytest.fixture(name="archived")
def _archived(tmp_path: Path) -> tuple[RunFolder, Archive]:
    """Give a run whose archive has an earlier one."""
    archive = Archive(root=tmp_path / "runs")
    earlier = completed_run(tmp_path / "earlier", ["reference"], "classic/heartbeat/empty-group").folder
    header = earlier.run_json.read_text()
    earlier.run_json.write_text(header.replace('"run_id": "run"', '"run_id": "before"'))
    pack([earlier], archive, clients_of=archived_clients)
    return completed_run(tmp_path, ["reference"], "classic/heartbeat/empty-group").folder, archive


@pytest.fixture(name="built")
def _built(monkeypatch: pytest.MonkeyPatch) -> list[Sequence[str]]:
    """Give the runs that the trend was built of, in place of Spark."""
    built: list[Sequence[str]] = []

    def build(_: Archive, __: Path, *, run_ids: Sequence[str], **___: object) -> None:
        built.append(run_ids)

    monkeypatch.setattr("harness.spark.trend.build_trend", build)
    return built


def damaged(kind: str) -> Damage:
    def damage(root: Path) -> None:
        for file in (root / kind).glob("*.parquet"):
            content = file.read_bytes()
            file.write_bytes(content[: len(content) // 2])

    return damage


def shifted(kind: str) -> Damage:
    """Keep a file's index, which stands at its end, and spoil what that points to."""

    def damage(root: Path) -> None:
        for file in (root / kind).glob("*.parquet"):
            content = file.read_bytes()
            file.write_bytes(content[:20] + b"\xff\xfe" + content[20:])

    return damage


def listing(text: str) -> Damage:
    def damage(root: Path) -> None:
        (root / "_volumes.json").write_text(text)

    return damage


def test_a_whole_archive_gives_the_run_its_history(
    archived: tuple[RunFolder, Archive], built: list[Sequence[str]]
) -> None:
    folder, archive = archived
    reported: list[str] = []
    archive_and_build_trend(folder, archive, master="local[1]", progress=reported.append)
    assert built == [("before", "run")]
    assert not any("no history" in text for text in reported)


@pytest.mark.parametrize(
    "damage",
    [
        *(pytest.param(damaged(kind), id=f"half of {kind}") for kind in ("runs", "events", "judgements")),
        pytest.param(damaged("conversations"), id="half of conversations"),
        pytest.param(lambda root: next((root / "runs").glob("*")).unlink(), id="a file less"),
        pytest.param(lambda root: next((root / "runs").glob("*")).write_bytes(b"x" * 9000), id="no Parquet"),
        pytest.param(lambda root: next((root / "traces").glob("*")).write_bytes(b""), id="an empty file"),
        pytest.param(listing("[" * 100_000), id="a nested list"),
        pytest.param(listing("[]"), id="a list of another shape"),
        pytest.param(listing('{"x": 3}'), id="a volume of another shape"),
    ],
)
def test_a_damaged_archive_costs_the_history_alone(
    archived: tuple[RunFolder, Archive], built: list[Sequence[str]], damage: Damage
) -> None:
    folder, archive = archived
    damage(archive.root)
    reported: list[str] = []
    archive_and_build_trend(folder, archive, master="local[1]", progress=reported.append)
    assert built == []
    assert any("no history: the archive" in text and "move it away" in text for text in reported)


def test_whoever_wants_the_archive_alone_hears_of_its_damage(archived: tuple[RunFolder, Archive]) -> None:
    _, archive = archived
    for kind in KINDS:
        damaged(kind)(archive.root)
    with pytest.raises(ArchiveError, match="is damaged"):
        archive.check(["before"])


@pytest.mark.spark
@pytest.mark.parametrize("kind", ["conversations", "events"])
def test_damage_that_spark_alone_finds_names_the_file(
    spark: SparkSession, archived: tuple[RunFolder, Archive], tmp_path: Path, kind: str
) -> None:
    _, archive = archived
    shifted(kind)(archive.root)
    archive.check(["before"])

    with pytest.raises(ArchiveError, match=rf"archive .* is damaged .*/{kind}/\w+\.parquet.*move it away"):
        build_trend(archive, tmp_path / "tables")

    assert spark.range(1).count() == 1
    assert not list(tmp_path.glob("*tables*"))


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_damage_that_spark_finds_costs_the_history_alone(
    archived: tuple[RunFolder, Archive],
) -> None:
    folder, archive = archived
    reported: list[str] = []
    archive_and_build_trend(folder, archive, master="local[1]", progress=reported.append)
    assert (folder.path / TREND_FOLDER).exists()
    shifted("judgements")(archive.root)

    archive_and_build_trend(folder, archive, master="local[1]", progress=reported.append)

    assert any("no history: the archive" in text and "move it away" in text for text in reported)
    assert not (folder.path / TREND_FOLDER).exists()

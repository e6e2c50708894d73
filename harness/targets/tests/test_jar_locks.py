"""Locks of jars: what is recorded, what is refused, and that every version that we name has one."""

import asyncio
import json
import re
import subprocess
from pathlib import Path
from typing import Final

import pytest

from harness.cli import main
from harness.results.status import ExitCode
from harness.targets.base.interface import Lasting, TargetError
from harness.targets.jars import cache, locks
from harness.targets.jars.locks import JarMismatchError
from harness.targets.jars.repository import COMPILER, COMPILER_VERSION, PUBLISHED, STREAMS_MIN
from harness.targets.jars.resolved import kafka_jars, release_of
from harness.tests.completed_runs import CHECKOUT

VERSION: Final = "9.9.9"
JARS: Final = {"kafka_2.13-9.9.9.jar": b"kafka", "slf4j-simple-1.7.36.jar": b"logging"}
_NAMED_VERSION: Final = re.compile(r"\bkafka:(\d+\.\d+\.\d+)\b")
_ADDRESS: Final = re.compile(r"\w://|\bwww\.|\.(com|org|net)/")


@pytest.fixture(name="libs")
def _libs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of jars of a version in a cache, as it is when they were resolved."""
    monkeypatch.setenv(cache.CACHE_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.delenv(locks.LOCK_VARIABLE, raising=False)
    libs = tmp_path / "cache" / VERSION / "libs"
    libs.mkdir(parents=True)
    for name, content in JARS.items():
        (libs / name).write_bytes(content)
    (libs.parent / "resolved.json").write_text(json.dumps({"version": VERSION, "notes": []}))
    return libs


def resolve(said: list[str] | None = None) -> None:
    asyncio.run(kafka_jars(VERSION, (said if said is not None else []).append))


def test_every_version_that_the_matrix_names_has_a_shipped_lock() -> None:
    streams = {f"streams-{version}" for version in PUBLISHED if release_of(version) >= STREAMS_MIN}

    others = {"tools-3.9.2", "tools-4.4.0", f"{COMPILER}-{COMPILER_VERSION}"}
    assert set(locks.read_lock(locks.SHIPPED_LOCK)) == {*PUBLISHED, *streams, *others}


def test_a_shipped_lock_says_of_each_jar_where_it_is_in_a_maven_repository() -> None:
    shipped = locks.read_lock(locks.SHIPPED_LOCK)
    for name in shipped:
        lock = locks.lock_of(name)
        assert lock is not None
        assert [path.rpartition("/")[2] for path in lock.paths] == list(shipped[name]), name
    paths = locks.read_paths(locks.SHIPPED_LOCK)
    assert set(paths) == {jar for hashes in shipped.values() for jar in hashes}


def test_a_shipped_lock_has_the_broker_its_clients_and_its_logging() -> None:
    shipped = locks.read_lock(locks.SHIPPED_LOCK)
    for version in PUBLISHED:
        needed = {f"kafka_2.13-{version}.jar", f"kafka-clients-{version}.jar", "slf4j-simple-1.7.36.jar"}
        assert needed <= set(shipped[version]), version


def test_a_shipped_lock_of_kafka_streams_has_one_jar() -> None:
    shipped = locks.read_lock(locks.SHIPPED_LOCK)
    for version in (each for each in shipped if each.startswith("streams-")):
        assert set(shipped[version]) == {f"kafka-{version}.jar"}


def test_every_version_that_a_page_names_has_a_shipped_lock() -> None:
    pages = [CHECKOUT / "README.md", CHECKOUT / "Makefile", *sorted((CHECKOUT / "docs").glob("*.md"))]
    named = {version for page in pages for version in _NAMED_VERSION.findall(page.read_text())}

    assert named
    assert named <= set(locks.read_lock(locks.SHIPPED_LOCK))


@pytest.mark.parametrize(
    "lock", [locks.SHIPPED_LOCK, CHECKOUT / "constraints.txt"], ids=lambda path: path.name
)
def test_a_lock_names_no_address(lock: Path) -> None:
    found = _ADDRESS.search(lock.read_text())

    assert found is None, found


def test_a_version_is_recorded_when_it_is_first_there_and_that_is_reported_once(libs: Path) -> None:
    said: list[str] = []
    resolve(said)
    resolve(said)

    lock = libs.parents[1] / "kafka-jars.sha512"
    reported = [text for text in said if isinstance(text, Lasting)]
    assert [text.partition("; ")[0] for text in reported] == [
        f"Kafka {VERSION} is new here: recorded the SHA-512 of its 2 jars in {lock}"
    ]
    assert set(locks.read_lock(lock)[VERSION]) == set(JARS)


def test_the_lock_is_one_that_sha512sum_checks(libs: Path) -> None:
    resolve()
    command = ["sha512sum", "--check", "--strict", "kafka-jars.sha512"]

    assert subprocess.run(command, cwd=libs.parents[1], capture_output=True, check=False).returncode == 0
    (libs / "slf4j-simple-1.7.36.jar").write_bytes(b"another")
    assert subprocess.run(command, cwd=libs.parents[1], capture_output=True, check=False).returncode == 1


def test_a_jar_that_was_changed_is_refused_with_file_hashes_and_remedy(libs: Path) -> None:
    resolve()
    jar = libs / "kafka_2.13-9.9.9.jar"
    expected = locks.sha512_of(jar)
    jar.write_bytes(b"changed")

    with pytest.raises(JarMismatchError) as refused:
        resolve()
    reported = str(refused.value)
    assert f"{jar} does not match {libs.parents[1] / 'kafka-jars.sha512'}" in reported
    assert f"Expected: SHA-512 {expected}" in reported
    assert f"Found: SHA-512 {locks.sha512_of(jar)}" in reported
    assert f"Remedy: remove {libs.parent}" in reported
    assert f"remove the lines of {VERSION}" in reported


def test_a_jar_that_nobody_recorded_is_refused(libs: Path) -> None:
    resolve()
    (libs / "AAA.JAR").write_bytes(b"comes first on the class path")

    with pytest.raises(JarMismatchError, match=r"AAA\.JAR .*no such jar of Kafka 9\.9\.9"):
        resolve()


def test_a_jar_that_is_missing_is_refused_unless_a_broker_runs_without_it(libs: Path) -> None:
    (libs / "kafka-tools-api-9.9.9.jar").write_bytes(b"dispensable")
    resolve()
    (libs / "kafka-tools-api-9.9.9.jar").unlink()
    resolve()
    (libs / "slf4j-simple-1.7.36.jar").unlink()

    with pytest.raises(JarMismatchError, match=r"Expected: slf4j-simple-1\.7\.36\.jar"):
        resolve()


def test_a_shipped_lock_wins_over_what_was_recorded_here(
    libs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolve()
    monkeypatch.setattr(locks, "SHIPPED_LOCK", tmp_path / "shipped")
    hashes = locks.hashes_of(libs)
    locks.write_lock(tmp_path / "shipped", {VERSION: {**hashes, "slf4j-simple-1.7.36.jar": "0" * 128}}, {})

    with pytest.raises(JarMismatchError, match=r"slf4j-simple.*does not match .*shipped"):
        resolve()


def test_the_user_may_name_the_file_in_which_new_versions_are_recorded(
    libs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = tmp_path / "kept.sha512"
    monkeypatch.setenv(locks.LOCK_VARIABLE, str(named))
    locks.write_lock(named, {"9.10.0": {"kafka_2.13-9.10.0.jar": "1" * 128}}, {})
    resolve()

    assert [line.split("  ")[1] for line in named.read_text().splitlines()] == [
        f"{VERSION}/libs/kafka_2.13-9.9.9.jar",
        f"{VERSION}/libs/slf4j-simple-1.7.36.jar",
        "9.10.0/libs/kafka_2.13-9.10.0.jar",
    ]
    assert not (libs.parents[1] / "kafka-jars.sha512").exists()


@pytest.mark.parametrize("content", ["nonsense\n", "\n", "abc  9.9.9/libs/a.jar\n", "\udcff"])
def test_what_is_no_lock_is_refused_with_its_line(
    libs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str
) -> None:
    named = tmp_path / "kept.sha512"
    named.write_bytes(content.encode(errors="surrogateescape"))
    monkeypatch.setenv(locks.LOCK_VARIABLE, str(named))

    with pytest.raises(TargetError, match=r"kept\.sha512"):
        resolve()


def test_a_lock_that_cannot_be_written_is_reported_with_the_remedy(
    libs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(locks.LOCK_VARIABLE, str(tmp_path / "no" / "folder"))

    with pytest.raises(TargetError, match=r"cannot be written .*--jar-lock"):
        resolve()


@pytest.mark.slow
def test_a_run_loses_the_target_whose_jars_do_not_match_and_no_other(
    libs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    resolve()
    (libs / "kafka_2.13-9.9.9.jar").write_bytes(b"changed")
    targets = ("--target", "reference", "--target", f"kafka:{VERSION}", "--profile", "4.4")
    options = ("--out", str(tmp_path / "reports"), "--no-report", "classic/heartbeat/before-assignments")
    monkeypatch.setattr("sys.argv", ["kafka-conformance", "run", *targets, *options])

    with pytest.raises(SystemExit) as ending:
        main()

    assert ending.value.code == ExitCode.UNAVAILABLE
    reported = capsys.readouterr().out
    assert re.search(r"reference[^\n]* 1 / 1", reported)
    assert "No verdict: 1 target lost." in reported
    assert "kafka_2.13-9.9.9.jar does not match" in reported
    assert f"Remedy: remove {libs.parent}" in reported
    assert "check that it runs" not in reported

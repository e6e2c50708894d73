"""Kafka's own client in Java: which it is, when it is compiled, and what is said where it cannot be had."""

import asyncio
import json
import os
import time
from pathlib import Path

import pytest

from harness.clients import java
from harness.clients.collect import choose_libraries
from harness.clients.java import java_library
from harness.clients.libraries import LIBRARIES
from harness.clients.steps import Feature, Verb
from harness.results.status import ExitCode
from harness.targets.base.interface import TargetError
from harness.tests.fake_java import fake_java
from harness.tests.in_process import CommandLine

pytest_plugins = ["harness.tests.command_line_fixture"]

COMPILES = "exit 0"
IS_REFUSED = "echo 'Main.java:1: error: cannot find symbol'; exit 1"


class FakeJava:
    """A Java that is no Java, and a cache with the jars of three releases, of which there are none."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._root = root
        self._calls = root / "calls"
        cache = root / "cache"
        for version in ("3.10.1", "4.1.9", "9.3.1", "9.4.0"):
            (cache / version / "libs").mkdir(parents=True)
            (cache / version / "libs" / "kafka-clients.jar").touch()
            (cache / version / "resolved.json").write_text(json.dumps({"version": version}))
            streams = cache / f"streams-{version}" / "libs"
            streams.mkdir(parents=True)
            (streams / f"kafka-streams-{version}.jar").touch()
        compiler = cache / "ecj-0.0.0" / "libs" / "ecj-0.0.0.jar"
        compiler.parent.mkdir(parents=True)
        compiler.touch()
        monkeypatch.setattr(java, "COMPILER_VERSION", "0.0.0")
        latest = {"version": "9.4.0", "resolved_s": time.time()}
        (cache / "latest.json").write_text(json.dumps(latest))
        monkeypatch.setenv("KAFKA_CONFORMANCE_CACHE", str(cache))
        monkeypatch.setenv("JAVA_HOME", str(root / "jdk"))
        self.behaves(COMPILES)

    def behaves(self, how: str) -> None:
        fake_java(self._root / "jdk", otherwise=f'echo "$*" >>{self._calls}\n{how}')

    @property
    def calls(self) -> list[str]:
        return self._calls.read_text().splitlines() if self._calls.exists() else []


@pytest.fixture(name="fake_java")
def _fake_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeJava:
    return FakeJava(tmp_path, monkeypatch)


def test_the_client_in_java_knows_every_verb() -> None:
    sources = (Path(java.__file__).parent / "apps" / "java").rglob("*.java")
    texts = [source.read_text() for source in sources]

    assert [verb for verb in Verb if not any(f'"{verb}"' in text for text in texts)] == []


@pytest.mark.parametrize(
    ("version", "folder", "has_it"),
    [("3.10.1", "without_it", False), ("9.3.1", "with_consumer_protocol", True)],
)
def test_only_a_client_from_4_0_on_is_compiled_with_the_consumer_protocol(
    fake_java: FakeJava, version: str, folder: str, *, has_it: bool
) -> None:
    library = asyncio.run(java_library(f"java:{version}", lambda _: None))

    [call] = fake_java.calls
    assert [f"{folder}{os.sep}ServerPattern.java" in call, call.count("ServerPattern.java")] == [True, 1]
    assert (Feature.CONSUMER_PROTOCOL not in library.lacks) is has_it


@pytest.mark.parametrize(
    ("version", "compiled", "lacks"),
    [
        ("3.10.1", set(), {Feature.SHARE_GROUPS, Feature.SHARE_ADMIN, Feature.STREAMS_GROUPS}),
        ("4.1.9", {"with_share_groups", "without_share_lag"}, {Feature.STREAMS_GROUPS}),
        ("9.3.1", {"with_share_groups", "with_share_lag", "with_streams_groups"}, set()),
    ],
)
def test_what_a_release_has_of_new_groups_is_compiled_and_the_rest_lacks(
    fake_java: FakeJava, version: str, compiled: set[str], lacks: set[Feature]
) -> None:
    library = asyncio.run(java_library(f"java:{version}", lambda _: None))

    [call] = fake_java.calls
    parts = {Path(each).parent.name for each in call.split() if each.endswith(".java")}
    assert {part for part in parts if "share" in part or "streams" in part} == compiled
    assert (f"kafka-streams-{version}.jar" in call) is ("with_streams_groups" in compiled)
    new = {Feature.SHARE_GROUPS, Feature.SHARE_ADMIN, Feature.STREAMS_GROUPS}
    assert library.lacks.keys() & new == lacks


def test_it_is_compiled_once_for_a_release_against_the_jars_of_that_release(fake_java: FakeJava) -> None:
    library, again = (asyncio.run(java_library("java:9.3.1", lambda _: None)) for _ in range(2))

    assert library == again
    assert (library.name, library.version) == ("java-9.3.1", "9.3.1")
    [call] = fake_java.calls
    assert f"9.3.1{os.sep}libs{os.sep}kafka-clients.jar" in call
    assert Path(library.command[library.command.index("-cp") + 1].partition(":")[0]).is_dir()


def test_it_is_the_newest_release_unless_it_is_reported_which(fake_java: FakeJava) -> None:
    newest, reported = asyncio.run(choose_libraries(["java", "java:9.3.1"], lambda _: None))

    assert (newest.name, newest.version) == ("java", "9.4.0")
    assert (reported.name, reported.version) == ("java-9.3.1", "9.3.1")
    assert len(fake_java.calls) == 2


def test_what_did_not_compile_is_compiled_again(fake_java: FakeJava) -> None:
    fake_java.behaves(IS_REFUSED)
    with pytest.raises(TargetError, match=r"does not compile against Kafka 9\.3\.1: Main\.java:1: error"):
        asyncio.run(java_library("java:9.3.1", lambda _: None))
    fake_java.behaves(COMPILES)

    assert asyncio.run(java_library("java:9.3.1", lambda _: None)).version == "9.3.1"
    assert len(fake_java.calls) == 2


@pytest.mark.slow
def test_who_names_it_where_there_is_no_java_gets_the_remedy(
    kafka_conformance: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.targets.runtimes.java._candidates", lambda _: [])
    code = kafka_conformance("clients", "--client", "java", "--out", tmp_path / "out")

    assert code == ExitCode.UNAVAILABLE
    assert "pip install 'kafka-conformance[java]', install Java 17" in kafka_conformance.err
    assert not (tmp_path / "out").exists()


def test_who_names_no_library_is_reported_that_it_is_left_out(fake_java: FakeJava) -> None:
    fake_java.behaves(IS_REFUSED)
    reported: list[str] = []

    libraries = asyncio.run(choose_libraries([], reported.append))

    assert libraries == tuple(LIBRARIES.values())
    assert reported[-1].startswith("not run with java: the Java client does not compile")


@pytest.mark.parametrize("spec", ["java:2.4.1", "java:9.3.1/..", "java:nonsense"])
def test_a_release_without_what_transactions_need_is_refused_before_anything_is_fetched(
    spec: str, fake_java: FakeJava
) -> None:
    with pytest.raises(TargetError, match="has to be of Kafka 2"):
        asyncio.run(java_library(spec, lambda _: None))

    assert fake_java.calls == []


def test_a_name_that_only_begins_like_it_is_no_library(
    kafka_conformance: CommandLine, tmp_path: Path
) -> None:
    assert kafka_conformance("clients", "--client", "javascript", "--out", tmp_path) == ExitCode.USAGE
    assert "'javascript' is not a client library" in kafka_conformance.err
    assert "java, java:VERSION" in kafka_conformance.err

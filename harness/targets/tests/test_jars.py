"""Jars from a mirror: side by side, a line of progress each, and what is said where none can be had."""

import asyncio
import shutil
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Barrier, Thread

import pytest

from harness.targets.base.interface import Lasting, Passing, TargetError
from harness.targets.base.ports import free_port
from harness.targets.jars import cache, ivy, locks, resolved
from harness.tests.maven_mirror import KAFKA_VERSIONS, maven_repository

runs_ivy = pytest.mark.broker
"""It needs a JVM, as brokers do."""


@pytest.fixture(name="cached")
def _cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(cache.CACHE_VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


def use(monkeypatch: pytest.MonkeyPatch, mirror: str) -> None:
    monkeypatch.setenv(ivy.MIRROR_VARIABLE, mirror)


@runs_ivy
def test_jars_come_from_the_mirror_that_is_named_and_then_from_the_cache(
    tmp_path: Path, cached: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = maven_repository(tmp_path / "mirror")
    use(monkeypatch, repository.as_uri())
    said: list[str] = []
    newest = asyncio.run(resolved.kafka_jars("latest", said.append))
    assert newest.version == KAFKA_VERSIONS[-1]
    assert {path.name for path in (cached / newest.version / "libs").iterdir()} == {
        f"kafka_2.13-{newest.version}.jar",
        "slf4j-simple-1.7.36.jar",
    }
    assert [text for text in said if not isinstance(text, Passing | Lasting)] == [
        "resolving the jars of Kafka (newest)"
    ]
    lock = cached / "kafka-jars.sha512"
    (reported,) = [text for text in said if isinstance(text, Lasting)]
    assert reported.startswith(
        f"Kafka {newest.version} is new here: recorded the SHA-512 of its 2 jars in {lock};"
    )
    assert "2 of 2 jars downloaded" in said

    use(monkeypatch, (tmp_path / "gone").as_uri())
    again: list[str] = []
    assert asyncio.run(resolved.kafka_jars(newest.version, again.append)).class_path == newest.class_path
    assert again == []


class _Meeting(SimpleHTTPRequestHandler):
    """Answers for a Kafka when the other one has been asked for too."""

    both: Barrier

    def do_HEAD(self) -> None:
        if self.path.endswith(".pom") and "kafka_2.13" in self.path:
            self.both.wait(timeout=60)
        super().do_HEAD()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
        return


@runs_ivy
def test_two_versions_are_resolved_side_by_side(
    tmp_path: Path, cached: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = maven_repository(tmp_path / "mirror")
    monkeypatch.setattr(_Meeting, "both", Barrier(2), raising=False)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Meeting, directory=str(repository)))
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    use(monkeypatch, f"http://127.0.0.1:{server.server_address[1]}")

    async def both() -> list[str]:
        found = await asyncio.gather(*(resolved.kafka_jars(each, lambda _: None) for each in KAFKA_VERSIONS))
        for each in found:
            assert each.home is not None
            assert f"kafka_2.13-{each.version}.jar" in {jar.name for jar in (each.home / "libs").iterdir()}
        return [each.version for each in found]

    try:
        assert asyncio.run(both()) == list(KAFKA_VERSIONS)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert resolved.cached_versions(cached) == KAFKA_VERSIONS


@runs_ivy
def test_a_mirror_that_cannot_be_reached_is_reported_with_what_is_missing_and_what_is_here(
    cached: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (cached / "2.8.2").mkdir(parents=True)
    (cached / "2.8.2" / "resolved.json").touch()
    use(monkeypatch, f"http://user:secret@127.0.0.1:{free_port()}/maven")
    with pytest.raises(TargetError) as refused:
        asyncio.run(resolved.kafka_jars("3.9.2", lambda _: None))
    reported = str(refused.value)
    assert "the jars of Kafka 3.9.2 are not in the cache, and the mirror at 127.0.0.1 could not" in reported
    assert "in the cache: kafka:2.8.2" in reported
    assert "secret" not in reported
    assert not list(cached.glob(".resolving*"))


@runs_ivy
def test_a_jar_that_the_mirror_lacks_is_named(
    tmp_path: Path, cached: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = maven_repository(tmp_path / "mirror", without_jar=KAFKA_VERSIONS[0])
    use(monkeypatch, repository.as_uri())
    with pytest.raises(TargetError, match=r"mirror at .*mirror"):
        asyncio.run(resolved.kafka_jars(KAFKA_VERSIONS[0], lambda _: None))


@runs_ivy
def test_a_mirror_that_serves_another_jar_later_is_refused(
    tmp_path: Path, cached: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = KAFKA_VERSIONS[0]
    monkeypatch.setenv(locks.LOCK_VARIABLE, str(tmp_path / "kept.sha512"))
    use(monkeypatch, maven_repository(tmp_path / "mirror").as_uri())
    asyncio.run(resolved.kafka_jars(version, lambda _: None))
    shutil.rmtree(cached)

    use(monkeypatch, maven_repository(tmp_path / "other", content="something else").as_uri())
    with pytest.raises(locks.JarMismatchError, match=r"does not match .*kept\.sha512.*mirror at"):
        asyncio.run(resolved.kafka_jars(version, lambda _: None))
    assert resolved.cached_versions(cached) == ()


@pytest.mark.parametrize("named", ["repo.example", "ftp://repo.example", "https://", "https://[", "://"])
def test_what_is_no_address_of_a_repository_is_refused(named: str) -> None:
    with pytest.raises(TargetError, match="not a mirror of Maven Central"):
        ivy.mirror_url({ivy.MIRROR_VARIABLE: named})


def test_without_a_mirror_ivy_asks_the_repository_that_it_has_built_in() -> None:
    assert ivy.mirror_url({}) is None
    assert "root=" not in ivy.ivy_settings(None)
    assert 'root="https://repo.example/maven/"' in ivy.ivy_settings("https://repo.example/maven")


@pytest.mark.parametrize(
    "content", ["", "[]", '{"version": "3.9.2"}', "[" * 100_000, '{"notes": 3, "version": 1}']
)
def test_a_damaged_description_in_the_cache_is_reported_with_the_remedy(cached: Path, content: str) -> None:
    (cached / "3.9.2").mkdir(parents=True)
    (cached / "3.9.2" / "resolved.json").write_text(content)
    with pytest.raises(TargetError, match=r"is damaged .*: remove .*3\.9\.2"):
        asyncio.run(resolved.kafka_jars("3.9.2", lambda _: None))

"""Jars from a mirror: side by side, a line of progress each, and what is said where none can be had."""

import asyncio
import re
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Barrier, Thread
from typing import ClassVar, Final

import pytest

from harness.targets.base.interface import Lasting, Passing, TargetError
from harness.targets.base.ports import free_port
from harness.targets.jars import cache, download, locks, repository, resolved
from harness.targets.secured.variables import MIRROR_VARIABLE
from harness.tests.maven_mirror import KAFKA_VERSIONS, maven_repository

VERSION: Final = KAFKA_VERSIONS[0]
JARS: Final = [f"kafka_2.13-{VERSION}.jar", "slf4j-simple-1.7.36.jar"]


@pytest.fixture(name="cached")
def _cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(cache.CACHE_VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


def use(monkeypatch: pytest.MonkeyPatch, mirror: str) -> None:
    monkeypatch.setenv(MIRROR_VARIABLE, mirror)


def test_jars_come_from_the_mirror_that_is_named_and_then_from_the_cache(
    tmp_path: Path, cached: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirror = maven_repository(tmp_path / "mirror")
    use(monkeypatch, mirror.as_uri())
    said: list[str] = []
    newest = asyncio.run(resolved.kafka_jars("latest", said.append))
    assert newest.version == KAFKA_VERSIONS[-1]
    assert {path.name for path in (cached / newest.version / "libs").iterdir()} == {
        f"kafka_2.13-{newest.version}.jar",
        "slf4j-simple-1.7.36.jar",
    }
    assert [text for text in said if not isinstance(text, Passing | Lasting)] == [
        "asking for the newest release of Kafka",
        f"asking which jars Kafka {newest.version} needs",
        f"downloading 2 jars of Kafka {newest.version}",
    ]
    lock = cached / "kafka-jars.sha512"
    (reported,) = [text for text in said if isinstance(text, Lasting)]
    assert reported.startswith(
        f"Kafka {newest.version} is new here: recorded the SHA-512 of its 2 jars in {lock};"
    )
    assert "2 of 2 jars downloaded, 0 MiB" in said

    use(monkeypatch, (tmp_path / "gone").as_uri())
    again: list[str] = []
    assert asyncio.run(resolved.kafka_jars(newest.version, again.append)).class_path == newest.class_path
    assert again == []


class _Mirror(SimpleHTTPRequestHandler):
    """A mirror that goes on where a download ended, and does to some answers what a test wants."""

    asked: ClassVar[list[str]]
    spoil: ClassVar[Callable[["_Mirror", bytes], bytes]]

    def do_GET(self) -> None:
        self.asked.append(f"{self.path.rpartition('/')[2]} {self.headers.get('Range', '')}".strip())
        file = Path(self.translate_path(self.path))
        if not file.is_file():
            self.send_error(404)
            return
        content = file.read_bytes()
        begun = int(self.headers.get("Range", "bytes=0-").removeprefix("bytes=").removesuffix("-"))
        if begun >= len(content):
            self.send_error(416)
            return
        self.send_response(206 if begun else 200)
        self.send_header("Content-Length", str(len(content) - begun))
        self.end_headers()
        self.wfile.write(self.spoil(content[begun:]))

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
        return


@pytest.fixture(name="mirror")
def _mirror(tmp_path: Path, cached: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[type[_Mirror]]:
    """Serve a mirror with the jars of a version that a lock knows, and name it."""
    files = maven_repository(tmp_path / "mirror")
    monkeypatch.setattr(_Mirror, "asked", [], raising=False)
    monkeypatch.setattr(_Mirror, "spoil", lambda _, content: content, raising=False)
    jars = {jar.name: jar for jar in files.rglob(f"*-{VERSION}.jar")} | {
        jar.name: jar for jar in files.rglob("slf4j-simple*.jar")
    }
    locks.write_lock(
        tmp_path / "kept.sha512",
        {VERSION: {name: locks.sha512_of(jar) for name, jar in jars.items()}},
        {name: jar.relative_to(files).as_posix() for name, jar in jars.items()},
    )
    monkeypatch.setenv(locks.LOCK_VARIABLE, str(tmp_path / "kept.sha512"))
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Mirror, directory=str(files)))
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    use(monkeypatch, f"http://127.0.0.1:{server.server_address[1]}")
    yield _Mirror
    server.shutdown()
    thread.join()
    server.server_close()


def downloaded() -> list[str]:
    jars = asyncio.run(resolved.kafka_jars(VERSION, lambda _: None))
    assert jars.home is not None
    return sorted(path.name for path in (jars.home / "libs").iterdir())


def test_what_a_lock_knows_is_downloaded_without_a_look_at_poms(mirror: type[_Mirror]) -> None:
    assert downloaded() == JARS
    assert sorted(mirror.asked) == JARS


def test_a_download_goes_on_where_it_was_cut_off(mirror: type[_Mirror], cached: Path, tmp_path: Path) -> None:
    kafka, logging = (
        (path, path.read_bytes()) for path in (tmp_path / "mirror").rglob("*.jar") if path.name in JARS
    )
    libs = cached / VERSION / "libs"
    libs.mkdir(parents=True)
    (libs / f"{kafka[0].name}.part").write_bytes(kafka[1][:40])
    (libs / f"{logging[0].name}.part").write_bytes(logging[1])

    assert downloaded() == JARS
    assert mirror.asked == [f"{kafka[0].name} bytes=40-"]


def test_a_connection_that_ends_early_is_made_again(
    mirror: type[_Mirror], monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut(handler: _Mirror, content: bytes) -> bytes:
        is_first = "Range" not in handler.headers
        return content[:30] if is_first else content

    monkeypatch.setattr(download, "_CHUNK_BYTES", 10)
    monkeypatch.setattr(mirror, "spoil", cut)
    assert downloaded() == JARS
    assert sorted(mirror.asked) == sorted(each for name in JARS for each in (name, f"{name} bytes=30-"))


async def test_a_download_that_is_stopped_keeps_what_came(mirror: type[_Mirror], cached: Path) -> None:
    part = cached / VERSION / "libs" / f"{JARS[0]}.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(b"begun")
    lock = locks.lock_of(VERSION)
    assert lock is not None
    with download.Repository() as stopped:
        stopped._stopped.set()
        with pytest.raises(repository.UnreachableError, match="was stopped"):
            await stopped.fetch(lock.paths, lock, into=part.parent, progress=lambda _: None)
    assert part.read_bytes() == b"begun"


def test_a_damaged_beginning_is_thrown_away_and_all_of_it_is_downloaded_again(
    mirror: type[_Mirror], cached: Path
) -> None:
    libs = cached / VERSION / "libs"
    libs.mkdir(parents=True)
    (libs / f"{JARS[0]}.part").write_bytes(b"damaged")
    (libs / f"{JARS[1]}.part").write_bytes(b"longer than all of it" * 100)

    assert downloaded() == JARS
    assert JARS[0] in mirror.asked


def test_one_changed_byte_is_refused_with_file_and_hashes_and_nothing_is_kept(
    mirror: type[_Mirror], cached: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mirror, "spoil", lambda _, content: content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(locks.JarMismatchError) as refused:
        downloaded()
    said = str(refused.value)
    assert re.search(r"the mirror at 127\.0\.0\.1 serves another (org/\S+\.jar) than \S+kept\.sha512", said)
    assert re.search(r"Expected: SHA-512 [0-9a-f]{128}\. Found: SHA-512 [0-9a-f]{128}\.", said)
    assert resolved.cached_versions(cached) == ()
    assert not list(cached.glob("*/libs/*.jar"))

    monkeypatch.setattr(mirror, "spoil", lambda _, content: content)
    assert downloaded() == JARS


def test_a_mirror_that_always_ends_early_is_given_up(
    mirror: type[_Mirror], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mirror, "spoil", lambda _, content: b"")
    with pytest.raises(
        repository.UnreachableError, match=r"could not be reached .*; in the cache: no version"
    ):
        downloaded()


async def test_two_versions_are_downloaded_side_by_side(
    mirror: type[_Mirror], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither jar is sent before both are asked for."""
    both = Barrier(2)

    def meet(handler: _Mirror, content: bytes) -> bytes:
        if handler.path.endswith(".jar") and "kafka_2.13" in handler.path:
            both.wait(timeout=60)
        return content

    monkeypatch.setattr(mirror, "spoil", meet)
    found = await asyncio.gather(*(resolved.kafka_jars(each, lambda _: None) for each in KAFKA_VERSIONS))
    assert [each.version for each in found] == list(KAFKA_VERSIONS)


def test_what_was_recorded_here_is_downloaded_elsewhere_without_a_look_at_poms(
    mirror: type[_Mirror], cached: Path
) -> None:
    other = KAFKA_VERSIONS[1]
    asyncio.run(resolved.kafka_jars(other, lambda _: None))
    assert any(asked.endswith(".pom") for asked in mirror.asked)
    shutil.rmtree(cached)
    mirror.asked.clear()

    asyncio.run(resolved.kafka_jars(other, lambda _: None))
    assert sorted(mirror.asked) == [f"kafka_2.13-{other}.jar", "slf4j-simple-1.7.36.jar"]


def test_a_jar_that_is_not_what_the_repository_itself_states_is_refused(
    mirror: type[_Mirror], cached: Path, tmp_path: Path
) -> None:
    (stated,) = (tmp_path / "mirror").rglob(f"kafka_2.13-{KAFKA_VERSIONS[1]}.jar.sha1")
    stated.write_text("0" * 40)
    with pytest.raises(locks.JarMismatchError, match=r"Expected: SHA-1 0{40}\. Found: SHA-1 [0-9a-f]{40}\."):
        asyncio.run(resolved.kafka_jars(KAFKA_VERSIONS[1], lambda _: None))


def test_a_newest_release_that_is_incomplete_is_passed_over_with_a_note(
    cached: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, maven_repository(tmp_path / "mirror", without_jar=KAFKA_VERSIONS[1]).as_uri())
    jars = asyncio.run(resolved.kafka_jars("latest", lambda _: None))

    assert jars.version == KAFKA_VERSIONS[0]
    assert jars.notes[0].startswith(f"{KAFKA_VERSIONS[1]} is newer, but cannot be had: there is no Kafka")


def test_without_a_repository_the_newest_in_the_cache_is_taken_with_a_note(
    mirror: type[_Mirror], cached: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    downloaded()
    use(monkeypatch, f"http://127.0.0.1:{free_port()}")
    jars = asyncio.run(resolved.kafka_jars("latest", lambda _: None))

    assert jars.version == VERSION
    assert jars.notes[0].startswith(
        f"{VERSION} is the newest in the cache; what the newest release is could not"
    )


@pytest.mark.parametrize("version", ["9.9.9", "3.9"])
def test_a_version_that_there_is_not_is_said_to_be_none(
    cached: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    use(monkeypatch, maven_repository(tmp_path / "mirror").as_uri())
    with pytest.raises(
        TargetError, match=rf"there is no Kafka {version} on the mirror at .*: choose a release"
    ):
        asyncio.run(resolved.kafka_jars(version, lambda _: None))


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


def test_a_jar_that_the_mirror_lacks_is_named(
    tmp_path: Path, cached: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirror = maven_repository(tmp_path / "mirror", without_jar=KAFKA_VERSIONS[0])
    use(monkeypatch, mirror.as_uri())
    with pytest.raises(TargetError, match=r"mirror at .*mirror"):
        asyncio.run(resolved.kafka_jars(KAFKA_VERSIONS[0], lambda _: None))


def test_a_mirror_that_serves_another_jar_later_is_refused(
    tmp_path: Path, cached: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = KAFKA_VERSIONS[0]
    monkeypatch.setenv(locks.LOCK_VARIABLE, str(tmp_path / "kept.sha512"))
    use(monkeypatch, maven_repository(tmp_path / "mirror").as_uri())
    asyncio.run(resolved.kafka_jars(version, lambda _: None))
    shutil.rmtree(cached)

    use(monkeypatch, maven_repository(tmp_path / "other", content="something else").as_uri())
    with pytest.raises(
        locks.JarMismatchError,
        match=r"mirror at .* serves another .* than .*kept\.sha512: .*remove the lines",
    ):
        asyncio.run(resolved.kafka_jars(version, lambda _: None))
    assert resolved.cached_versions(cached) == ()


@pytest.mark.parametrize("named", ["repo.example", "ftp://repo.example", "https://", "https://[", "://"])
def test_what_is_no_address_of_a_repository_is_refused(named: str) -> None:
    with pytest.raises(TargetError, match="not a mirror of Maven Central"):
        repository.mirror_url({MIRROR_VARIABLE: named})


def test_a_refused_address_is_shown_without_its_password() -> None:
    with pytest.raises(TargetError, match=r"'repo\.example' is not") as refused:
        repository.mirror_url({MIRROR_VARIABLE: "ftp://ana:hush@repo.example"})
    assert "hush" not in str(refused.value)


def test_without_a_mirror_maven_central_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(MIRROR_VARIABLE, raising=False)
    assert repository.mirror_url({}) is None
    assert repository.repository_name() == "Maven Central"


def test_versions_in_the_cache_are_those_that_were_completed_oldest_first(tmp_path: Path) -> None:
    for version in ("3.10.0", "3.9.2", "4.4.0"):
        (tmp_path / version).mkdir()
    for version in ("3.10.0", "3.9.2"):
        (tmp_path / version / "resolved.json").touch()

    assert resolved.cached_versions(tmp_path) == ("3.9.2", "3.10.0")


@pytest.mark.parametrize("content", ["", "[]", "{}", "[" * 100_000])
def test_a_damaged_description_in_the_cache_is_reported_with_the_remedy(cached: Path, content: str) -> None:
    (cached / "3.9.2").mkdir(parents=True)
    (cached / "3.9.2" / "resolved.json").write_text(content)
    with pytest.raises(TargetError, match=r"is damaged .*: remove .*3\.9\.2"):
        asyncio.run(resolved.kafka_jars("3.9.2", lambda _: None))

"""What is made in the cache is used only if it is still what was made."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.targets.base.interface import TargetError
from harness.targets.jars.cache import CACHE_VARIABLE
from harness.targets.jars.resolved import KafkaJars
from harness.targets.jars.seals import ChangedCacheError, check_seal, seal
from harness.targets.kafka.class_archive import with_class_archive

_HAS_ITS_OWN = "#!/bin/sh\nexit 0\n"
_MAKES_ONE = """#!/bin/sh
case "$*" in -Xshare:dump*) echo classes >"${2#*=}" ;; *) exit 1 ;; esac
"""
RECORD = "SHA512SUMS"


@pytest.fixture(name="made")
def folder_that_was_made(tmp_path: Path) -> Path:
    made = tmp_path / "made"
    (made / "bin").mkdir(parents=True)
    (made / "program.js").write_text("ours()")
    (made / "bin" / "program").symlink_to("../program.js")
    seal(made)
    return made


def other_link(made: Path) -> None:
    (made / "bin" / "program").unlink()
    (made / "bin" / "program").symlink_to("/bin/sh")


def pipe(made: Path) -> None:
    (made / "program.js").unlink()
    os.mkfifo(made / "program.js")


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda made: (made / "program.js").write_text("theirs()"), "program.js"),
        (lambda made: (made / "program.js").unlink(), "program.js"),
        (lambda made: (made / "more.js").write_text(""), "more.js"),
        (other_link, "bin/program"),
        (pipe, "program.js"),
        (lambda made: (made / RECORD).unlink(), RECORD),
        (lambda made: (made / RECORD).write_text(""), "bin/program"),
    ],
    ids=("other content", "gone", "more", "another link", "a pipe", "no record", "an empty record"),
)
def test_a_change_is_named_with_both_hashes_and_the_remedy(
    made: Path, change: Callable[[Path], object], named: str
) -> None:
    check_seal(made)
    change(made)
    with pytest.raises(ChangedCacheError) as changed:
        check_seal(made)

    assert str(made / named) in str(changed.value)
    for word in ("Expected: ", "Found: ", f"Remedy: delete {made}"):
        assert word in str(changed.value)


def test_a_folder_without_files_has_a_record_too(tmp_path: Path) -> None:
    seal(tmp_path)
    check_seal(tmp_path)
    (tmp_path / "classes.jsa").write_text("theirs")
    with pytest.raises(ChangedCacheError):
        check_seal(tmp_path)


async def train(jars: KafkaJars, _: Path) -> None:
    (option,) = (each for each in jars.jvm_options if each.startswith("-XX:ArchiveClassesAtExit="))
    _write(option.partition("=")[2])


def _write(archive: str) -> None:
    Path(archive).write_text("classes")


@pytest.mark.parametrize(("java", "archives"), [(_HAS_ITS_OWN, 1), (_MAKES_ONE, 2)])
def test_an_archive_of_classes_that_was_changed_is_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, java: str, archives: int
) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    program = tmp_path / "java"
    program.write_text(java)
    program.chmod(0o755)
    jars = KafkaJars(version="4.1.0", class_path="", home=tmp_path / "4.1.0")
    (tmp_path / "4.1.0").mkdir()

    def used() -> KafkaJars:
        made = with_class_archive(jars, program, directory=tmp_path, train=train, progress=lambda _: None)
        return asyncio.run(made)

    for _ in range(2):
        (option,) = used().jvm_options
        assert len(option.partition("=")[2].split(":")) == archives
    found = sorted(tmp_path.rglob("classes.jsa"))
    assert len(found) == archives
    for archive in found:
        archive.write_text("theirs")
        with pytest.raises(TargetError, match=r"classes\.jsa was changed"):
            used()
        archive.write_text("classes\n" if "java-" in archive.parent.name else "classes")
    used()

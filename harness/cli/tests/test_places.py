"""Where nothing can be made, a command names the place and what helps, and ends with 75."""

import errno
import os
import re
from collections.abc import Callable
from pathlib import Path
from pkgutil import resolve_name
from typing import Final, Never

import pytest
import typer

from harness.cli.commands import COMMANDS, load_command
from harness.cli.errors import ends_with_exit_code
from harness.results.status import ExitCode
from harness.tests.in_process import CommandLine
from harness.tests.small_suite import RIGHT

pytest_plugins = ["harness.tests.command_line_fixture"]

_SMALL: Final = ("--suites", "small_suites")
_REASONS: Final = [os.strerror(each) for each in (errno.ENOENT, errno.ELOOP, errno.EEXIST)]


@pytest.fixture(name="looped")
def _looped(tmp_path: Path) -> Path:
    """Give a path below a link that leads to itself."""
    (tmp_path / "loop").symlink_to("loop")
    return tmp_path / "loop" / "out"


def _refuses(kafka_conformance: CommandLine, place: Path, *words: str | Path) -> None:
    assert kafka_conformance(*words, "--out", place) == ExitCode.TEMPORARY_FAILURE, kafka_conformance.err
    said = kafka_conformance.err.splitlines()[-1]
    reported = re.fullmatch(r"kafka-conformance: (.+): ([^:]+): choose another place", said)
    assert reported is not None, said
    assert Path(reported[1]) in (place, place.parent)
    assert reported[2] in _REASONS
    assert "Traceback" not in kafka_conformance.err


@pytest.mark.usefixtures("suites")
@pytest.mark.parametrize(
    "words",
    [
        ("run", *_SMALL, "--no-report", RIGHT),
        ("diff", "--versions", "", "--target", "reference:3.9", "--target", "reference:4.4", *_SMALL),
        ("race", "delete-left", "--rounds", "1"),
        pytest.param(
            ("clients", "--client", "kafka-python", "clients/position/seek"), marks=pytest.mark.slow
        ),
        ("tap", "--target", "reference-tcp"),
        ("search", "--target", "reference-tcp", "--steps", "10"),
    ],
    ids=lambda words: str(words[0]),
)
def test_a_command_that_makes_a_run_names_the_place_where_none_can_be(
    kafka_conformance: CommandLine, looped: Path, words: tuple[str, ...]
) -> None:
    for place in (Path("/proc/x"), looped):
        _refuses(kafka_conformance, place, *words)


@pytest.mark.usefixtures("suites")
def test_a_command_that_reads_a_run_names_the_place_where_nothing_can_be_written(
    kafka_conformance: CommandLine, tmp_path: Path, looped: Path
) -> None:
    run = tmp_path / "runs" / "one"
    made = ("run", *_SMALL, "--no-report", RIGHT, "--run-id", "one", "--out", run.parent)
    assert kafka_conformance(*made) == ExitCode.EXPECTED
    for place in (Path("/proc/x"), looped):
        for words in (("gate", run, *_SMALL), ("report", run, *_SMALL), ("diff", "--no-explain", run, run)):
            _refuses(kafka_conformance, place, *words)


def _ends(error: OSError, place: Path) -> Callable[[], None]:
    @ends_with_exit_code
    def command(*, out: Path) -> Never:
        raise error

    return lambda: command(out=place)


def _not_found(path: Path) -> FileNotFoundError:
    return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))


@pytest.mark.parametrize("number", [errno.ENOENT, errno.EIO, errno.ENODEV, errno.EINVAL])
def test_whatever_the_system_says_of_such_a_place_ends_with_75(
    capsys: pytest.CaptureFixture[str], number: int
) -> None:
    place = Path("/proc/x")
    for refused in (place, place / "run" / "events.jsonl", place.with_name(".x.unfinished")):
        with pytest.raises(typer.Exit) as ending:
            _ends(OSError(number, os.strerror(number), str(refused)), place)()
        assert ending.value.exit_code == ExitCode.TEMPORARY_FAILURE
        assert capsys.readouterr().err == (
            f"kafka-conformance: {place}: {os.strerror(number)}: choose another place\n"
        )


def test_a_file_that_is_missing_where_one_can_be_made_is_our_fault(tmp_path: Path) -> None:
    for missing in (tmp_path / "events.jsonl", tmp_path.parent / "elsewhere"):
        with pytest.raises(FileNotFoundError):
            _ends(_not_found(missing), tmp_path)()
        assert not missing.exists()


def test_a_file_that_nobody_named_is_our_fault_though_none_can_be_made_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        _ends(_not_found(Path("/proc/x")), tmp_path)()


def test_every_command_that_writes_to_a_place_ends_so() -> None:
    writing = [name for name in COMMANDS if any("--out" in each.opts for each in load_command(name).params)]
    assert len(writing) >= 9
    for name in writing:
        assert hasattr(resolve_name(f"harness.cli.{COMMANDS[name].place}"), "__wrapped__"), name

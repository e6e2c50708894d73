"""`expect`: files of known differences are checked, added to, cleared and explained, and keep their looks."""

import tomllib
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest

from harness.gate.expectation_file import EditError, with_entry, with_values, without_entries
from harness.results.exit_code import ExitCode
from harness.tests.in_process import CommandLine
from harness.tests.small_suite import NEW, RIGHT, WRONG, entry

pytest_plugins = ["harness.tests.command_line_fixture"]

FILE = '''# About this file.

# Known to be wrong,
# for a reason.
[[expect]]
scenario = "a/b/c"   # the first
targets = ["kafka:*"]
reason = "one"
link = "KIP-1"

# A section of its own.

# About the second.
[[expect]]
targets  = ["kafka:<4"]
scenario = "d/e/f"
reason = """
[[expect]]
is no entry here"""
link = "KIP-2"

[[expect]]
scenario = "g/h/i"
targets = ["*"]
reason = "three"
link = "KIP-3"
'''


def known_of(text: str) -> list[str]:
    return [each["scenario"] for each in tomllib.loads(text)["expect"]]


def test_an_entry_goes_with_its_comment_and_without_its_neighbours_comments() -> None:
    text = FILE.replace("[[expect]]\nis no entry here", "nothing")
    left = without_entries(text, {0})
    assert known_of(left) == ["d/e/f", "g/h/i"]
    assert left.startswith("# About this file.\n\n# A section of its own.\n\n# About the second.\n")
    assert "for a reason" not in left
    assert without_entries(text, {1}) == text.replace(
        text[text.index("# About the second") : text.rindex("[[expect]]")], ""
    )
    assert known_of(without_entries(text, {2})) == ["a/b/c", "d/e/f"]
    assert "expect" not in tomllib.loads(without_entries(text, {0, 1, 2}))


def test_a_file_that_cannot_be_changed_safely_is_refused() -> None:
    with pytest.raises(EditError, match="change it by hand"):
        without_entries(FILE, {1})
    inline = 'expect = [{scenario = "a/b/c", targets = ["*"], reason = "r", link = "KIP-1"}]\n'
    with pytest.raises(EditError, match="change it by hand"):
        without_entries(inline, {0})
    with pytest.raises(EditError, match="change it by hand"):
        with_values(inline, 0, {"link": "KIP-2"})


def test_a_value_changes_and_everything_around_it_stays() -> None:
    changed = with_values(FILE, 0, {"link": "KIP-9", "signature": "0123456789ab"})
    assert (
        changed.replace('link = "KIP-9"', 'link = "KIP-1"').replace('signature = "0123456789ab"\n', "")
        == FILE
    )


def test_an_entry_is_put_behind_all_others() -> None:
    assert with_entry(FILE, entry("j/k/l").lstrip()).startswith(FILE)
    assert known_of(with_entry("", entry("j/k/l"))) == ["j/k/l"]


@pytest.fixture(name="ran")
def _ran(kafka_conformance: CommandLine, suites: Path, tmp_path: Path) -> Callable[..., Path]:
    def ran(run_id: str, *arguments: str) -> Path:
        out = tmp_path / "reports"
        run = ("run", "--suites", "small_suites", "--no-report", "--out", out, "--run-id", run_id)
        kafka_conformance(*run, *arguments)
        return out / run_id

    return ran


SUITES = ("--suites", "small_suites")


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        ("", ExitCode.EXPECTED, "0 entries in 1 files: 0 faults, 0 expired"),
        (entry(RIGHT), ExitCode.EXPECTED, "1 entries"),
        ("[[expect]", ExitCode.CONFIGURATION, "is not TOML"),
        (entry("small/no/such"), ExitCode.CONFIGURATION, "'small/no/such' matches no scenario"),
        (entry(RIGHT).replace("as the test wants it", "TODO"), ExitCode.CONFIGURATION, "say why"),
        (entry(RIGHT) * 2, ExitCode.CONFIGURATION, "entry 2: says the same as"),
        (entry(RIGHT) + 'expires = "2020-01-01"\n', ExitCode.STALE, "expired on 2020-01-01"),
    ],
)
def test_lint_finds_what_is_wrong(
    kafka_conformance: CommandLine, suites: Path, text: str, code: ExitCode, says: str
) -> None:
    (suites / "expectations" / "known.toml").write_text(text)
    assert kafka_conformance("expect", "lint", *SUITES) == code
    assert says in kafka_conformance.out


def test_lint_tells_the_faults_of_all_files(
    kafka_conformance: CommandLine, suites: Path, tmp_path: Path
) -> None:
    one, other = tmp_path / "one.toml", tmp_path / "other.toml"
    one.write_text("[[expect]")
    other.write_text(entry("small/no/such"))
    assert kafka_conformance("expect", "lint", one, other, *SUITES) == ExitCode.CONFIGURATION
    assert "one.toml is not TOML" in kafka_conformance.out
    assert "other.toml, entry 1" in kafka_conformance.out


def test_update_writes_nothing_without_a_reason_a_link_and_a_yes(
    kafka_conformance: CommandLine, suites: Path, ran: Callable[..., Path]
) -> None:
    run = ran("run")
    known = suites / "expectations" / "known.toml"
    update = ("expect", "update", "--run", run, *SUITES)
    for arguments, says in (
        ((), "name the results to list as known"),
        ((RIGHT,), "no unexpected result is among those"),
        (("--all",), "an entry needs a reason"),
        (("--all", "--reason", "so"), "an entry needs a link"),
    ):
        assert kafka_conformance(*update, *arguments) == ExitCode.USAGE
        assert says in kafka_conformance.err
    reported = ("--all", "--reason", "so", "--link", "somewhere", "--yes")
    assert kafka_conformance(*update, *reported) == ExitCode.CONFIGURATION
    assert "write a KAFKA-number" in kafka_conformance.err
    assert kafka_conformance(*update, "--all", "--reason", "so", "--link", "KIP-1") == ExitCode.EXPECTED
    assert "not written: confirm with --yes" in kafka_conformance.out
    assert known.read_text() == ""


def test_what_update_writes_makes_the_gate_green(
    kafka_conformance: CommandLine, suites: Path, ran: Callable[..., Path]
) -> None:
    run = ran("run", "--target", "reference:3.9", "--target", "reference:4.4")
    known = suites / "expectations" / "known.toml"
    known.write_text("# Ours.\n")
    reported = ("--reason", 'it "is" so', "--link", "KAFKA-12345", "--owner", "ana", "--yes")
    assert kafka_conformance("expect", "update", WRONG, "--run", run, *reported, *SUITES) == ExitCode.EXPECTED
    (written,) = tomllib.loads(known.read_text())["expect"]
    assert written["targets"] == ["reference:3.9", "reference:4.4"]
    assert written["reason"] == 'it "is" so'
    assert known.read_text().startswith("# Ours.\n")
    assert kafka_conformance("gate", run, *SUITES) == ExitCode.EXPECTED


def test_update_writes_into_the_users_own_file_and_never_into_an_installed_package(
    kafka_conformance: CommandLine, suites: Path, ran: Callable[..., Path], tmp_path: Path
) -> None:
    run = ran("run")
    mine, installed = tmp_path / "mine.toml", tmp_path / "site-packages" / "theirs.toml"
    installed.parent.mkdir()
    for file in (mine, installed):
        file.write_text("")
    update = (
        "expect",
        "update",
        "--all",
        "--run",
        run,
        *SUITES,
        "--reason",
        "so",
        "--link",
        "KIP-1",
        "--yes",
    )
    assert kafka_conformance(*update, "--expect", installed) == ExitCode.USAGE
    assert "theirs.toml is part of an installed package" in kafka_conformance.err
    assert kafka_conformance(*update, "--expect", installed, "--expect", mine) == ExitCode.EXPECTED
    assert known_of(mine.read_text()) == [WRONG]
    assert (suites / "expectations" / "known.toml").read_text() == installed.read_text() == ""


class Terminal(StringIO):
    """Somebody at the keyboard, who has typed all answers already."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("answer", "written"), [("y", 1), ("n", 0)])
def test_update_asks_whoever_is_there(
    kafka_conformance: CommandLine,
    suites: Path,
    ran: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
    answer: str,
    written: int,
) -> None:
    run = ran("run")
    monkeypatch.setattr("sys.stdin", Terminal(f"it is so\nKAFKA-7\n{answer}\n"))
    assert kafka_conformance("expect", "update", "--all", "--run", run, *SUITES) == ExitCode.EXPECTED
    assert '+reason = "it is so"' in kafka_conformance.out
    assert f"{written} of 1 written" in kafka_conformance.out
    text = (suites / "expectations" / "known.toml").read_text()
    assert text.count('link = "KAFKA-7"') == written


def test_update_changes_the_entry_that_foresaw_something_else(
    kafka_conformance: CommandLine, suites: Path, ran: Callable[..., Path]
) -> None:
    run = ran("run")
    known = suites / "expectations" / "known.toml"
    known.write_text("# Why.\n" + entry(WRONG).lstrip() + 'signature = "000000000000"  # of old\n')
    reported = ("--reason", "anew", "--link", "KIP-2", "--yes")
    assert (
        kafka_conformance("expect", "update", "--all", "--run", run, *reported, *SUITES) == ExitCode.EXPECTED
    )
    text = known.read_text()
    assert len(tomllib.loads(text)["expect"]) == 1
    assert "000000000000" not in text
    assert "# Why." in text
    assert "# of old" in text
    assert kafka_conformance("gate", run, *SUITES) == ExitCode.EXPECTED


def test_update_refuses_a_run_that_was_cut_short(
    kafka_conformance: CommandLine, suites: Path, ran: Callable[..., Path]
) -> None:
    run = ran("run")
    (run / "footer.json").unlink()
    assert kafka_conformance("expect", "update", "--all", "--run", run, *SUITES) == ExitCode.BAD_DATA


def test_prune_shows_what_can_go_and_removes_it_when_asked(
    kafka_conformance: CommandLine, suites: Path, ran: Callable[..., Path]
) -> None:
    run = ran("run")
    known = suites / "expectations" / "known.toml"
    expired = entry(NEW, "lenient") + 'expires = "2020-01-01"\n'
    elsewhere = entry(WRONG).replace('"*"', '"kafka:*"')
    text = entry(WRONG) + "\n# Mended.\n" + entry(RIGHT).lstrip() + expired + elsewhere
    race = entry(RIGHT) + 'signature = "0123456789ab"\nsometimes = true\n'
    known.write_text(race)
    assert kafka_conformance("expect", "prune", run, "--yes", *SUITES) == ExitCode.EXPECTED
    assert known.read_text() == race
    known.write_text(text)
    assert kafka_conformance("expect", "prune", run, *SUITES) == ExitCode.EXPECTED
    assert "entry 2: small/heartbeat/right: stale" in kafka_conformance.out
    assert "entry 3: small/describe/new: expired on 2020-01-01" in kafka_conformance.out
    assert known.read_text() == text
    assert kafka_conformance("expect", "prune", run, "--yes", *SUITES) == ExitCode.EXPECTED
    assert known.read_text() == entry(WRONG) + elsewhere
    assert kafka_conformance("gate", run, *SUITES) == ExitCode.EXPECTED


def test_prune_spares_what_fired_in_another_of_the_runs(
    kafka_conformance: CommandLine, suites: Path, ran: Callable[..., Path]
) -> None:
    known = suites / "expectations" / "known.toml"
    wrong = ran("wrong", WRONG)
    mended = ran("mended", RIGHT)
    known.write_text(entry("small/heartbeat/*"))
    assert kafka_conformance("expect", "prune", mended, "--yes", *SUITES) == ExitCode.EXPECTED
    assert tomllib.loads(known.read_text()) == {}
    known.write_text(entry("small/heartbeat/*"))
    assert kafka_conformance("expect", "prune", mended, wrong, "--yes", *SUITES) == ExitCode.EXPECTED
    assert known.read_text() == entry("small/heartbeat/*")


def test_why_tells_what_applies_and_why_the_rest_does_not(
    kafka_conformance: CommandLine, suites: Path, ran: Callable[..., Path]
) -> None:
    run = ran("run")
    (suites / "expectations" / "known.toml").write_text(
        entry(WRONG)
        + entry("small/heartbeat/*", "lenient")
        + entry(WRONG)
        + 'signature = "000000000000"\n'
        + entry(WRONG).replace('"*"', '"kafka:<4"')
        + entry(WRONG)
        + 'expires = "2020-01-01"\n'
        + entry(NEW)
    )
    asked = ("expect", "why", WRONG, "--target", "reference", "--run", run, *SUITES)
    assert kafka_conformance(*asked) == ExitCode.EXPECTED
    for says in (
        "in the run: diverges, expected",
        "entry 1: applies",
        "entry 2: does not apply: it lists 'lenient', and the run has 'diverges'",
        "entry 3: does not apply: it pins signature 000000000000",
        "entry 4: does not apply: its targets kafka:<4 do not fit reference",
        "entry 5: does not apply: it expired on 2020-01-01",
        "1 of 6 entries speak of other scenarios",
    ):
        assert says in kafka_conformance.out


def test_why_of_an_unknown_scenario_names_those_that_are_close(
    kafka_conformance: CommandLine, suites: Path
) -> None:
    asked = ("expect", "why", "small/heartbeat/wrnog", "--target", "kafka:3.9.2", *SUITES)
    assert kafka_conformance(*asked) == ExitCode.USAGE
    assert f"close to it: {WRONG}" in kafka_conformance.err

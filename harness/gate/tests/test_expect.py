"""`expect`: files of known differences are checked, added to, cleared and explained, and keep their looks."""

import tomllib
from functools import partial
from io import StringIO
from pathlib import Path

import pytest

from harness.gate.expectation_care import EditError, with_entry, with_values, without_entries
from harness.gate.tests.small_runs import Ran
from harness.results.status import ExitCode
from harness.tests.damaged import rewrite
from harness.tests.in_process import CommandLine
from harness.tests.small_suite import NEW, RIGHT, WRONG, entry
from harness.trace.files import RunFolder

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
    inline = 'expect = [{scenario = "a/b/c", targets = ["*"], reason = "r", link = "KIP-1"}]\n'
    for change in (
        partial(without_entries, FILE, {1}),
        partial(without_entries, inline, {0}),
        partial(with_values, inline, 0, {"link": "KIP-2"}),
    ):
        with pytest.raises(EditError, match="change it by hand"):
            change()


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
def _ran(kafka_conformance: CommandLine, suites: Path, tmp_path: Path) -> Ran:
    return Ran(kafka_conformance, suites, tmp_path)


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
def test_lint_finds_what_is_wrong(ran: Ran, text: str, code: ExitCode, says: str) -> None:
    ran.known.write_text(text)
    assert ran.expect("lint") == code
    assert says in ran.out


def test_lint_tells_the_faults_of_all_files(ran: Ran, tmp_path: Path) -> None:
    one, other = tmp_path / "one.toml", tmp_path / "other.toml"
    one.write_text("[[expect]")
    other.write_text(entry("small/no/such"))
    assert ran.expect("lint", "--expect", one, "--expect", other) == ExitCode.CONFIGURATION
    assert "one.toml is not TOML" in ran.out
    assert "other.toml, entry 1" in ran.out


def test_update_writes_nothing_without_a_reason_a_link_and_a_yes(ran: Ran) -> None:
    run = ran.run("run")
    update = ("update", "--run", run)
    for arguments, says in (
        ((), "name the results to list as known"),
        ((RIGHT,), "no unexpected result is among those"),
        (("--all",), "an entry needs a reason"),
        (("--all", "--reason", "so"), "an entry needs a link"),
    ):
        assert ran.expect(*update, *arguments) == ExitCode.USAGE
        assert says in ran.err
    reported = ("--all", "--reason", "so", "--link", "somewhere", "--yes")
    assert ran.expect(*update, *reported) == ExitCode.CONFIGURATION
    assert "write a KAFKA-number" in ran.err
    assert ran.expect(*update, "--all", "--reason", "so", "--link", "KIP-1") == ExitCode.EXPECTED
    assert "not written: confirm with --yes" in ran.out
    assert ran.known.read_text() == ""


def test_what_update_writes_makes_the_gate_green(ran: Ran) -> None:
    run = ran.run("run", "--target", "reference:3.9", "--target", "reference:4.4")
    ran.known.write_text("# Ours.\n")
    reported = ("--reason", 'it "is" so', "--link", "KAFKA-12345", "--owner", "ana", "--yes")
    assert ran.expect("update", WRONG, "--run", run, *reported) == ExitCode.EXPECTED
    (written,) = tomllib.loads(ran.known.read_text())["expect"]
    assert written["targets"] == ["reference:3.9", "reference:4.4"]
    assert written["reason"] == 'it "is" so'
    assert ran.known.read_text().startswith("# Ours.\n")
    assert ran.gate(run) == ExitCode.EXPECTED


def test_what_update_writes_from_several_runs_makes_the_gate_green_on_each(ran: Ran) -> None:
    runs = [ran.run("old", "--target", "reference:3.9"), ran.run("new", "--target", "reference:4.4")]
    both = [argument for run in runs for argument in ("--run", run)]
    reported = ("--all", "--reason", "so", "--link", "KIP-1", "--yes")
    assert ran.expect("update", *both, *reported) == ExitCode.EXPECTED
    (written,) = [
        each for each in tomllib.loads(ran.known.read_text())["expect"] if each["scenario"] == WRONG
    ]
    assert written["targets"] == ["reference:3.9", "reference:4.4"]
    assert [ran.gate(run) for run in runs] == [ExitCode.EXPECTED, ExitCode.EXPECTED]


def test_update_covers_what_an_indeterminate_result_has_shown_of_a_cause(ran: Ran) -> None:
    run = ran.run("run", "--target", "reference:3.9", "--target", "reference:4.4")
    rewrite(RunFolder(run).judgements, lambda old: old.replace(b'"diverges"', b'"indeterminate"', 1))
    reported = ("--all", "--reason", "so", "--link", "KIP-1", "--yes")
    assert ran.expect("update", "--run", run, *reported) == ExitCode.EXPECTED
    assert ran.gate(run) == ExitCode.EXPECTED


def test_update_writes_into_the_users_own_file_and_never_into_an_installed_package(
    ran: Ran, tmp_path: Path
) -> None:
    run = ran.run("run")
    mine, installed = tmp_path / "mine.toml", tmp_path / "site-packages" / "theirs.toml"
    installed.parent.mkdir()
    for file in (mine, installed):
        file.write_text("")
    update = ("update", "--all", "--run", run, "--reason", "so", "--link", "KIP-1", "--yes")
    assert ran.expect(*update, "--expect", installed) == ExitCode.USAGE
    assert "is part of an installed package" in ran.err
    assert ran.expect(*update, "--expect", installed, "--expect", mine) == ExitCode.EXPECTED
    assert known_of(mine.read_text()) == [WRONG]
    assert ran.known.read_text() == installed.read_text() == ""


class Terminal(StringIO):
    """Somebody at the keyboard, who has typed all answers already."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("answer", "written"), [("y", 1), ("n", 0)])
def test_update_asks_whoever_is_there(
    ran: Ran, monkeypatch: pytest.MonkeyPatch, answer: str, written: int
) -> None:
    run = ran.run("run")
    monkeypatch.setattr("sys.stdin", Terminal(f"it is so\nKAFKA-7\n{answer}\n"))
    assert ran.expect("update", "--all", "--run", run) == ExitCode.EXPECTED
    assert '+reason = "it is so"' in ran.out
    assert f"{written} of 1 written" in ran.out
    text = ran.known.read_text()
    assert text.count('link = "KAFKA-7"') == written


def test_update_removes_the_entry_that_foresaw_something_else(ran: Ran) -> None:
    run = ran.run("run")
    ran.known.write_text(entry(WRONG) + 'signature = "000000000000"\n')
    reported = ("--reason", "anew", "--link", "KIP-2", "--yes")
    assert ran.expect("update", "--all", "--run", run, *reported) == ExitCode.EXPECTED
    text = ran.known.read_text()
    assert len(tomllib.loads(text)["expect"]) == 1
    assert "000000000000" not in text
    assert "cause = " in text
    assert ran.gate(run) == ExitCode.EXPECTED


def test_update_refuses_a_run_that_was_cut_short(ran: Ran) -> None:
    run = ran.run("run")
    RunFolder(run).footer_json.unlink()
    assert ran.expect("update", "--all", "--run", run) == ExitCode.BAD_DATA


def test_prune_shows_what_can_go_and_removes_it_when_asked(ran: Ran) -> None:
    run = ran.run("run")
    expired = entry(NEW, "lenient") + 'expires = "2020-01-01"\n'
    elsewhere = entry(WRONG).replace('"*"', '"kafka:*"')
    text = entry(WRONG) + "\n# Mended.\n" + entry(RIGHT).lstrip() + expired + elsewhere
    race = entry(RIGHT) + 'signature = "0123456789ab"\nsometimes = true\n'
    ran.known.write_text(race)
    assert ran.expect("prune", run, "--yes") == ExitCode.EXPECTED
    assert ran.known.read_text() == race
    ran.known.write_text(text)
    assert ran.expect("prune", run) == ExitCode.EXPECTED
    assert "entry 2: small/heartbeat/right: stale" in ran.out
    assert "entry 3: small/describe/new: expired on 2020-01-01" in ran.out
    assert ran.known.read_text() == text
    assert ran.expect("prune", run, "--yes") == ExitCode.EXPECTED
    assert ran.known.read_text() == entry(WRONG) + elsewhere
    assert ran.gate(run) == ExitCode.EXPECTED


def test_prune_spares_what_fired_in_another_of_the_runs(ran: Ran) -> None:
    wrong = ran.run("wrong", WRONG)
    mended = ran.run("mended", RIGHT)
    ran.known.write_text(entry("small/heartbeat/*"))
    assert ran.expect("prune", mended, "--yes") == ExitCode.EXPECTED
    assert tomllib.loads(ran.known.read_text()) == {}
    ran.known.write_text(entry("small/heartbeat/*"))
    assert ran.expect("prune", mended, wrong, "--yes") == ExitCode.EXPECTED
    assert ran.known.read_text() == entry("small/heartbeat/*")


def test_why_tells_what_applies_and_why_the_rest_does_not(ran: Ran) -> None:
    run = ran.run("run")
    ran.known.write_text(
        entry(WRONG)
        + entry("small/heartbeat/*", "lenient")
        + entry(WRONG)
        + 'signature = "000000000000"\n'
        + entry(WRONG).replace('"*"', '"kafka:<4"')
        + entry(WRONG)
        + 'expires = "2020-01-01"\n'
        + entry(NEW)
    )
    assert ran.expect("why", WRONG, "--target", "reference", "--run", run) == ExitCode.EXPECTED
    for says in (
        "in the run: diverges, expected",
        "entry 1: applies",
        "entry 2: does not apply: it lists 'lenient', and the run has 'diverges'",
        "entry 3: does not apply: it pins signature 000000000000",
        "entry 4: does not apply: its targets kafka:<4 do not fit reference",
        "entry 5: does not apply: it expired on 2020-01-01",
        "1 of 6 entries speak of other scenarios",
    ):
        assert says in ran.out


def test_why_of_an_unknown_scenario_names_those_that_are_close(ran: Ran) -> None:
    assert ran.expect("why", "small/heartbeat/wrnog", "--target", "kafka:3.9.2") == ExitCode.USAGE
    assert f"close to it: {WRONG}" in ran.err

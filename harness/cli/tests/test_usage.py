"""The command line when something is wrong with it, or around it: documented codes, and a line that helps."""

import errno
import os
import re
from importlib import import_module
from pathlib import Path

import pytest

from harness import __version__
from harness.orchestration import run as orchestrated_run
from harness.results.status import ExitCode
from harness.targets.secured.properties import COMMAND_CONFIG_VARIABLE
from harness.tests.completed_runs import CHECKOUT
from harness.tests.damaged import rewrite
from harness.tests.in_process import CommandLine, forget_suites
from harness.tests.small_suite import NEW, RIGHT, WRONG, entry
from harness.trace import files as trace_files
from harness.trace.files import RunFolder

pytest_plugins = ["harness.tests.command_line_fixture"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            ("run", "--target", "redpanda:24.3"),
            "'redpanda:24.3' is not a target; choose from reference[:PROFILE], ",
        ),
        (
            ("run", "--target", "kafak:3.9.2"),
            "'kafak:3.9.2' is not a target; close to it: kafka; choose from",
        ),
        (("run", "--target", "kafka:newest"), "write for instance kafka:3.9.2 or kafka:latest"),
        (("run", "--target", "external:localhost"), "write for instance external:127.0.0.1:9092"),
        (
            ("run", "--target", "external:h:1", "--broker-property", "group.max.size=2"),
            "external:h:1 runs already: state how it is configured with --assume PROPERTY=VALUE",
        ),
        (("run", "--target", "external:h:1", "--assume", "group.max.sise=2"), "unknown property"),
        (("run", "--target", "external:h:1", "--topic", "oders=t1"), "close to it: orders"),
        (("run", "--topic", "orders=t1"), "--topic is for a broker that runs already"),
        (("run", "--target", "reference:2.3"), "2.3"),
        (("run", "--target", "reference", "--target", "reference"), "a target is given twice: reference"),
        (("run", "classic/jion/*"), "no scenario matches 'classic/jion/*'; close to it: classic/join"),
        (("run", "classic/join", "--skip", "classic/**"), "the selection leaves no scenario to run"),
        (("run", "--colour"), "No such option: --colour"),
        (("run", "--jobs", "none"), "Invalid value for '--jobs'"),
        (("run", "--out", __file__), "Invalid value for '--out'"),
        (("run", "--run-id", "latest"), "'latest' is the newest run"),
        (("explain", "no/such/scenario"), "no scenario matches 'no/such/scenario'"),
        (("run", "zzz/zzz"), "no scenario matches 'zzz/zzz'; `kafka-conformance list` shows all of them"),
        (("explain",), "name a scenario"),
        (("rnu",), "No such command 'rnu'"),
        (
            ("tap", "--target", "reference-tcp", "--listen", "here"),
            "'here' is not an address; write for instance",
        ),
        (("diff", "reference"), "name two runs or targets to compare"),
        (("diff", "--target", "kafka:3.9.2"), "name versions with --versions"),
        (("report", ".", "."), "name its folder with --out"),
        (("matrix", "--versions", "all"), "any more: use `kafka-conformance diff --versions VERSIONS`"),
        (("merge", "a", "b"), "any more: use `kafka-conformance report RUN RUN"),
        (("--page-mib", "1", "coverage", "--help"), "any more: use `kafka-conformance list --coverage`"),
        (("race", "--target", "reference:4.3"), "no race takes place there; write reference-tcp:4.3"),
        (("search",), "say either --against or --mutant: a search compares two references"),
        (
            ("search", "--target", "kafka:3.9.2", "--mutant", "states_filter_trimmed"),
            "'kafka:3.9.2' is no reference in virtual time; write reference:PROFILE",
        ),
        (("search", "--against", "reference:2.3"), "2.3"),
        (("search", "--mutant", "states_filter_trimed"), "close to it: states_filter_trimmed"),
        (("search", "--mutant", "no:such:mutant:0"), "0 mutants match 'no:such:mutant:0'"),
        (
            ("search", "--against", "reference:4.4", "--write", "found_4.4"),
            "no dot in its name: call it found_4_4",
        ),
        (("search", "--against", "reference:4.4", "--steps", "0"), "Invalid value for '--steps'"),
    ],
)
def test_a_command_line_that_makes_no_sense_ends_with_64_and_says_why(
    kafka_conformance: CommandLine, tmp_path: Path, arguments: tuple[str, ...], says: str
) -> None:
    out = () if arguments[0] != "run" or "--out" in arguments else ("--out", tmp_path / "reports")
    assert kafka_conformance(*arguments, *out) == ExitCode.USAGE
    assert says in kafka_conformance.err
    assert "Traceback" not in kafka_conformance.err
    assert not (tmp_path / "reports").exists()


@pytest.mark.slow
@pytest.mark.parametrize(("spec", "is_newer"), [("reference:4.5", True), ("reference:4.4.9", False)])
def test_a_release_that_the_reference_does_not_know_is_said_to_be_judged_as_an_older_one(
    kafka_conformance: CommandLine, tmp_path: Path, spec: str, *, is_newer: bool
) -> None:
    chosen = ("--no-report", "--out", tmp_path, "classic/heartbeat/before-assignments")
    assert kafka_conformance("run", "--target", spec, *chosen) == ExitCode.EXPECTED
    assert (f"{spec} is judged as 4.4" in kafka_conformance.out) is is_newer


@pytest.mark.slow
def test_a_run_that_was_cut_short_before_its_scripts_is_no_input(
    kafka_conformance: CommandLine, tmp_path: Path
) -> None:
    (tmp_path / "run.json").write_text("{}")

    assert kafka_conformance("report", tmp_path) == ExitCode.NO_INPUT
    assert "was cut short before its scripts were written" in kafka_conformance.err


def test_no_command_at_all_shows_what_there_is(kafka_conformance: CommandLine) -> None:
    assert kafka_conformance() == ExitCode.USAGE
    assert "report" in kafka_conformance.out
    assert kafka_conformance.err == ""


def test_help_is_no_error(kafka_conformance: CommandLine) -> None:
    assert kafka_conformance("run", "--help") == ExitCode.EXPECTED
    for option in ("--target", "--profile", "--expect", "--baseline", "--no-report"):
        assert option in kafka_conformance.out


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[[expect]", "is not TOML"),
        (
            entry("small/no/such"),
            "known.toml, entry 1, field 'scenario': 'small/no/such' matches no scenario",
        ),
        (entry(RIGHT) + "owner = 3\n", "known.toml, entry 1, field 'owner'"),
        (entry(RIGHT).replace("link", "lnik"), "known.toml, entry 1, field 'lnik': is unknown"),
        (entry(RIGHT) + entry(WRONG).replace("KAFKA-1", "?"), "known.toml, entry 2, field 'link'"),
    ],
)
def test_a_broken_expectation_ends_with_78_before_anything_is_driven(
    kafka_conformance: CommandLine, suites: Path, tmp_path: Path, text: str, says: str
) -> None:
    (suites / "expectations" / "known.toml").write_text(text)
    code = kafka_conformance("run", "--suites", "small_suites", "--out", tmp_path / "reports")
    assert code == ExitCode.CONFIGURATION
    assert says in kafka_conformance.err
    assert not (tmp_path / "reports").exists()


def test_a_scenario_with_a_fault_ends_with_78_and_is_named(
    kafka_conformance: CommandLine, suites: Path, tmp_path: Path
) -> None:
    scenarios = suites / "small.py"
    scenarios.write_text(scenarios.read_text().replace("GroupCoordinatorService#describeGroups", "hearsay"))
    for command in (("list",), ("run", "--out", tmp_path / "reports")):
        assert kafka_conformance(*command, "--suites", "small_suites") == ExitCode.CONFIGURATION
        assert f"{NEW}: source 'hearsay' names no Kafka Class#method" in kafka_conformance.err


@pytest.mark.parametrize(
    ("package", "says"),
    [("no_such_suites", "no_such_suites"), ("json.decoder", "'json.decoder' is a module and no package")],
)
def test_what_is_no_package_of_suites_ends_with_78(
    kafka_conformance: CommandLine, package: str, says: str
) -> None:
    assert kafka_conformance("list", "--suites", package) == ExitCode.CONFIGURATION
    assert says in kafka_conformance.err


def test_a_module_of_suites_that_fails_when_it_is_imported_is_named(
    kafka_conformance: CommandLine, suites: Path
) -> None:
    (suites / "torn.py").write_text("def (")
    assert kafka_conformance("list", "--suites", "small_suites") == ExitCode.CONFIGURATION
    assert "small_suites.torn cannot be imported: SyntaxError" in kafka_conformance.err


@pytest.mark.parametrize(
    ("entries", "code", "says"),
    [
        ((), ExitCode.UNEXPECTED, f"✗ unexpected difference {WRONG} on reference"),
        ((entry(WRONG),), ExitCode.EXPECTED, "Every result was expected (1 known difference)."),
        ((entry(WRONG), entry(RIGHT)), ExitCode.STALE, f"✓ stale expectation {RIGHT} on reference"),
        (
            (entry(WRONG, "indeterminate"),),
            ExitCode.UNEXPECTED,
            f"✗ unexpected difference {WRONG} on reference",
        ),
    ],
)
def test_expectations_decide_how_a_run_ends(
    kafka_conformance: CommandLine,
    suites: Path,
    tmp_path: Path,
    entries: tuple[str, ...],
    code: ExitCode,
    says: str,
) -> None:
    (suites / "expectations" / "known.toml").write_text("".join(entries))
    assert kafka_conformance("run", "--suites", "small_suites", "--no-report", "--out", tmp_path) == code
    assert says in kafka_conformance.out


def test_a_users_own_expectation_file_counts_as_well(
    kafka_conformance: CommandLine, suites: Path, tmp_path: Path
) -> None:
    own = tmp_path / "own.toml"
    own.write_text(entry(WRONG))
    run = ("run", "--suites", "small_suites", "--no-report", "--out", tmp_path, "--expect", own)
    assert kafka_conformance(*run) == ExitCode.EXPECTED


def test_a_run_in_which_nothing_could_be_run_is_red(
    kafka_conformance: CommandLine, suites: Path, tmp_path: Path
) -> None:
    run = ("run", "--suites", "small_suites", "--no-report", "--out", tmp_path, "--target", "reference:3.9")
    assert kafka_conformance(*run, NEW) == ExitCode.NOTHING_RAN
    assert "Nothing was run on any target." in kafka_conformance.out


def test_a_run_id_is_given_once(kafka_conformance: CommandLine, suites: Path, tmp_path: Path) -> None:
    run = ("run", "--suites", "small_suites", "--no-report", "--out", tmp_path, "--run-id", "first", RIGHT)
    assert kafka_conformance(*run) == ExitCode.EXPECTED
    before = RunFolder(tmp_path / "first").run_json.read_bytes()
    assert kafka_conformance(*run) == ExitCode.USAGE
    assert "there is a run of that id already" in kafka_conformance.err
    assert RunFolder(tmp_path / "first").run_json.read_bytes() == before


def test_a_scenario_of_the_baseline_that_is_gone_is_red_and_one_that_was_not_chosen_is_not(
    kafka_conformance: CommandLine, suites: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = ("run", "--suites", "small_suites", "--no-report", "--out", tmp_path)
    assert kafka_conformance(*run, "--run-id", "first", RIGHT, NEW) == ExitCode.EXPECTED
    again = (*run, "--baseline", tmp_path / "first")
    assert kafka_conformance(*again, "--run-id", "second", RIGHT, NEW) == ExitCode.EXPECTED
    assert kafka_conformance(*again, "--run-id", "third", RIGHT) == ExitCode.EXPECTED

    (suites / "small.py").write_text((suites / "small.py").read_text().replace(NEW, f"{NEW}er"))
    forget_suites()
    assert kafka_conformance(*again, "--run-id", "fourth", RIGHT) == ExitCode.NOTHING_RAN
    report = ("report", "--suites", "small_suites", "--baseline", tmp_path / "first", tmp_path / "third")
    cli_run = import_module("harness.cli.run")
    monkeypatch.setattr(cli_run, "_report", lambda *_: None)
    monkeypatch.setattr(cli_run, "print_summary", lambda *_, **__: None)
    assert kafka_conformance(*report) == ExitCode.NOTHING_RAN


@pytest.mark.slow
@pytest.mark.parametrize("given", ["no-such-folder", "."])
def test_a_baseline_that_is_no_run_ends_with_66_before_anything_is_driven(
    kafka_conformance: CommandLine, tmp_path: Path, given: str
) -> None:
    reports = tmp_path / "reports"
    assert kafka_conformance("run", "--out", reports, "--baseline", tmp_path / given) == ExitCode.NO_INPUT
    assert "not a run's folder" in kafka_conformance.err
    assert not reports.exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        *("report", "gate", "list --coverage", "trend", "tap --finish"),
    ],
)
@pytest.mark.parametrize("given", ["no-such-folder", "."])
def test_what_is_no_run_ends_with_66_and_is_left_alone(
    kafka_conformance: CommandLine, tmp_path: Path, command: str, given: str
) -> None:
    assert kafka_conformance(*command.split(), tmp_path / given) == ExitCode.NO_INPUT
    assert f"{tmp_path / given} is not a run's folder; `kafka-conformance " in kafka_conformance.err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("given", "says"), [("no-such-folder", "there is no such file"), (".", "there is no journal.bin in")]
)
def test_what_judge_cannot_read_ends_with_66_and_is_left_alone(
    kafka_conformance: CommandLine, tmp_path: Path, given: str, says: str
) -> None:
    assert kafka_conformance("judge", tmp_path / given) == ExitCode.NO_INPUT
    assert f"{tmp_path / given}: {says}" in kafka_conformance.err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "command",
    [
        ("run", RIGHT),
        ("report",),
        ("gate",),
        ("report", ".", "--out", "merged"),
        ("diff", "--versions", "3.9.2,4.4.0"),
        ("expect", "lint"),
        ("expect", "prune"),
        ("expect", "why", RIGHT, "--target", "reference"),
    ],
    ids=" ".join,
)
def test_an_expectation_file_that_is_not_there_ends_with_66(
    kafka_conformance: CommandLine, suites: Path, tmp_path: Path, command: tuple[str, ...]
) -> None:
    run = tmp_path / "run"
    driven = ("run", "--suites", "small_suites", "--no-report", "--out", tmp_path, "--run-id", "run", RIGHT)
    assert kafka_conformance(*driven) == ExitCode.EXPECTED
    arguments = [run if each == "." else each for each in command]
    if command in (("report",), ("gate",), ("expect", "prune")):
        arguments.append(run)
    absent = suites / "expectations" / "knwon.toml"
    assert kafka_conformance(*arguments, "--suites", "small_suites", "--expect", absent) == ExitCode.NO_INPUT
    assert f"there is no expectation file {absent}" in kafka_conformance.err


def test_a_report_of_a_damaged_trace_ends_with_65_and_names_the_line(
    kafka_conformance: CommandLine, suites: Path, tmp_path: Path
) -> None:
    run = ("run", "--suites", "small_suites", "--no-report", "--out", tmp_path, "--run-id", "run", RIGHT)
    assert kafka_conformance(*run) == ExitCode.EXPECTED
    trace = RunFolder(tmp_path / "run").events("reference")
    rewrite(trace, lambda old: b"nonsense" + old)
    report = ("report", "--judge", "--suites", "small_suites", tmp_path / "run")
    assert kafka_conformance(*report) == ExitCode.BAD_DATA
    assert "events.jsonl.zst:1" in kafka_conformance.err


@pytest.mark.slow
def test_our_own_fault_ends_with_70_and_a_traceback(
    kafka_conformance: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(orchestrated_run, "RunDrive", fails)
    assert kafka_conformance("run", "--out", tmp_path) == ExitCode.HARNESS_ERROR
    assert "ZeroDivisionError" in kafka_conformance.err


@pytest.mark.parametrize("refusal", [errno.ENOSPC, errno.EACCES])
def test_what_the_system_refuses_while_a_run_is_driven_ends_with_75_and_names_the_file(
    kafka_conformance: CommandLine,
    suites: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    refusal: int,
) -> None:
    def fails(_: object) -> str:
        raise OSError(refusal, os.strerror(refusal), str(tmp_path / "events.jsonl"))

    monkeypatch.setattr(trace_files, "to_json", fails)
    run = ("run", "--suites", "small_suites", "--no-report", "--out", tmp_path)
    assert kafka_conformance(*run) == ExitCode.TEMPORARY_FAILURE
    assert kafka_conformance.err.startswith(
        f"kafka-conformance: {tmp_path / 'events.jsonl'}: {os.strerror(refusal)}: "
    )
    assert "Traceback" not in kafka_conformance.err


def test_the_version_is_reported(kafka_conformance: CommandLine) -> None:
    assert kafka_conformance("--version") == ExitCode.EXPECTED
    assert kafka_conformance.out == f"kafka-conformance {__version__}\n"


def test_every_exit_code_is_documented() -> None:
    text = (CHECKOUT / "docs" / "exit-codes.md").read_text()
    rows = {int(code) for code in re.findall(r"^\| (\d+) \|", text, re.MULTILINE)}
    assert rows == set(ExitCode)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("security.protocol=TLS\n", "security.protocol=TLS: choose from PLAINTEXT, SSL"),
        ("security.protocol=SSL\nssl.ca.location=/no/such.pem\n", "there is no file /no/such.pem"),
        (None, "No such file or directory; --command-config names a properties file"),
    ],
)
def test_security_settings_that_are_wrong_end_a_command_with_78(
    kafka_conformance: CommandLine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    text: str | None,
    says: str,
) -> None:
    file = tmp_path / "client.properties"
    if text is not None:
        file.write_text(text)
    option, command = ("--command-config", file), ("clean", "external:127.0.0.1:9")
    for words in ((*option, *command), (*command, *option)):
        monkeypatch.setenv(COMMAND_CONFIG_VARIABLE, "")  # which the option sets, and is as before at the end
        assert kafka_conformance(*words) == ExitCode.CONFIGURATION
        assert says in kafka_conformance.err

"""`diff`: what a client sees change, between targets and between runs."""

from dataclasses import replace
from pathlib import Path

import pytest

from harness.diff.model import Judgement
from harness.gate.tests.small_runs import Driven
from harness.results.status import ExitCode
from harness.tests.in_process import CommandLine
from harness.trace.files import RunFolder, read_events, read_records, write_records

pytestmark = pytest.mark.slow

pytest_plugins = ["harness.tests.command_line_fixture"]

CHANGED = "classic/heartbeat/before-assignments"
"""What is answered NONE since 2.6.1, and REBALANCE_IN_PROGRESS before."""
STATES = "consumer_groups/describe/states"
BEHAVIOUR = "heartbeat_in_completing_rebalance_is_fine"


@pytest.fixture(name="driven")
def _driven(kafka_conformance: CommandLine, tmp_path: Path) -> Driven:
    return Driven(kafka_conformance, tmp_path)


def test_what_changed_between_two_targets_of_a_run_is_put_down_to_a_named_behaviour(driven: Driven) -> None:
    run = driven.run_on("run", "reference:2.5", "reference:4.4")
    (comparison,) = driven.compared("reference:2.5", "reference:4.4", "--run", run)
    changes = {each["scenario_id"]: each for each in comparison["changes"]}
    change = changes[CHANGED]
    seen = [change[name] for name in ("api", "before_outcome", "after_outcome")]
    assert seen == ["Heartbeat", "conforms", "conforms"]
    assert change["fields"] == [
        {"path": "error_code", "before": '"REBALANCE_IN_PROGRESS"', "after": '"NONE"'}
    ]
    assert change["behaviours"]
    assert len(change["sources"]) == len(change["behaviours"])
    (row,) = (each for each in comparison["rows"] if CHANGED in each["changes"])
    assert (row["cause"], row["in_the_latter"], row["effect"]) == (BEHAVIOUR, "new", "behaves differently")
    assert row["says"].startswith("Now: a heartbeat near the end of a rebalance does not make a consumer")
    assert comparison["same_count"] + len(changes) <= len(RunFolder(run).read_scripts())


@pytest.mark.parametrize(
    ("scenario", "releases", "causes"),
    [
        ("classic/subscription/negative-count", ("3.9", "4.4"), ["malformed_subscription_throws"]),
        (STATES, ("4.2", "4.3"), ["group_epoch_starts_at_one", "describe_shows_pending_revocations"]),
    ],
    ids=["those alone that lead to the other answer", "a later answer by what it hangs on too"],
)
def test_answers_are_put_down_to_behaviours(
    driven: Driven, scenario: str, releases: tuple[str, ...], causes: list[str]
) -> None:
    targets = [f"reference:{release}" for release in releases]
    run = driven.run_on("run", *targets, suite=scenario)
    (comparison,) = driven.compared(*targets, "--run", run)
    (change,) = comparison["changes"]
    seen = [change, *change["also"]]
    assert [each["behaviours"] for each in seen] == [[cause] for cause in causes]
    assert [each["step"] for each in seen] == sorted({each["step"] for each in seen})
    assert {row["cause"] for row in comparison["rows"] if row["changes"]} == set(causes)


def test_without_explaining_the_reference_is_not_asked(driven: Driven) -> None:
    run = driven.run_on("run", "reference:2.5", "reference:4.4")
    assert driven.command("diff", "reference:2.5", "reference-4.4", "--run", run, "--no-explain") == 0
    assert f"{CHANGED}, step 21, Heartbeat v4" in " ".join(driven.command.out.split())
    assert "    error_code: REBALANCE_IN_PROGRESS → NONE\n" in driven.command.out
    assert "what changed from" not in driven.command.err


def test_two_runs_of_the_same_do_not_differ(driven: Driven) -> None:
    one, other = driven.run_on("one", "reference:3.9"), driven.run_on("other", "reference:3.9")
    assert driven.command("diff", one, other) == ExitCode.EXPECTED
    assert "None of 12 scenarios changed" in driven.command.out


def test_two_runs_are_compared_target_by_target(driven: Driven) -> None:
    one, other = driven.run_on("one", "reference:2.5"), driven.run_on("other", "reference:4.4")
    assert driven.command("diff", one, other, "--format", "markdown") == ExitCode.EXPECTED
    assert driven.command.out.startswith("# reference:2.5 (run one) → reference:4.4 (run other)\n")
    assert f": {CHANGED}, step 21" in driven.command.out
    many = driven.run_on("many", "reference:2.5", "reference:4.4")
    assert driven.command("diff", one, many, "--no-explain") == ExitCode.EXPECTED
    assert driven.command("diff", f"{one}@reference:2.5", f"{many}@reference-4.4", "--no-explain") == 0
    assert CHANGED in driven.command.out


def test_scenarios_of_one_side_alone_are_kept_apart_from_those_that_could_not_be_run(driven: Driven) -> None:
    whole, part = (
        driven.run_on("whole", "reference:4.4"),
        driven.run_on("part", "reference:4.4", suite=CHANGED),
    )
    assert driven.command("diff", whole, part) == ExitCode.EXPECTED
    assert "11 scenarios only in the former's run" in driven.command.out
    new = driven.run_on("new", "reference:3.9", "reference:4.4", suite="admin/describe/stable/v6")
    assert driven.command("diff", "reference:3.9", "reference:4.4", "--run", new) == ExitCode.EXPECTED
    why = "reference:3.9 serves DescribeGroups v0 to v5, not v6."
    assert f"1 scenario ran only on the latter: {why}" in " ".join(driven.command.out.split())


@pytest.mark.parametrize(
    ("named", "code", "says"),
    [
        ("refrence:4.4", ExitCode.USAGE, "close to it: reference:4.4"),
        ("kafka:3.9.2", ExitCode.USAGE, "'kafka:3.9.2' is not a folder, and not a target of"),
        ("/no/such/folder", ExitCode.NO_INPUT, "/no/such/folder is not a run's folder"),
    ],
)
def test_a_side_that_is_nothing_is_refused(driven: Driven, named: str, code: ExitCode, says: str) -> None:
    run = driven.run_on("run", "reference:4.4")
    assert driven.command("diff", named, "reference:4.4", "--run", run) == code
    assert says in driven.command.err


def test_a_target_without_a_run_to_look_in_is_refused_by_its_name(driven: Driven) -> None:
    command = ("diff", "kafka:3.9.2", "kafka:4.4.0", "--run", driven.directory / "none")
    assert driven.command(*command) == ExitCode.NO_INPUT
    assert "'kafka:3.9.2' is not a folder, so it would be a target of" in driven.command.err


def test_runs_without_a_target_in_common_want_to_know_which(driven: Driven) -> None:
    one, other = (
        driven.run_on("one", "reference:2.5", "reference:2.6"),
        driven.run_on("other", "reference:4.3", "reference:4.4"),
    )
    assert driven.command("diff", one, other) == ExitCode.USAGE
    assert "name one of each: RUN@TARGET" in driven.command.err


def test_a_run_that_was_cut_short_is_refused(driven: Driven) -> None:
    run = driven.run_on("run", "reference:2.5", "reference:4.4")
    RunFolder(run).footer_json.unlink()
    assert driven.command("diff", "reference:2.5", "reference:4.4", "--run", run) == ExitCode.BAD_DATA


LEADER = "classic/leader/leaves-two-behind"
"""Who leads next hangs on the order of a hash map; the reference declares it."""


def choose_carol(run: Path, *, outcome: str) -> None:
    """Have a recorded answer name the other of two members as the leader, and be judged so."""
    folder = RunFolder(run)
    path = folder.events("reference-4.4")
    events = [
        replace(event, canonical=(event.canonical or "").replace(was, becomes), digest="another")
        if event.permitted and "leader" in event.permitted
        else event
        for event in read_events(path)
        for was, becomes in [('"leader":"member:bob"', '"leader":"member:carol"')]
    ]
    write_records(path, events)
    judgements = read_records(Judgement, folder.judgements)
    write_records(folder.judgements, [replace(each, outcome=outcome) for each in judgements])


@pytest.mark.parametrize(
    ("outcome", "says"),
    [("conforms", "None of 1 scenarios changed"), ("diverges", 'leader: "member:bob" → "member:carol"')],
)
def test_what_hangs_on_chance_is_no_change_where_both_are_right(
    driven: Driven, outcome: str, says: str
) -> None:
    one, other = (driven.run_on(run_id, "reference:4.4", suite=LEADER) for run_id in ("one", "other"))
    choose_carol(other, outcome=outcome)
    assert driven.command("diff", one, other, "--no-explain") == ExitCode.EXPECTED
    assert says in driven.command.out


def test_a_target_beside_its_reference_is_judged_from_what_it_was_found_to_do_wrong(driven: Driven) -> None:
    run = driven.run_on("run", "reference-tcp:4.4", suite=LEADER)
    folder = RunFolder(run)
    path = folder.events("reference-tcp-4.4")
    events = list(read_events(path))
    *_, last = (event for event in events if event.kind == "response")
    changed = [
        replace(event, canonical=canonical, digest="another")
        if (canonical := carols(event.canonical or "", is_wrong=event is last)) != event.canonical
        else event
        for event in events
    ]
    write_records(path, changed)
    judgements = read_records(Judgement, folder.judgements)
    wrong = [
        replace(each, outcome="diverges", first_step=last.step) if each.oracle else each
        for each in judgements
    ]
    write_records(folder.judgements, wrong)
    (comparison,) = driven.compared("reference-4.4", "reference-tcp:4.4", "--run", run)
    ((step, cause),) = ((change["step"], change["cause"]) for change in comparison["changes"])
    assert (step, cause) == (last.step, f"{last.api}: UNKNOWN_SERVER_ERROR instead of NONE")
    assert comparison["is_judgement"]


def carols(canonical: str, *, is_wrong: bool) -> str:
    """Have an answer name the other of two members as the leader, or be a wrong one."""
    if is_wrong:
        return canonical.replace('"error_code":"NONE"', '"error_code":"UNKNOWN_SERVER_ERROR"')
    return canonical.replace('"leader":"member:bob"', '"leader":"member:carol"')


def test_each_side_of_several_is_compared_with_the_one_before_it(driven: Driven) -> None:
    run = driven.run_on("run", "reference:2.5", "reference:2.6.1", "reference:4.4", suite=CHANGED)
    reported = driven.compared(
        "reference:2.5", "reference:2.6.1", "reference:4.4", "--run", run, "--no-explain"
    )
    assert [(each["before"], each["after"], len(each["changes"])) for each in reported] == [
        ("reference:2.5 (run run)", "reference:2.6.1 (run run)", 1),
        ("reference:2.6.1 (run run)", "reference:4.4 (run run)", 0),
    ]

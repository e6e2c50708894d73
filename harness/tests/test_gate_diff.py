"""`diff`: what a client sees change, between targets and between runs."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from harness.diff.model import Judgement
from harness.gate.comparison import ADVERTISED, UNKNOWN, ClientChange, Comparison, FieldChange
from harness.gate.comparison_pages import comparisons_html, comparisons_markdown
from harness.report.exit_code import ExitCode
from harness.tests.in_process import CommandLine
from harness.trace.files import RunFolder, read_events, read_records, write_records

pytest_plugins = ["harness.tests.command_line_fixture"]

SUITE = "classic/heartbeat/**"
CHANGED = "classic/heartbeat/before-assignments"
"""What is answered NONE since 2.6.1, and REBALANCE_IN_PROGRESS before."""
Hold = Callable[..., Path]


@pytest.fixture(name="hold")
def _hold(kafka_conformance: CommandLine, tmp_path: Path) -> Hold:
    def hold(run_id: str, *targets: str, suite: str = SUITE) -> Path:
        chosen = [each for target in targets for each in ("--target", target)]
        run = ("run", suite, "--no-report", "--out", tmp_path, "--run-id", run_id)
        assert kafka_conformance(*run, *chosen) == ExitCode.EXPECTED
        return tmp_path / run_id

    return hold


def test_what_changed_between_two_targets_of_a_run_is_put_down_to_a_named_behaviour(
    kafka_conformance: CommandLine, hold: Hold
) -> None:
    run = hold("run", "reference:2.5", "reference:4.4")
    asked = ("diff", "reference:2.5", "reference:4.4", "--run", run, "--format", "json")
    assert kafka_conformance(*asked) == ExitCode.EXPECTED
    (comparison,) = json.loads(kafka_conformance.out)
    changes = {each["scenario_id"]: each for each in comparison["changes"]}
    change = changes[CHANGED]
    assert (change["api"], change["before_outcome"], change["after_outcome"]) == (
        "Heartbeat",
        "conforms",
        "conforms",
    )
    assert change["fields"] == [
        {"path": "error_code", "before": '"REBALANCE_IN_PROGRESS"', "after": '"NONE"'}
    ]
    assert change["behaviours"]
    assert len(change["sources"]) == len(change["behaviours"])
    assert comparison["same_count"] + len(changes) <= len(RunFolder(run).read_scripts())


def test_without_explaining_the_reference_is_not_asked(kafka_conformance: CommandLine, hold: Hold) -> None:
    run = hold("run", "reference:2.5", "reference:4.4")
    assert kafka_conformance("diff", "reference:2.5", "reference-4.4", "--run", run, "--no-explain") == 0
    assert f"{CHANGED}: step 21, Heartbeat v4" in kafka_conformance.out
    assert "    error_code: REBALANCE_IN_PROGRESS → NONE\n" in kafka_conformance.out
    assert "what changed from" not in kafka_conformance.err


def test_two_runs_of_the_same_do_not_differ(kafka_conformance: CommandLine, hold: Hold) -> None:
    one, other = hold("one", "reference:3.9"), hold("other", "reference:3.9")
    assert kafka_conformance("diff", one, other) == ExitCode.EXPECTED
    assert "none of 12 scenarios changed" in kafka_conformance.out


def test_two_runs_are_compared_target_by_target(kafka_conformance: CommandLine, hold: Hold) -> None:
    one, other = hold("one", "reference:2.5"), hold("other", "reference:4.4")
    assert kafka_conformance("diff", one, other, "--format", "markdown") == ExitCode.EXPECTED
    assert kafka_conformance.out.startswith("# reference:2.5 (run one) → reference:4.4 (run other)\n")
    assert f"### {CHANGED}" in kafka_conformance.out
    many = hold("many", "reference:2.5", "reference:4.4")
    assert kafka_conformance("diff", one, many, "--no-explain") == ExitCode.EXPECTED
    assert kafka_conformance("diff", f"{one}@reference:2.5", f"{many}@reference-4.4", "--no-explain") == 0
    assert CHANGED in kafka_conformance.out


def test_scenarios_of_one_side_alone_are_told_apart_from_those_that_could_not_be_held(
    kafka_conformance: CommandLine, hold: Hold
) -> None:
    whole, part = hold("whole", "reference:4.4"), hold("part", "reference:4.4", suite=CHANGED)
    assert kafka_conformance("diff", whole, part) == ExitCode.EXPECTED
    assert "11 scenarios are in the former's run alone" in kafka_conformance.out
    new = hold("new", "reference:3.9", "reference:4.4", suite="admin/describe/stable/v6")
    assert kafka_conformance("diff", "reference:3.9", "reference:4.4", "--run", new) == ExitCode.EXPECTED
    assert "1 scenarios could be held only with the latter: admin/describe/stable/v6" in kafka_conformance.out


@pytest.mark.parametrize(
    ("named", "code", "says"),
    [
        ("refrence:4.4", ExitCode.USAGE, "close to it: reference:4.4"),
        ("/no/such/folder", ExitCode.USAGE, "is no folder, and no target of"),
    ],
)
def test_a_side_that_is_nothing_is_refused(
    kafka_conformance: CommandLine, hold: Hold, named: str, code: ExitCode, says: str
) -> None:
    run = hold("run", "reference:4.4")
    assert kafka_conformance("diff", named, "reference:4.4", "--run", run) == code
    assert says in kafka_conformance.err


def test_runs_without_a_target_in_common_want_to_be_told_which(
    kafka_conformance: CommandLine, hold: Hold
) -> None:
    one, other = (
        hold("one", "reference:2.5", "reference:2.6"),
        hold("other", "reference:4.3", "reference:4.4"),
    )
    assert kafka_conformance("diff", one, other) == ExitCode.USAGE
    assert "name one of each: RUN@TARGET" in kafka_conformance.err


def test_a_run_that_was_cut_short_is_refused(kafka_conformance: CommandLine, hold: Hold) -> None:
    run = hold("run", "reference:2.5", "reference:4.4")
    RunFolder(run).footer_json.unlink()
    assert kafka_conformance("diff", "reference:2.5", "reference:4.4", "--run", run) == ExitCode.BAD_DATA


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
        for event in read_events(path).events
        for was, becomes in [('"leader":"member:bob"', '"leader":"member:carol"')]
    ]
    write_records(path, events)
    judgements = read_records(Judgement, folder.judgements)
    write_records(folder.judgements, [replace(each, outcome=outcome) for each in judgements])


@pytest.mark.parametrize(
    ("outcome", "says"),
    [("conforms", "none of 1 scenarios changed"), ("diverges", 'leader: "member:bob" → "member:carol"')],
)
def test_what_hangs_on_chance_is_no_change_where_both_are_right(
    kafka_conformance: CommandLine, hold: Hold, outcome: str, says: str
) -> None:
    one, other = (hold(run_id, "reference:4.4", suite=LEADER) for run_id in ("one", "other"))
    choose_carol(other, outcome=outcome)
    assert kafka_conformance("diff", one, other, "--no-explain") == ExitCode.EXPECTED
    assert says in kafka_conformance.out


CHANGE = ClientChange(
    scenario_id="a/b/c",
    title="<script>alert(1)</script>",
    source="GroupCoordinator#handleHeartbeat",
    api="Heartbeat",
    api_version=3,
    step=4,
    actor="ana",
    before_kind="response",
    after_kind="response",
    fields=(FieldChange(path="error_code", before='"<img src=x>"', after='"@everyone|`x`"'),),
    answer_count=1,
    before_outcome="conforms",
    after_outcome="diverges",
    delta="newly diverging",
    behaviours=(),
    sources=(),
    known_as=(),
)
COMPARISON = Comparison(
    before="kafka:3.9.2 (run a)",
    after="kafka:4.4.0 (run b)",
    changes=(CHANGE,),
    same_count=3,
    newly_held=(),
    held_no_more=(),
    only_after=(),
    only_before=(),
    rewritten=(),
    is_explained=True,
)


def test_wire_data_is_no_markup_on_the_page() -> None:
    page = comparisons_html([COMPARISON])
    assert "<script" not in page
    assert "<img" not in page
    assert "&lt;img src=x&gt;" in page
    assert "default-src 'none'" in page
    text = comparisons_markdown([COMPARISON])
    assert "<img" not in text.replace("\\<", "")
    assert "@everyone" not in text.replace("\\@", "")


def test_unknown_causes_come_first() -> None:
    named = replace(CHANGE, scenario_id="d/e/f", behaviours=("heartbeat_before_sync_is_rebalance",))
    told = replace(COMPARISON, changes=(named, replace(named, scenario_id="g/h/i"), CHANGE))
    assert list(told.by_cause()) == [UNKNOWN, "heartbeat_before_sync_is_rebalance"]
    assert replace(CHANGE, known_as=("KAFKA-1",)).cause == "KAFKA-1"


def test_other_advertised_versions_are_a_cause_where_each_side_has_its_own_releases() -> None:
    advertised = replace(CHANGE, api="ApiVersions")
    assert advertised.cause == UNKNOWN
    assert replace(advertised, after_outcome="conforms").cause == ADVERTISED

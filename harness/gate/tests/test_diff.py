"""`diff`: what a client sees change, between targets and between runs."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from harness.diff.model import Judgement
from harness.gate.client_impact import client_impact, explained_behaviours
from harness.gate.comparison_model import ADVERTISED, UNKNOWN, ClientChange, Comparison, findings
from harness.gate.comparison_pages import comparisons_html, comparisons_markdown
from harness.gate.tests.small_runs import Driven
from harness.results.answer_impact import Contrast, FieldChange, consequence, deviation
from harness.results.exit_code import ExitCode
from harness.targets.reference.behaviours import behaviour_sheets
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
    (finding,) = (each for each in comparison["findings"] if CHANGED in each["scenarios"])
    assert (finding["cause"], finding["in_the_latter"]) == (BEHAVIOUR, "new")
    assert finding["notice"] == client_impact(BEHAVIOUR)
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
    assert comparison["causes"] == dict.fromkeys(causes, 1)


def test_without_explaining_the_reference_is_not_asked(driven: Driven) -> None:
    run = driven.run_on("run", "reference:2.5", "reference:4.4")
    assert driven.command("diff", "reference:2.5", "reference-4.4", "--run", run, "--no-explain") == 0
    assert f"{CHANGED}: step 21, Heartbeat v4" in driven.command.out
    assert "    error_code: REBALANCE_IN_PROGRESS → NONE\n" in driven.command.out
    assert "what changed from" not in driven.command.err


def test_two_runs_of_the_same_do_not_differ(driven: Driven) -> None:
    one, other = driven.run_on("one", "reference:3.9"), driven.run_on("other", "reference:3.9")
    assert driven.command("diff", one, other) == ExitCode.EXPECTED
    assert "none of 12 scenarios changed" in driven.command.out


def test_two_runs_are_compared_target_by_target(driven: Driven) -> None:
    one, other = driven.run_on("one", "reference:2.5"), driven.run_on("other", "reference:4.4")
    assert driven.command("diff", one, other, "--format", "markdown") == ExitCode.EXPECTED
    assert driven.command.out.startswith("# reference:2.5 (run one) → reference:4.4 (run other)\n")
    assert f"Example: [{CHANGED}](#c0-classic.heartbeat.before-assignments), step 21" in driven.command.out
    assert '<a id="c0-classic.heartbeat.before-assignments"></a>' in driven.command.out
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
    assert "11 scenarios are in the former's run alone" in driven.command.out
    new = driven.run_on("new", "reference:3.9", "reference:4.4", suite="admin/describe/stable/v6")
    assert driven.command("diff", "reference:3.9", "reference:4.4", "--run", new) == ExitCode.EXPECTED
    why = "reference:3.9 serves DescribeGroups v0 to v5, not v6 (admin/describe/stable/v6)"
    assert f"1 scenario was run only on the latter: {why}" in driven.command.out


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
    events = list(read_events(path).events)
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
    newly_run=(),
    run_no_more=(),
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


def test_each_side_of_several_is_compared_with_the_one_before_it(driven: Driven) -> None:
    run = driven.run_on("run", "reference:2.5", "reference:2.6.1", "reference:4.4", suite=CHANGED)
    reported = driven.compared(
        "reference:2.5", "reference:2.6.1", "reference:4.4", "--run", run, "--no-explain"
    )
    assert [(each["before"], each["after"], len(each["changes"])) for each in reported] == [
        ("reference:2.5 (run run)", "reference:2.6.1 (run run)", 1),
        ("reference:2.6.1 (run run)", "reference:4.4 (run run)", 0),
    ]


def test_a_page_within_the_folder_of_a_run_leads_to_the_scenarios(driven: Driven) -> None:
    run = driven.run_on("run", "reference:2.5", "reference:4.4", suite=CHANGED)
    (run / "scenarios").mkdir()
    sides = ("reference:2.5", "reference:4.4", "--run", run)
    asked = ("diff", *sides, "--no-explain", "--format", "html", "--out")
    link = 'href="../scenarios/classic.heartbeat.before-assignments.html"'
    for page, is_linked in ((run / "pages" / "diff.html", True), (run.parent / "diff.html", False)):
        page.parent.mkdir(exist_ok=True)
        assert driven.command(*asked, page) == ExitCode.EXPECTED
        assert (link in page.read_text(encoding="utf-8")) is is_linked


def test_unknown_causes_come_first() -> None:
    named = replace(CHANGE, scenario_id="d/e/f", behaviours=("heartbeat_before_sync_is_rebalance",))
    reported = replace(COMPARISON, changes=(named, replace(named, scenario_id="g/h/i"), CHANGE))
    assert list(reported.by_cause()) == [UNKNOWN, "heartbeat_before_sync_is_rebalance"]
    assert replace(CHANGE, known_as=("KAFKA-1",)).cause == "KAFKA-1"


def test_that_the_coordinator_is_another_one_is_a_cause_where_nothing_says_more() -> None:
    assert replace(CHANGE, behaviours=("coordinator",)).cause == "coordinator"
    assert replace(CHANGE, behaviours=("coordinator", BEHAVIOUR)).cause == BEHAVIOUR


def test_other_advertised_versions_are_a_cause_where_each_side_has_its_own_releases() -> None:
    advertised = replace(CHANGE, api="ApiVersions")
    assert advertised.cause == UNKNOWN
    assert replace(advertised, after_outcome="conforms").cause == ADVERTISED


def contrast(api: str, before: str, after: str, *, path: str = "error_code") -> Contrast:
    field = FieldChange(path=path, before=json.dumps(before), after=json.dumps(after))
    return Contrast(api=api, before_kind="response", after_kind="response", fields=(field,))


@pytest.mark.parametrize(
    ("changed", "name", "says"),
    [
        (
            contrast("SyncGroup", "REBALANCE_IN_PROGRESS", "COORDINATOR_LOAD_IN_PROGRESS"),
            "SyncGroup: COORDINATOR_LOAD_IN_PROGRESS instead of REBALANCE_IN_PROGRESS",
            "a client joins again; on COORDINATOR_LOAD_IN_PROGRESS it fails: poll throws",
        ),
        (
            contrast("OffsetCommit", "ILLEGAL_GENERATION", "NONE", path="topics[0].partitions[1].error_code"),
            "OffsetCommit: NONE instead of ILLEGAL_GENERATION",
            "The commit of a former generation is taken",
        ),
        (
            contrast("Heartbeat", "INVALID_GROUP_ID", "GROUP_ID_NOT_FOUND"),
            "Heartbeat: GROUP_ID_NOT_FOUND instead of INVALID_GROUP_ID",
            "only who looks at the code notices",
        ),
        (
            contrast("OffsetFetch", "1", "2", path="groups[0].topics[1].partitions[0].committed_offset"),
            "OffsetFetch: committed_offset",
            "A consumer begins at another offset",
        ),
        (
            Contrast(api="JoinGroup", before_kind="response", after_kind="closed", fields=()),
            "JoinGroup: the connection closes",
            "A consumer never gets into the group",
        ),
        (
            Contrast(api="OffsetCommit", before_kind="response", after_kind="no answer", fields=()),
            "OffsetCommit: no answer",
            "A commit that is waited for blocks",
        ),
        (
            Contrast(api="JoinGroup", before_kind="silence", after_kind="response", fields=()),
            "JoinGroup: an answer where none was due",
            "A rebalance completes without those that were to be awaited",
        ),
        (
            Contrast(api="Fetch", before_kind="response", after_kind="malformed", fields=()),
            "Fetch: an answer that cannot be read",
            "The client cannot read the answer",
        ),
        (contrast("Fetch", "a", "b", path="session"), "Fetch: session", "Programs that read session see"),
    ],
)
def test_what_a_client_suffers_is_reported_by_the_api_and_what_changed_in_its_answer(
    changed: Contrast, name: str, says: str
) -> None:
    assert deviation(changed) == name
    assert says in consequence(changed)


def test_changes_of_one_cause_are_kept_apart_by_what_a_client_notices() -> None:
    other = replace(CHANGE, scenario_id="d/e/f", api="OffsetCommit")
    reported = findings((other, CHANGE, replace(CHANGE, scenario_id="g/h/i")))
    assert [[change.scenario_id for change in finding.changes] for finding in reported] == [
        ["a/b/c", "g/h/i"],
        ["d/e/f"],
    ]


def test_what_hears_of_behaviours_hears_of_behaviours_that_there_are() -> None:
    assert explained_behaviours() <= {sheet.name for sheet in behaviour_sheets()}

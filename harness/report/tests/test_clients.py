"""Client scripts in the report: pages of their own, and counted in everything else that is made of a run."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from harness.clients.report import write_conversations_beside, write_report
from harness.invariants import AtFault
from harness.report.model.cause_groups import cause_groups
from harness.report.model.clients import client_repetition
from harness.report.model.matrix import code, laid_out
from harness.report.model.phrases import address, first_difference_anchor, target_anchor
from harness.report.model.run_data import Run
from harness.report.site.run_site import site_of
from harness.results.client_results import (
    CONVERSATION_FILE,
    ClientsFiles,
    clients_folder,
    first_remark,
    load_clients,
)
from harness.results.status import NEEDS_ATTENTION, ExitCode, status_of
from harness.results.stored_data import ReportError, is_clients_folder
from harness.tests.made_up_clients import (
    EAGER,
    KAFKA,
    KAFKA_NAME,
    LIBRDKAFKA,
    PYTHON,
    STATIC,
    STEPS,
    MadeUpClients,
    finding,
    judgement,
    mismatch,
    red,
    violation,
)
from harness.tests.report_hostile import HOSTILE
from harness.tests.report_reading import allure_results, junit_of, summary_of
from harness.tests.report_run import small_run
from harness.tests.site_reading import Page, talks_of, view_of, views_of
from harness.trace.embedded import phrase
from harness.trace.files import write_whole
from harness.trace.schema import TraceError
from harness.verdict import Confirmation, Outcome

STATIC_TALKS = "talks-clients.static"
WITH_PYTHON = f"{KAFKA_NAME}, {PYTHON}"
ANCHOR = target_anchor(WITH_PYTHON)


def write_conversation(folder: Path, text: str) -> None:
    """Write what the clients of the red script said."""
    path = ClientsFiles(folder).conversation_dir(KAFKA_NAME, STATIC, PYTHON) / CONVERSATION_FILE
    path.parent.mkdir(parents=True)
    path.write_text(text)


@pytest.fixture(name="both")
def _both(tmp_path: Path) -> Path:
    """Give the folder of a run of wire suites with client scripts beside it."""
    run_dir = small_run().write(tmp_path / "run")
    red().write(run_dir / "clients")
    return run_dir


def test_every_cell_leads_to_its_section_and_ids_are_unique(tmp_path: Path) -> None:
    site_of(Run.load(red().write(tmp_path / "run")))
    views = {place: Page(html) for place, html in views_of(tmp_path / "run").items()}

    assert address(STATIC, ANCHOR) in views["#clients"].hrefs
    for page in views.values():
        for place, _, anchor in (href.partition(":") for href in page.hrefs if href.startswith("#")):
            assert anchor in ("", *views[place].ids)
        assert sorted(page.ids) == sorted(set(page.ids))


def test_a_scripts_page_tells_steps_mismatches_differences_violations_and_how_to_repeat(
    tmp_path: Path,
) -> None:
    folder = red().write(tmp_path / "run")
    site_of(Run.load(folder))
    page = Page(view_of(folder, STATIC))

    assert first_difference_anchor(WITH_PYTHON) in page.ids
    for reported in (
        "First mismatch against the script ana was told revoked 2 instead of nothing",
        "against the reference callbacks: ana: revoked, on the reference nothing",
        "one owner coordinator group 17 orders-0 belongs to ana and bob",
        "owns ana: orders-0 the same",
        f"kafka-conformance clients --target {KAFKA} --client {PYTHON} {STATIC}",
        "not run: librdkafka lacks it",
    ):
        assert reported in page.words


def test_what_the_reference_answers_otherwise_in_a_replay_is_reported(
    tmp_path: Path,
) -> None:
    made = MadeUpClients()
    made.judgements[1] = judgement(EAGER, LIBRDKAFKA, replays=(finding(EAGER, LIBRDKAFKA),))
    folder = made.write(tmp_path / "run")
    site_of(Run.load(folder))
    text = Page(view_of(folder, EAGER)).words

    where = "event 41, SyncGroup v5, ana, group main, error_code"
    assert f"{where} NONE REBALANCE_IN_PROGRESS the broker is still rebalancing" in text
    assert "replay" not in Page(view_of(folder, STATIC)).words


def test_whatever_was_sent_is_text_on_the_pages(tmp_path: Path) -> None:
    made = red()
    made.judgements[2] = judgement(
        STATIC,
        PYTHON,
        Outcome.DIVERGES,
        because=f"cut short: {HOSTILE}",
        mismatches=(mismatch(HOSTILE),),
        violations=(violation(HOSTILE, STATIC, PYTHON, group_id=HOSTILE),),
        replays=(finding(STATIC, PYTHON, group=HOSTILE, says=HOSTILE),),
    )
    made.seen = {HOSTILE: [HOSTILE]}
    folder = made.write(tmp_path / "run")
    said = {"client": HOSTILE, "event": HOSTILE, "at_ms": 1200.5, "says": HOSTILE}
    write_conversation(folder, json.dumps(said) + "\n")
    write_report(Run.load(folder))

    assert HOSTILE in Page(view_of(folder, STATIC)).words
    for view in ("clients", STATIC):
        assert not {"script", "img"} & set(Page(view_of(folder, view)).tags)
    assert "taken" in json.dumps(talks_of(folder, STATIC_TALKS))
    assert "<script>" not in (folder / "summary.md").read_text()


def test_only_a_newline_ends_a_line_and_one_that_is_torn_is_left_out(tmp_path: Path) -> None:
    broken = "one\u2028two\x85three"
    folder = red().write(tmp_path / "run")
    line = json.dumps({"client": "ana", "event": "error", "at_ms": 1.0, "says": broken}, ensure_ascii=False)
    write_conversation(folder, f'{line}\n{{"client": "ana", "ev')
    write_report(Run.load(folder))

    assert json.dumps(talks_of(folder, STATIC_TALKS)).count("one\\u2028two") == 1


def test_a_damaged_line_of_what_clients_said_is_named(tmp_path: Path) -> None:
    folder = red().write(tmp_path / "run")
    write_conversation(folder, '{"client": "ana"}\n{"event": 1}\n')

    with pytest.raises(TraceError, match=r"talk\.jsonl:2 is damaged"):
        write_report(Run.load(folder))


@pytest.mark.parametrize(
    ("fact", "says"),
    [
        ({"ana": [["revoked", ["orders-0"]], ["assigned", []]]}, "ana: revoked orders-0, assigned nothing"),
        ([["ana", [["orders", 0], ["orders", 1]]]], "ana orders-0, orders-1"),
        ([["orders", 0, 5, "orders-0#5"], ["orders", 1, None]], "orders-0 5 orders-0#5, orders-1 nothing"),
        ({"orders-0": [3, 7]}, "orders-0: 3, 7"),
        (["subscribe", True], "subscribe, True"),
        (None, "nothing"),
    ],
    ids=["callbacks", "members", "records", "offsets", "no partition", "nothing"],
)
def test_a_fact_is_said_in_a_line(fact: object, says: str) -> None:
    assert phrase(fact) == says


def test_a_run_of_both_has_them_in_its_navigation_headline_junit_and_summary(both: Path) -> None:
    index = Page(site_of(Run.load(both)).read_text())
    suites = {each.get("name"): each for each in junit_of(both)}
    summary = summary_of(both)

    assert "#clients" in index.hrefs
    assert address(STATIC, ANCHOR) in Page(view_of(both, "matrix")).hrefs
    assert "#clients" in Page(view_of(both, STATIC)).hrefs
    of_python = suites[f"{KAFKA_NAME}, {PYTHON}"]
    assert (of_python.get("tests"), of_python.get("failures")) == ("2", "1")
    assert suites[f"{KAFKA_NAME}, {LIBRDKAFKA}"].get("skipped") == "1"
    failure = of_python.find(".//failure")
    assert failure is not None
    assert f"repeat: kafka-conformance clients --target {KAFKA}" in str(failure.text)
    assert f"| {WITH_PYTHON} | 1 / 2 |" in summary
    assert "ana was told revoked 2 instead of nothing" in summary


def test_red_clients_make_a_run_red_whose_scenarios_are_as_they_should_be(tmp_path: Path) -> None:
    made = small_run()
    only = next(each for each in made.judgements if each.outcome == Outcome.CONFORMS)
    made.judgements = [replace(only)]
    made.differences = []
    run_dir = made.write(tmp_path / "run")
    site_of(Run.load(run_dir))
    calm = Page(view_of(run_dir, "matrix")).words
    red().write(run_dir / "clients")
    site_of(Run.load(run_dir))
    text = Page(view_of(run_dir, "matrix")).words

    assert "exit code 0 (expected)" in calm
    assert "exit code 1 (unexpected)" in text
    assert "1 unexpected difference" in text


def test_allure_has_a_result_for_each_script_library_and_target(both: Path) -> None:
    by_name = allure_results(both)

    assert by_name[f"{KAFKA_NAME}, {PYTHON}: {STATIC}"]["status"] == "failed"
    assert by_name[f"{KAFKA_NAME}, {LIBRDKAFKA}: {STATIC}"]["status"] == "skipped"
    assert by_name[f"{KAFKA_NAME}, {PYTHON}: {EAGER}"]["status"] == "passed"
    assert len({each["historyId"] for each in by_name.values()}) == len(by_name)
    failed = by_name[f"{KAFKA_NAME}, {PYTHON}: {STATIC}"]
    labels = {each["name"]: each["value"] for each in failed["labels"]}
    assert (labels["parentSuite"], labels["feature"]) == (KAFKA_NAME, f"clients, {PYTHON}")
    assert [each["status"] for each in failed["steps"]] == ["passed", "passed", "failed", "passed"]


def test_a_flaky_result_is_marked_as_one_in_the_matrix(tmp_path: Path) -> None:
    flaky = judgement(EAGER, PYTHON, Outcome.DIVERGES, confirmation=Confirmation.FLAKY)
    run = load_clients(MadeUpClients(judgements=[flaky]).write(tmp_path / "run"))
    ((_, _, (row,)),) = laid_out(run.results, [WITH_PYTHON])

    assert row.codes == row.worst == code("diverges", "flaky")
    assert row.scenario_id == EAGER


def test_a_line_that_repeats_a_script_is_of_that_run(tmp_path: Path) -> None:
    made = MadeUpClients(
        command="kafka-conformance run --clients --suites mine --expect known.toml --profile 3.9"
    )
    made.judgements = [judgement(EAGER, "java-3.9.2")]
    made.libraries = {"java-3.9.2": "3.9.2"}
    run = load_clients(made.write(tmp_path / "run"))

    line = (
        f"kafka-conformance clients --target {KAFKA} --client java:3.9.2 "
        f"--suites mine --expect known.toml --profile 3.9 {EAGER}"
    )
    assert client_repetition(made.command, run.results[0]) == line


@pytest.mark.parametrize(
    ("outcomes", "ended", "code"),
    [
        ((Outcome.CONFORMS, Outcome.NOT_APPLICABLE), "complete", ExitCode.EXPECTED),
        ((Outcome.NOT_APPLICABLE,), "complete", ExitCode.NOTHING_RAN),
        ((), "complete", ExitCode.NOTHING_RAN),
        ((Outcome.CONFORMS, Outcome.DIVERGES, Outcome.INDETERMINATE), "complete", ExitCode.UNEXPECTED),
        ((Outcome.CONFORMS, Outcome.INDETERMINATE), "complete", ExitCode.INDETERMINATE),
        ((Outcome.DIVERGES, Outcome.HARNESS_ERROR), "complete", ExitCode.HARNESS_ERROR),
        ((Outcome.DIVERGES,), "target lost: it ended", ExitCode.UNAVAILABLE),
        ((Outcome.CONFORMS,), "cut short", ExitCode.BAD_DATA),
    ],
)
def test_the_worst_outcome_decides_how_clients_end(
    outcomes: tuple[Outcome, ...], ended: str, code: ExitCode, tmp_path: Path
) -> None:
    made = MadeUpClients(judgements=[judgement(EAGER, PYTHON, each) for each in outcomes], ended=ended)

    assert load_clients(made.write(tmp_path / "run")).exit_code is code


def test_a_target_that_was_lost_is_no_verdict_on_it(tmp_path: Path) -> None:
    lost = judgement(EAGER, LIBRDKAFKA, Outcome.INDETERMINATE, because="target lost: it ended")
    made = MadeUpClients(judgements=[judgement(EAGER, PYTHON, Outcome.DIVERGES), lost])

    assert load_clients(made.write(tmp_path / "run")).exit_code is ExitCode.UNAVAILABLE


def test_what_is_first_amiss_says_against_what_and_nothing_passes_for_the_clients_own_fault(
    tmp_path: Path,
) -> None:
    early = mismatch("callbacks: nothing", step=1)
    by_clients = replace(violation("two", EAGER, LIBRDKAFKA), party=AtFault.CLIENTS)
    made = MadeUpClients(
        judgements=[
            judgement(
                EAGER,
                PYTHON,
                Outcome.DIVERGES,
                mismatches=(mismatch("told nothing"),),
                differences=(early,),
            ),
            judgement(EAGER, LIBRDKAFKA, violations=(by_clients,)),
            judgement(STATIC, PYTHON, Outcome.DIVERGES, violations=(violation("two", STATIC, PYTHON),)),
        ]
    )

    remarks = [first_remark(each) for each in load_clients(made.write(tmp_path / "run")).results]

    assert remarks == [
        ("", ""),
        (f"step 1, {STEPS[1]}", "against the reference: callbacks: nothing"),
        ("on the wire, event 17", "one owner: two"),
    ]


def test_the_worst_is_looked_at_first(tmp_path: Path) -> None:
    outcomes = (Outcome.INDETERMINATE, Outcome.HARNESS_ERROR, Outcome.CONFORMS, Outcome.DIVERGES)
    libraries = {f"library-{number}": "1" for number in range(len(outcomes))}
    made = MadeUpClients(
        judgements=[
            judgement(EAGER, library, each) for library, each in zip(libraries, outcomes, strict=True)
        ],
        libraries=libraries,
    )

    concerning = cause_groups(Run.load(made.write(tmp_path / "run")))

    order = [NEEDS_ATTENTION.index(status_of(each.first)) for each in concerning]
    assert order == sorted(order)
    assert len(order) == 3


def test_a_judgement_of_a_target_without_a_folder_is_refused(tmp_path: Path) -> None:
    folder = red().write(tmp_path / "run")
    shutil.rmtree(ClientsFiles(folder).of_target(KAFKA_NAME))

    with pytest.raises(ReportError, match=r"names kafka:3\.9\.2, of which the run has no folder"):
        load_clients(folder)


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    folder = red().write(tmp_path / "run")
    write_whole(ClientsFiles(folder).judgement_json, '[{"target": 1}]')

    with pytest.raises(TraceError, match=r"judgement\.json\.zst is damaged"):
        load_clients(folder)


def test_kinds_of_folders_are_kept_apart(both: Path, tmp_path: Path) -> None:
    alone = red().write(tmp_path / "alone")

    assert is_clients_folder(alone)
    assert not is_clients_folder(both)
    assert clients_folder(both) == both / "clients"
    assert clients_folder(alone) is None


def test_what_views_load_is_beside_them_also_where_nobody_tapped(both: Path) -> None:
    site_of(Run.load(both))
    write_conversations_beside(both)
    of_static, of_eager = (talks_of(both, name) for name in (STATIC_TALKS, "talks-clients.rebalance"))

    assert f"{KAFKA_NAME} {STATIC} {PYTHON}" in of_static
    assert any(key.startswith("reference-tcp-3.9.2 ") for key in of_static)
    assert not any(key.startswith("reference") for key in of_eager)

"""Client scripts count in the gate: complaints with a line and a page, baselines, and a policy's patterns."""

import json
import tomllib
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from types import MappingProxyType

import pytest

from harness.diff.expectations import Entry, SourcedEntry
from harness.gate.decision import Evidence, decide, entry_to_paste
from harness.gate.evaluate import with_clients
from harness.gate.policy import Handling, Policy
from harness.report.model.gate_data import Decision, Kind
from harness.report.model.phrases import address, target_anchor
from harness.results.client_results import ClientResult, ClientsRun, client_infos, load_clients
from harness.results.status import ExitCode, ResultStatus
from harness.tests.in_process import CommandLine
from harness.tests.made_up_clients import (
    EAGER,
    KAFKA,
    KAFKA_NAME,
    LIBRDKAFKA,
    PYTHON,
    STATIC,
    MadeUpClients,
    judgement,
    red,
)
from harness.tests.small_suite import RIGHT
from harness.verdict import Outcome

pytest_plugins = ["harness.tests.command_line_fixture"]

TODAY = date(2026, 1, 1)
SUBJECT = f"{STATIC} with {PYTHON} on {KAFKA_NAME}"


def decided(
    run: ClientsRun | None,
    before: ClientsRun | None = None,
    entries: Sequence[SourcedEntry] = (),
    policy: Mapping[str, object] = MappingProxyType({}),
) -> Decision:
    rules = Policy.model_validate(dict(policy))
    evidence = Evidence(
        run_id="run",
        targets=(KAFKA_NAME,),
        infos={},
        entries=entries,
        baseline_id=None,
        today=TODAY,
    )
    return decide(with_clients(evidence, run, before, rules), rules)


def weighed(
    run: ClientsRun | None, before: ClientsRun | None = None, **policy: object
) -> list[tuple[Kind, str, Handling]]:
    decision = decided(run, before, policy=policy)
    return [
        (each.kind, each.subject, handling)
        for complaints, handling in (
            (decision.complaints, Handling.FAIL),
            (decision.passed_over, Handling.WARN),
        )
        for each in complaints
        if each.kind is not Kind.NOTHING_RAN
    ]


@pytest.fixture(name="run")
def _run(tmp_path: Path) -> ClientsRun:
    return load_clients(red().write(tmp_path / "red"))


@pytest.fixture(name="calm")
def _calm(tmp_path: Path) -> ClientsRun:
    return load_clients(MadeUpClients().write(tmp_path / "calm"))


def test_what_diverges_is_red_and_says_where_it_is_reported_and_how_to_repeat_it(run: ClientsRun) -> None:
    found = decided(run)
    (complaint,) = found.complaints

    assert (complaint.kind, complaint.subject) == (Kind.UNEXPECTED, SUBJECT)
    assert complaint.reproduction == f"kafka-conformance clients --target {KAFKA} --client {PYTHON} {STATIC}"
    assert complaint.href == address(STATIC, target_anchor(f"{KAFKA_NAME}, {PYTHON}"))
    assert found.standings == {
        f"{KAFKA_NAME}, {PYTHON}": {ResultStatus.PASSED: 1, ResultStatus.FAILED: 1},
        f"{KAFKA_NAME}, {LIBRDKAFKA}": {ResultStatus.PASSED: 1, ResultStatus.SKIPPED: 1},
    }


def test_what_the_baseline_has_too_is_let_pass_and_what_is_new_is_not(
    run: ClientsRun, calm: ClientsRun
) -> None:
    assert weighed(run, run) == [(Kind.UNEXPECTED, SUBJECT, Handling.WARN)]
    assert weighed(run, run, baseline={"fail_on": "unexpected"}) == [
        (Kind.UNEXPECTED, SUBJECT, Handling.FAIL)
    ]
    gone = f"{STATIC} with {LIBRDKAFKA} on {KAFKA_NAME}"
    assert weighed(run, calm) == [
        (Kind.NEW_DIFFERENCE, SUBJECT, Handling.FAIL),
        (Kind.VANISHED, gone, Handling.FAIL),
    ]


def test_a_policy_chooses_scripts_and_targets_as_it_does_scenarios(run: ClientsRun) -> None:
    assert weighed(run, counts={"except": ["clients/static/**"]}) == []
    assert weighed(run, counts={"targets": ["kafka:>=4"]}) == []
    assert len(weighed(run, counts={"scenarios": ["clients/**"]})) == 1


def test_a_run_without_clients_whose_baseline_has_some_has_lost_them(calm: ClientsRun) -> None:
    assert weighed(None) == []
    assert weighed(None, calm) == [(Kind.VANISHED, "client scripts", Handling.FAIL)]


def test_clients_that_did_not_come_to_their_end_are_never_green(tmp_path: Path) -> None:
    lost = load_clients(MadeUpClients(ended="target lost: it ended").write(tmp_path / "lost"))
    cut = load_clients(MadeUpClients(ended="cut short").write(tmp_path / "cut"))

    assert [kind for kind, _, _ in weighed(lost)] == [Kind.TARGET_LOST]
    assert [kind for kind, _, _ in weighed(cut)] == [Kind.CUT_SHORT]


@pytest.mark.parametrize(
    ("outcome", "kind"),
    [(Outcome.INDETERMINATE, Kind.INDETERMINATE), (Outcome.HARNESS_ERROR, Kind.HARNESS_ERROR)],
)
def test_each_status_has_its_kind_of_complaint(outcome: Outcome, kind: Kind, tmp_path: Path) -> None:
    one: list[ClientResult] = [judgement(EAGER, PYTHON, outcome, because="cut short: it hung")]
    run = load_clients(MadeUpClients(judgements=one).write(tmp_path / "one"))

    assert [found for found, _, _ in weighed(run)] == [kind]


ENTRY = Entry(
    scenario="clients/static/**",
    targets=["kafka:3.9.*"],
    libraries=[PYTHON],
    reason="It is a race.",
    link="KAFKA-1",
)


def foreseeing(**changes: object) -> tuple[SourcedEntry, ...]:
    return (SourcedEntry(entry=ENTRY.model_copy(update=changes), path=Path("known.toml"), index=0),)


def test_what_an_entry_foresees_of_a_script_is_known_and_not_red(run: ClientsRun) -> None:
    found = decided(run, entries=foreseeing())

    assert found.is_green
    assert found.standings[f"{KAFKA_NAME}, {PYTHON}"] == {ResultStatus.PASSED: 1, ResultStatus.KNOWN: 1}


@pytest.mark.parametrize(
    ("changes", "kinds"),
    [
        ({"libraries": [LIBRDKAFKA]}, [Kind.UNEXPECTED]),
        ({"libraries": ["kafka-*"]}, []),
        ({"targets": ["kafka:>=4"]}, [Kind.UNEXPECTED]),
        ({"signature": "0" * 12}, [Kind.UNEXPECTED, Kind.STALE]),
        ({"expires": date(2020, 1, 1)}, [Kind.EXPIRED]),
    ],
    ids=["another library", "libraries by pattern", "another target", "another finding", "expired"],
)
def test_an_entry_excuses_what_it_says_and_nothing_else(
    run: ClientsRun, changes: dict[str, object], kinds: list[Kind]
) -> None:
    assert [each.kind for each in decided(run, entries=foreseeing(**changes)).complaints] == kinds


def test_an_entry_whose_difference_no_client_shows_is_stale(calm: ClientsRun) -> None:
    (complaint,) = decided(calm, entries=foreseeing()).complaints

    assert (complaint.kind, complaint.subject) == (Kind.STALE, SUBJECT)


def test_an_entry_to_paste_names_the_library(run: ClientsRun) -> None:
    (found,) = decided(run).complaints
    assert found.judgement is not None
    pasted = entry_to_paste(found.judgement, client_infos(run)[found.judgement.target])
    (table,) = tomllib.loads(pasted)["expect"]

    assert (table["scenario"], table["libraries"], table["targets"]) == (STATIC, [PYTHON], [KAFKA])
    whole = Entry.model_validate({**table, "reason": "It is a race.", "link": "KAFKA-1"})
    assert decided(run, entries=(SourcedEntry(entry=whole, path=Path("known.toml"), index=0),)).is_green


@pytest.mark.usefixtures("suites")
def test_the_gate_on_a_run_of_both_is_red_for_its_clients_alone(
    kafka_conformance: CommandLine, tmp_path: Path
) -> None:
    ran = ("run", "--suites", "small_suites", "--no-report", "--out", tmp_path, "--run-id", "both", RIGHT)
    assert kafka_conformance(*ran) == ExitCode.EXPECTED
    red().write(tmp_path / "both" / "clients")

    code = kafka_conformance("gate", tmp_path / "both", "--suites", "small_suites")

    assert code == ExitCode.UNEXPECTED
    assert "1 unexpected difference in 5 results" in kafka_conformance.out
    assert f"next: kafka-conformance clients --target {KAFKA}" in kafka_conformance.out
    data = json.loads((tmp_path / "both" / "gate.json").read_text())
    assert data["standings"][f"{KAFKA_NAME}, {PYTHON}"] == {"passed": 1, "unexpected difference": 1}
    assert SUBJECT in (tmp_path / "both" / "gate-junit.xml").read_text()
    assert SUBJECT in (tmp_path / "both" / "gate.md").read_text()
    assert data["complaints"][0]["target"] == f"{KAFKA_NAME}, {PYTHON}"

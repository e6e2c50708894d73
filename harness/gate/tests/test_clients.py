"""Client scripts count in the gate: complaints with a line and a page, baselines, and a policy's patterns."""

import json
from pathlib import Path

import pytest

from harness.clients.judge import ClientJudgement
from harness.gate.clients import weigh_clients
from harness.gate.complaint import Kind
from harness.gate.policy import Handling, Policy
from harness.results.client_results import ClientsRun, load_clients
from harness.results.exit_code import ExitCode
from harness.results.status import ResultStatus
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

SUBJECT = f"{STATIC} with {PYTHON} on {KAFKA_NAME}"


def weighed(
    run: ClientsRun | None, before: ClientsRun | None = None, **policy: object
) -> list[tuple[Kind, str, Handling]]:
    found = weigh_clients(run, before, Policy.model_validate(policy))
    return [(complaint.kind, complaint.subject, handling) for complaint, handling in found.complaints]


@pytest.fixture(name="run")
def _run(tmp_path: Path) -> ClientsRun:
    return load_clients(red().write(tmp_path / "red"))


@pytest.fixture(name="calm")
def _calm(tmp_path: Path) -> ClientsRun:
    return load_clients(MadeUpClients().write(tmp_path / "calm"))


def test_what_diverges_is_red_and_says_where_it_is_reported_and_how_to_repeat_it(run: ClientsRun) -> None:
    found = weigh_clients(run, None, Policy())
    ((complaint, handling),) = found.complaints

    assert (complaint.kind, complaint.subject, handling) == (Kind.UNEXPECTED, SUBJECT, Handling.FAIL)
    assert complaint.line == f"kafka-conformance clients --target {KAFKA} --client {PYTHON} {STATIC}"
    assert complaint.page.endswith(f"crashes-and-returns.html#target-{KAFKA_NAME}_{PYTHON}")
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
        (Kind.UNEXPECTED, SUBJECT, Handling.FAIL),
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
    one: list[ClientJudgement] = [judgement(EAGER, PYTHON, outcome, because="cut short: it hung")]
    run = load_clients(MadeUpClients(judgements=one).write(tmp_path / "one"))

    assert [found for found, _, _ in weighed(run)] == [kind]


@pytest.mark.usefixtures("suites")
def test_the_gate_on_a_run_of_both_is_red_for_its_clients_alone(
    kafka_conformance: CommandLine, tmp_path: Path
) -> None:
    ran = ("run", "--suites", "small_suites", "--no-report", "--out", tmp_path, "--run-id", "both", RIGHT)
    assert kafka_conformance(*ran) == ExitCode.EXPECTED
    red().write(tmp_path / "both" / "clients")

    code = kafka_conformance("gate", tmp_path / "both", "--suites", "small_suites")

    assert code == ExitCode.UNEXPECTED
    assert "1 unexpected difference in 1 result and 4 of clients" in kafka_conformance.out
    assert f"next: kafka-conformance clients --target {KAFKA}" in kafka_conformance.out
    data = json.loads((tmp_path / "both" / "gate.json").read_text())
    assert data["standings"][f"{KAFKA_NAME}, {PYTHON}"] == {"passed": 1, "unexpected difference": 1}
    assert SUBJECT in (tmp_path / "both" / "gate-junit.xml").read_text()
    assert SUBJECT in (tmp_path / "both" / "gate.md").read_text()
    assert "scripts/clients.static.crashes-and-returns.html" in (tmp_path / "both" / "gate.json").read_text()

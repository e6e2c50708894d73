"""The gate on a run of client scripts alone decides as on any run."""

import json
from pathlib import Path

import pytest

from harness.gate.tests.small_runs import Ran
from harness.results.client_results import SOAK, ClientsFiles
from harness.results.status import ExitCode
from harness.tests.damaged import rewrite
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
    mismatch,
    red,
    violation,
)
from harness.tests.site_reading import view_of
from harness.verdict import Outcome

pytest_plugins = ["harness.tests.command_line_fixture"]

PLACES = [(script_id, library) for script_id in (EAGER, STATIC) for library in (PYTHON, LIBRDKAFKA)]
ONLY_EAGER = '[counts]\nexcept = ["clients/static/**"]\n'


def with_one(outcome: Outcome, **changes: object) -> MadeUpClients:
    """Make the first of four results up."""
    made = MadeUpClients()
    made.judgements[0] = judgement(EAGER, PYTHON, outcome, **changes)
    return made


def not_applicable() -> MadeUpClients:
    """Nothing could be run."""
    because = "not run: it lacks that"
    return MadeUpClients(
        judgements=[judgement(*place, Outcome.NOT_APPLICABLE, because=because) for place in PLACES]
    )


@pytest.fixture(name="ran")
def _ran(kafka_conformance: CommandLine, suites: Path, tmp_path: Path) -> Ran:
    return Ran(kafka_conformance, suites, tmp_path)


BROKE_OFF = with_one(Outcome.INDETERMINATE, because="cut short: it hung")
LOST = with_one(Outcome.INDETERMINATE, because="target lost: it ended with 137")
NEVER_THERE = MadeUpClients(judgements=[], ended="target lost: it never came up")
A_RESULT_LESS = MadeUpClients(judgements=MadeUpClients().judgements[:3])
RED_LINE = f"why:  unexpected difference: {STATIC} with {PYTHON} on {KAFKA_NAME}: step 2"


@pytest.mark.parametrize(
    ("clients", "code", "says"),
    [
        (MadeUpClients(), ExitCode.EXPECTED, f"gate: green: 4 results of {KAFKA_NAME}"),
        (red(), ExitCode.UNEXPECTED, RED_LINE),
        (
            with_one(Outcome.HARNESS_ERROR, because="failed: KeyError"),
            ExitCode.HARNESS_ERROR,
            "1 harness error in 4 results",
        ),
        (BROKE_OFF, ExitCode.INDETERMINATE, "cut short: it hung"),
        (
            not_applicable(),
            ExitCode.NOTHING_RAN,
            "no client script that counts was run on any target",
        ),
        (LOST, ExitCode.UNAVAILABLE, f"why:  target lost: {KAFKA_NAME}: it ended with 137"),
        (NEVER_THERE, ExitCode.UNAVAILABLE, "it never came up"),
        (MadeUpClients(ended="cut short"), ExitCode.BAD_DATA, "its footer says 'cut short'"),
        (A_RESULT_LESS, ExitCode.BAD_DATA, f"1 of the 4 results of {KAFKA_NAME} are not there"),
    ],
    ids=[
        "conforming",
        "a difference",
        "our own fault",
        "broken off",
        "nothing could be run",
        "a target lost under its scripts",
        "a target that could not be had",
        "truncated",
        "a result that is gone",
    ],
)
def test_it_ends_with_the_documented_code_and_says_why(
    ran: Ran, tmp_path: Path, clients: MadeUpClients, code: ExitCode, says: str
) -> None:
    folder = clients.write(tmp_path / "run")

    assert ran.gate(folder) == code
    assert says in ran.out
    data = json.loads((folder / "gate.json").read_text())
    assert (data["exit_code"], data["is_green"]) == (code, code == ExitCode.EXPECTED)
    assert all(
        (folder / name).is_file() for name in ("gate.md", "index.html", "data/gate.js", "gate-junit.xml")
    )


def test_clients_that_were_stopped_before_they_were_judged_are_cut_short(ran: Ran, tmp_path: Path) -> None:
    folder = MadeUpClients().write(tmp_path / "run")
    files = ClientsFiles(folder)
    files.judgement_json.unlink()
    files.footer_json.unlink()

    assert ran.gate(folder) == ExitCode.BAD_DATA
    assert "the gate decides only on complete runs" in ran.out


@pytest.mark.parametrize(
    ("policy", "code"),
    [
        (ONLY_EAGER, ExitCode.EXPECTED),
        ('[counts]\nscenarios = ["small/**"]', ExitCode.NOTHING_RAN),
        ('[counts]\ntargets = ["kafka:>=4"]', ExitCode.CONFIGURATION),
        ("[require]\nscenario_count_min = 3", ExitCode.UNEXPECTED),
        (f"{ONLY_EAGER}[require]\nscenario_count_min = 2", ExitCode.NOTHING_RAN),
        (f'{ONLY_EAGER}[require]\ntargets = ["external:*"]', ExitCode.NOTHING_RAN),
    ],
    ids=["excepted", "nothing selected", "no target", "two complaints", "too few", "target missing"],
)
def test_a_policy_has_its_say_as_with_scenarios(
    ran: Ran, tmp_path: Path, policy: str, code: ExitCode
) -> None:
    folder = red().write(tmp_path / "run")
    assert ran.gate(folder, "--config", ran.policy(policy)) == code


@pytest.mark.parametrize(("share", "code"), [(0.25, ExitCode.EXPECTED), (0.24, ExitCode.INDETERMINATE)])
def test_a_share_of_what_was_carried_out_may_break_off(
    ran: Ran, tmp_path: Path, share: float, code: ExitCode
) -> None:
    folder = BROKE_OFF.write(tmp_path / "run")
    assert ran.gate(folder, "--config", ran.policy(f"[allow]\nindeterminate_share = {share}")) == code


def test_a_baseline_lets_pass_what_it_has_too_and_what_is_new_is_red(ran: Ran, tmp_path: Path) -> None:
    before, same = (red().write(tmp_path / name) for name in ("before", "same"))
    other = red()
    other.judgements[2] = judgement(STATIC, PYTHON, Outcome.DIVERGES, mismatches=(mismatch("lost"),))

    assert ran.gate(same, "--baseline", before) == ExitCode.EXPECTED
    assert "1 passed over" in ran.out
    assert ran.gate(other.write(tmp_path / "other"), "--baseline", before) == ExitCode.UNEXPECTED


def test_the_number_of_the_event_that_shows_a_broken_invariant_makes_it_no_other(
    ran: Ran, tmp_path: Path
) -> None:
    broken = violation("orders-0 belongs to ana and bob", EAGER, PYTHON)
    before = with_one(Outcome.DIVERGES, violations=(broken,)).write(tmp_path / "before")
    now = with_one(Outcome.DIVERGES, violations=(broken,)).write(tmp_path / "now")
    rewrite(ClientsFiles(now).judgement_json, lambda old: old.replace(b'"sequence": 17', b'"sequence": 99'))

    assert ran.gate(now, "--baseline", before) == ExitCode.EXPECTED


def test_a_script_that_the_baseline_had_is_missed(ran: Ran, tmp_path: Path) -> None:
    before = MadeUpClients().write(tmp_path / "before")
    now = MadeUpClients()
    now.judgements[3] = judgement(STATIC, LIBRDKAFKA, Outcome.NOT_APPLICABLE, because="not run: it lacks it")

    assert ran.gate(now.write(tmp_path / "now"), "--baseline", before) == ExitCode.NOTHING_RAN
    assert f"vanished scenario: {STATIC} with {LIBRDKAFKA} on {KAFKA_NAME}" in ran.out


def test_what_cannot_be_a_baseline_is_refused(ran: Ran, tmp_path: Path) -> None:
    now = MadeUpClients().write(tmp_path / "now")
    cut = MadeUpClients(ended="cut short").write(tmp_path / "cut")

    assert ran.gate(now, "--baseline", tmp_path / "nowhere") == ExitCode.NO_INPUT
    assert ran.gate(now, "--baseline", cut) == ExitCode.BAD_DATA
    paired = ("--baseline", now, "--pair", "kafka-4.4.0=kafka-3.9.2")
    assert ran.gate(now, *paired) == ExitCode.CONFIGURATION


@pytest.mark.slow
def test_its_page_leads_to_the_script_and_has_the_line_that_repeats_it(ran: Ran, tmp_path: Path) -> None:
    folder = red().write(tmp_path / "run")
    assert ran.command("report", folder) == ExitCode.UNEXPECTED
    ran.gate(folder)

    page = view_of(folder, "gate")
    assert 'href="#clients/static/crashes-and-returns:' in page
    assert f"kafka-conformance clients --target {KAFKA} --client {PYTHON} {STATIC}" in page
    assert f"4 results of {KAFKA_NAME}" in page


def test_a_soak_is_decided_like_a_script_and_its_line_repeats_its_load(ran: Ran, tmp_path: Path) -> None:
    lost = mismatch("1 records were lost, the first is 0#1", step=0)
    made = MadeUpClients(command=f"kafka-conformance clients --target {KAFKA} --soak 300 --soak-rate=50")
    made.judgements.append(judgement(SOAK, PYTHON, Outcome.DIVERGES, mismatches=(lost,)))

    assert ran.gate(made.write(tmp_path / "soak")) == ExitCode.UNEXPECTED
    assert "1 records were lost, the first is 0#1" in ran.out
    line = f"kafka-conformance clients --target {KAFKA} --client {PYTHON} --soak 300 --soak-rate 50"
    assert f"{line}\n" in ran.out

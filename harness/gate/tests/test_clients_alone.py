"""The gate on a run of client scripts alone decides as on any run."""

import json
from pathlib import Path

import pytest

from harness.results.exit_code import ExitCode
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
from harness.verdict import Outcome

pytest_plugins = ["harness.tests.command_line_fixture"]
pytestmark = pytest.mark.usefixtures("suites")

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


@pytest.mark.parametrize(
    ("clients", "code", "says"),
    [
        pytest.param(
            MadeUpClients(),
            ExitCode.EXPECTED,
            f"gate: green: 4 results of clients of {KAFKA_NAME}",
            id="conforming",
        ),
        pytest.param(
            red(),
            ExitCode.UNEXPECTED,
            f"why:  unexpected difference: {STATIC} with {PYTHON} on {KAFKA_NAME}: step 2",
            id="a difference",
        ),
        pytest.param(
            with_one(Outcome.HARNESS_ERROR, because="failed: KeyError"),
            ExitCode.HARNESS_ERROR,
            "1 harness error in 4 results of clients",
            id="our own fault",
        ),
        pytest.param(
            with_one(Outcome.INDETERMINATE, because="cut short: it hung"),
            ExitCode.INDETERMINATE,
            "cut short: it hung",
            id="broken off",
        ),
        pytest.param(
            not_applicable(),
            ExitCode.NOTHING_RAN,
            "no client script that counts was run on any target",
            id="nothing could be run",
        ),
        pytest.param(
            with_one(Outcome.INDETERMINATE, because="target lost: it ended with 137"),
            ExitCode.UNAVAILABLE,
            f"why:  target lost: {KAFKA_NAME}: it ended with 137",
            id="a target lost under its scripts",
        ),
        pytest.param(
            MadeUpClients(judgements=[], ended="target lost: it never came up"),
            ExitCode.UNAVAILABLE,
            "it never came up",
            id="a target that could not be had",
        ),
        pytest.param(MadeUpClients(ended="cut short"), ExitCode.BAD_DATA, "it is cut short", id="truncated"),
        pytest.param(
            MadeUpClients(judgements=MadeUpClients().judgements[:3]),
            ExitCode.BAD_DATA,
            f"1 of the 4 results of {KAFKA_NAME} are not there",
            id="a result that is gone",
        ),
    ],
)
def test_it_ends_with_the_documented_code_and_says_why(
    kafka_conformance: CommandLine, tmp_path: Path, clients: MadeUpClients, code: ExitCode, says: str
) -> None:
    folder = clients.write(tmp_path / "run")

    assert kafka_conformance("gate", folder, "--suites", "small_suites") == code
    assert says in kafka_conformance.out
    data = json.loads((folder / "gate.json").read_text())
    assert (data["exit_code"], data["is_green"]) == (code, code == ExitCode.EXPECTED)
    assert all((folder / name).is_file() for name in ("gate.md", "gate.html", "gate-junit.xml"))


def test_clients_that_were_stopped_before_they_were_judged_are_cut_short(
    kafka_conformance: CommandLine, tmp_path: Path
) -> None:
    folder = MadeUpClients().write(tmp_path / "run")
    for name in ("judgement.json", "footer.json"):
        (folder / name).unlink()

    assert kafka_conformance("gate", folder, "--suites", "small_suites") == ExitCode.BAD_DATA
    assert "the gate decides only on complete runs" in kafka_conformance.out


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
    kafka_conformance: CommandLine, tmp_path: Path, policy: str, code: ExitCode
) -> None:
    folder = red().write(tmp_path / "run")
    (tmp_path / "gate.toml").write_text(policy)

    given = ("gate", folder, "--suites", "small_suites", "--config", tmp_path / "gate.toml")
    assert kafka_conformance(*given) == code


@pytest.mark.parametrize(("share", "code"), [(0.25, ExitCode.EXPECTED), (0.24, ExitCode.INDETERMINATE)])
def test_a_share_of_what_was_carried_out_may_break_off(
    kafka_conformance: CommandLine, tmp_path: Path, share: float, code: ExitCode
) -> None:
    folder = with_one(Outcome.INDETERMINATE, because="cut short: it hung").write(tmp_path / "run")
    (tmp_path / "gate.toml").write_text(f"[allow]\nindeterminate_share = {share}")

    given = ("gate", folder, "--suites", "small_suites", "--config", tmp_path / "gate.toml")
    assert kafka_conformance(*given) == code


def test_a_baseline_lets_pass_what_it_has_too_and_what_is_new_is_red(
    kafka_conformance: CommandLine, tmp_path: Path
) -> None:
    before, same = (red().write(tmp_path / name) for name in ("before", "same"))
    other = red()
    other.judgements[2] = judgement(STATIC, PYTHON, Outcome.DIVERGES, mismatches=(mismatch("lost"),))
    gate = ("gate", "--suites", "small_suites", "--baseline", before)

    assert kafka_conformance(*gate, same) == ExitCode.EXPECTED
    assert "1 passed over" in kafka_conformance.out
    assert kafka_conformance(*gate, other.write(tmp_path / "other")) == ExitCode.UNEXPECTED


def test_the_number_of_the_event_that_shows_a_broken_invariant_makes_it_no_other(
    kafka_conformance: CommandLine, tmp_path: Path
) -> None:
    broken = violation("orders-0 belongs to ana and bob", EAGER, PYTHON)
    before = with_one(Outcome.DIVERGES, violations=(broken,)).write(tmp_path / "before")
    now = with_one(Outcome.DIVERGES, violations=(broken,)).write(tmp_path / "now")
    reported = (now / "judgement.json").read_text()
    (now / "judgement.json").write_text(reported.replace('"sequence": 17', '"sequence": 99'))

    gate = ("gate", now, "--suites", "small_suites", "--baseline", before)
    assert kafka_conformance(*gate) == ExitCode.EXPECTED


def test_a_script_that_the_baseline_had_is_missed(kafka_conformance: CommandLine, tmp_path: Path) -> None:
    before = MadeUpClients().write(tmp_path / "before")
    now = MadeUpClients()
    now.judgements[3] = judgement(STATIC, LIBRDKAFKA, Outcome.NOT_APPLICABLE, because="not run: it lacks it")
    gate = ("gate", now.write(tmp_path / "now"), "--suites", "small_suites", "--baseline", before)

    assert kafka_conformance(*gate) == ExitCode.NOTHING_RAN
    assert f"vanished scenario: {STATIC} with {LIBRDKAFKA} on {KAFKA_NAME}" in kafka_conformance.out


def test_what_cannot_be_a_baseline_is_refused(kafka_conformance: CommandLine, tmp_path: Path) -> None:
    now = MadeUpClients().write(tmp_path / "now")
    cut = MadeUpClients(ended="cut short").write(tmp_path / "cut")
    gate = ("gate", now, "--suites", "small_suites")

    assert kafka_conformance(*gate, "--baseline", tmp_path / "nowhere") == ExitCode.NO_INPUT
    assert kafka_conformance(*gate, "--baseline", cut) == ExitCode.BAD_DATA
    paired = (*gate, "--baseline", now, "--pair", "kafka-4.4.0=kafka-3.9.2")
    assert kafka_conformance(*paired) == ExitCode.CONFIGURATION


@pytest.mark.slow
def test_its_page_leads_to_the_script_and_has_the_line_that_repeats_it(
    kafka_conformance: CommandLine, tmp_path: Path
) -> None:
    folder = red().write(tmp_path / "run")
    assert kafka_conformance("report", folder) == ExitCode.UNEXPECTED
    kafka_conformance("gate", folder, "--suites", "small_suites")

    page = (folder / "gate.html").read_text()
    assert 'href="scripts/clients.static.crashes-and-returns.html#' in page
    assert f"kafka-conformance clients --target {KAFKA} --client {PYTHON} {STATIC}" in page
    assert f"4 results of clients of {KAFKA_NAME}" in page


@pytest.mark.parametrize(
    ("unexpected", "code"), [([], ExitCode.EXPECTED), (["3 records were lost"], ExitCode.UNEXPECTED)]
)
def test_a_soak_is_decided_by_its_account(
    kafka_conformance: CommandLine, tmp_path: Path, unexpected: list[str], code: ExitCode
) -> None:
    folder = MadeUpClients(soak_s=20.0, judgements=[]).write(tmp_path / "soak")
    (folder / "judgement.json").unlink()
    group = {"group": "static", "delivered": 7, "repeated": 0, "lost": [], "committed": True}
    reported = {"upheavals": {}, "errors": {}, "unexpected": unexpected}
    account = {"library": PYTHON, "produced": 7, "duration_s": 20.0, "groups": [{**group, **reported}]}
    (folder / KAFKA_NAME / f"soak-{PYTHON}.json").write_text(json.dumps(account))

    assert kafka_conformance("gate", folder, "--suites", "small_suites") == code

"""The verb `clients`: what it says of a command line, and the code that it ends with."""

from pathlib import Path

import pytest

from harness.cli.clients import with_an_address
from harness.clients.libraries import LIBRARIES, ClientLibrary
from harness.results.client_results import ClientsFiles, load_clients
from harness.results.status import ExitCode
from harness.tests.in_process import CommandLine
from harness.tests.made_up_clients import red
from harness.tests.small_suite import RIGHT

pytest_plugins = ["harness.tests.command_line_fixture"]

_SCRIPT = '''
"""Client scripts."""

from harness.clients.language import RANGE, Play, client_script


@client_script("clients/small/alone", source="RangeAssignor#assign")
def alone(play: Play) -> None:
    """One consumer owns everything."""
    orders = play.topic("orders", partitions=2)
    ana = play.client("ana", assignor=RANGE)

    ana.subscribes(orders)
    play.settles({ana: orders.partitions})
'''


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("clients/nothing",), ExitCode.USAGE, "no client script is called 'clients/nothing'"),
        (("--client", "sarama"), ExitCode.USAGE, "'sarama' is not a client library; choose from"),
        (("--target", "nothing"), ExitCode.USAGE, "is not a target"),
        (("--target", "reference", "--client", "kafka-python"), ExitCode.UNAVAILABLE, "reference-tcp"),
    ],
)
def test_what_cannot_be_is_said_before_any_client_starts(
    arguments: tuple[str, ...], code: ExitCode, says: str, kafka_conformance: CommandLine, tmp_path: Path
) -> None:
    assert kafka_conformance("clients", *arguments, "--out", tmp_path) == code
    assert says in kafka_conformance.err


def test_the_reference_in_process_is_stood_in_for_by_its_server() -> None:
    given = ["reference", "reference:3.9", "kafka:3.9.2", "reference-tcp"]

    assert with_an_address(given) == ["reference-tcp", "reference-tcp:3.9", "kafka:3.9.2"]


@pytest.mark.slow
def test_a_stored_run_of_clients_is_rendered_anew_and_ends_as_it_had(
    kafka_conformance: CommandLine, tmp_path: Path
) -> None:
    folder = red().write(tmp_path / "stored")

    assert kafka_conformance("report", folder) == ExitCode.UNEXPECTED
    assert "clients/static/crashes-and-returns on kafka-3.9.2, kafka-python" in kafka_conformance.out
    for name in ("index.html", "summary.md", "junit.xml", "data/clients.js", "data/scripts-001.js"):
        assert (folder / name).exists()


@pytest.mark.parametrize("verb", ["report", "gate"])
def test_a_run_of_clients_that_came_to_its_end_and_lost_its_judgement_is_refused(
    kafka_conformance: CommandLine, tmp_path: Path, verb: str
) -> None:
    folder = red().write(tmp_path / "stored")
    ClientsFiles(folder).judgement_json.unlink()

    assert kafka_conformance(verb, folder) == ExitCode.BAD_DATA
    assert "judgement.json.zst is missing" in kafka_conformance.err


@pytest.mark.slow
@pytest.mark.usefixtures("suites")
def test_a_run_lets_clients_in_after_its_scenarios_and_tells_of_both(
    suites: Path, kafka_conformance: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (suites / "clients.py").write_text(_SCRIPT)
    monkeypatch.setattr("harness.cli.clients.choose_libraries", only_librdkafka)

    code = kafka_conformance(
        *("run", RIGHT, "--clients", "--suites", "small_suites", "--target", "reference", "--no-report"),
        *("--out", tmp_path / "reports", "--run-id", "both"),
    )

    clients = load_clients(tmp_path / "reports" / "both" / "clients")
    assert {each.spec for each in clients.results} == {"reference-tcp"}
    assert [each.outcome for each in clients.results] == ["conforms"]
    assert (clients.ended, code) == ("complete", ExitCode.EXPECTED)
    assert "reference-tcp, confluent-kafka  1 / 1 conform" in kafka_conformance.out


async def only_librdkafka(*_: object) -> tuple[ClientLibrary, ...]:
    return (LIBRARIES["confluent-kafka"],)

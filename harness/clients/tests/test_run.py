"""Real clients carry small scripts out on the reference's server; what they see is on file and judged."""

import asyncio
import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from harness.clients.collect import collect_client_scripts
from harness.clients.folder import ClientsFolder
from harness.clients.libraries import LIBRARIES, ClientLibrary
from harness.clients.process import ClientGone, ClientProcess, Message
from harness.clients.report import write_report
from harness.clients.run import ClientsPlan, drive
from harness.clients.steps import Verb
from harness.report.model.run_data import Run
from harness.results.client_results import ClientResult, read_outcomes
from harness.targets.reference.tcp import REFERENCE_ROOT, ReferenceTcpTarget
from harness.tests.client_plans import PATIENCE_S, clients_plan
from harness.tests.site_reading import data_of, talks_of, view_of
from harness.tests.slow_timers import PACKAGE, faulty_copy
from harness.verdict import Confirmation, Outcome

pytestmark = pytest.mark.slow


def plan(out: Path, *names: str) -> ClientsPlan:
    scripts = collect_client_scripts("harness.tests.client_suite")
    return clients_plan(out, "reference-tcp", [scripts[f"clients/small/{name}"] for name in names])


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, tuple[ClientResult, ...]]:
    out = tmp_path_factory.mktemp("clients")
    judgements = asyncio.run(drive(plan(out, "eager", "lacking"), lambda *_: None))
    return out / "run", judgements


def test_a_script_that_is_right_conforms_with_every_library(
    run: tuple[Path, tuple[ClientResult, ...]],
) -> None:
    found = {(each.library, each.scenario_id): each for each in run[1]}

    for library in LIBRARIES:
        each = found[library, "clients/small/eager"]
        assert (each.outcome, each.mismatches, each.violations) == (Outcome.CONFORMS, (), ())


def test_what_a_library_lacks_is_not_run_and_says_why(run: tuple[Path, tuple[ClientResult, ...]]) -> None:
    found = {each.library: each for each in run[1] if each.scenario_id == "clients/small/lacking"}

    assert found["kafka-python"].outcome == Outcome.CONFORMS
    assert found["confluent-kafka"].outcome == Outcome.NOT_APPLICABLE
    assert found["confluent-kafka"].because.startswith("not run: librdkafka")


def test_what_clients_said_and_what_went_over_the_wire_is_kept(
    run: tuple[Path, tuple[ClientResult, ...]],
) -> None:
    target = ClientsFolder(run[0]).of_target("reference-tcp")
    conversation = target / "talks" / "clients-small-eager-kafka-python" / "talk.jsonl"
    events = [json.loads(line).get("event") for line in conversation.read_text().splitlines()]

    assert {"assigned", "revoked", "delivered"} <= set(events)
    assert (run[0].parent / "latest").resolve() == run[0].resolve()
    assert (target / "journal.bin").stat().st_size > 0
    assert len(tuple(read_outcomes(ClientsFolder(run[0]), "reference-tcp"))) == 4


def test_the_report_tells_every_script_and_what_was_not_run(
    run: tuple[Path, tuple[ClientResult, ...]], tmp_path: Path
) -> None:
    folder = shutil.copytree(run[0], tmp_path / "run")
    index = write_report(Run.load(folder))

    assert index.is_file()
    assert "clients/small/eager" in view_of(folder, "clients")
    assert "not run: librdkafka" in json.dumps(data_of(folder, "clients-titles"))
    assert "| reference-tcp, confluent-kafka | 1 / 1 |" in (folder / "summary.md").read_text()
    assert "clients/small/eager" in view_of(folder, "clients/small/eager")


def test_what_went_over_the_wire_stands_at_the_step_in_whose_time_it_falls(
    run: tuple[Path, tuple[ClientResult, ...]], tmp_path: Path
) -> None:
    folder = shutil.copytree(run[0], tmp_path / "run")
    write_report(Run.load(folder))
    name = "reference-tcp, confluent-kafka"
    data = talks_of(folder, "talks-clients.small")["reference-tcp clients/small/eager confluent-kafka"]
    said = {step: {row[8] for row in rows if row[8]} for step, rows in data["targets"][name]["after"] if rows}
    kills = next(number for number, text in enumerate(data["texts"]) if text == "bob is killed")

    assert any(api.startswith("JoinGroup") for step in said for api in said[step] if 0 < step < kills)
    assert not any(api.startswith("JoinGroup") for step in said for api in said[step] if step < 1)
    assert {row[2] for row in data["targets"][name]["seen"]["rows"]} == {"ana", "bob", "writer"}
    assert all(0 <= row[0] <= len(data["texts"]) for row in data["targets"][name]["seen"]["rows"])


def test_a_script_that_says_what_cannot_be_diverges(tmp_path: Path) -> None:
    impossible = plan(tmp_path, "impossible")
    judgements = asyncio.run(drive(replace(impossible, taps=False, patience_s=6.0), lambda *_: None))

    assert {(each.outcome, each.confirmation) for each in judgements} == {
        (Outcome.DIVERGES, Confirmation.CONFIRMED)
    }
    again = ClientsFolder(impossible.folder.attempt(2))
    assert [each.name for each in again.of_target("reference-tcp").parent.iterdir()] == ["reference-tcp"]
    assert all("never came to rest" in each.mismatches[0].says for each in judgements)


def test_a_replay_knows_when_a_topic_came_that_no_client_looked_at_before(tmp_path: Path) -> None:
    script = collect_client_scripts()["clients/consumer/subscription/pattern-meets-a-new-topic"]
    only = clients_plan(tmp_path, "reference-tcp", [script], [LIBRARIES["confluent-kafka"]])

    (judged,) = asyncio.run(drive(only, lambda *_: None))

    assert (judged.outcome, judged.replays) == (Outcome.CONFORMS, ())


def test_a_coordinator_that_rebalances_for_a_static_member_is_seen_by_its_clients(tmp_path: Path) -> None:
    faulty_copy(
        REFERENCE_ROOT,
        tmp_path,
        module=Path(PACKAGE, "groups", "classic", "static_members.py"),
        healthy="if group.protocol_name != group.select_protocol():",
        faulty="if group.protocol_name is not None:",
    )
    script = collect_client_scripts("suites.clients")["clients/static/crashes-and-returns"]
    faulty = ReferenceTcpTarget(root=tmp_path)
    rebalancing = clients_plan(tmp_path, faulty, [script], [LIBRARIES["confluent-kafka"]])

    judgements = asyncio.run(drive(replace(rebalancing, taps=False), lambda *_: None))

    assert [(each.outcome, each.confirmation) for each in judgements] == [
        (Outcome.DIVERGES, Confirmation.CONFIRMED)
    ]
    assert "ana was told revoked 2, assigned 2 instead of nothing" in judgements[0].mismatches[0].says


def test_a_client_that_says_nonsense_and_one_that_cannot_be_started_leave_a_reason(tmp_path: Path) -> None:
    prints = "import sys; print('a banner', flush=True); sys.stdin.read()"
    libraries = (
        ClientLibrary(name="chatty", version="0", command=(sys.executable, "-c", prints)),
        ClientLibrary(name="missing", version="0", command=(str(tmp_path / "nowhere"),)),
    )

    small = replace(plan(tmp_path, "impossible"), libraries=libraries, taps=False)
    chatty, missing = asyncio.run(drive(small, lambda *_: None))

    assert (chatty.outcome, missing.outcome) == (Outcome.INDETERMINATE, Outcome.HARNESS_ERROR)
    assert "ended with status -9 after it wrote what is no message" in chatty.because
    assert "FileNotFoundError" in missing.because
    conversations = ClientsFolder(tmp_path / "run").of_target("reference-tcp") / "talks"
    assert "Traceback" in (conversations / "clients-small-impossible-missing" / "harness.log").read_text()
    assert not (conversations / "clients-small-impossible-chatty" / "harness.log").exists()
    footer = ClientsFolder(tmp_path / "run").read_footer()
    assert footer is not None
    assert footer.ended == "complete"


@pytest.mark.parametrize("library", LIBRARIES)
async def test_a_client_that_is_killed_answers_no_more(library: str, tmp_path: Path) -> None:
    kept: list[Message] = []
    client = await ClientProcess.start(
        LIBRARIES[library],
        {"bootstrap_servers": "127.0.0.1:9", "client_id": "ana"},
        name="ana",
        log=tmp_path / "ana.log",
        on_event=lambda *_: None,
        keep=lambda _, message: kept.append(message),
    )
    assert (await client.tell(Verb.STAND_STILL, {}, timeout_s=PATIENCE_S))["facts"] is None
    await client.kill()
    with pytest.raises(ClientGone, match="ended with status -9"):
        await client.tell(Verb.STAND_STILL, {}, timeout_s=PATIENCE_S)
    assert [sorted(message) for message in kept[:2]] == [["arguments", "id", "verb"], ["facts", "id"]]

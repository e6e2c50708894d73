"""The verb `replay` over folders of `clients` and of `tap`, and what it leaves in them."""

import json
from dataclasses import asdict
from pathlib import Path

from harness.captures.tests.made_captures import with_forged
from harness.clients.judge import judge
from harness.clients.steps import ClientScript
from harness.replay.stored import replay_run
from harness.results.client_results import ScriptOutcome
from harness.results.exit_code import ENDED_COMPLETE, ExitCode
from harness.results.replay_results import read_findings
from harness.tap.journal import JOURNAL
from harness.tests.in_process import CommandLine
from harness.tests.replayed import Recording, two_members
from harness.tests.tap_folders import tap_folder, write_journal
from harness.trace.events import Event, EventKind
from harness.trace.target_record import TargetRecord
from harness.verdict import Outcome

pytest_plugins = ["harness.tests.command_line_fixture"]

TARGET = "kafka-3.9.2"
CONVERSATION = "clients/small/kafka-python"


def clients_folder(path: Path, conversation: Recording, events: list[Event] | None = None) -> Path:
    """Return the folder of a run of `clients` with one conversation."""
    write_journal(path / TARGET / JOURNAL, events or conversation.events, conversation=CONVERSATION)
    record = TargetRecord(
        spec="kafka:3.9.2",
        name=TARGET,
        implementation="Kafka",
        profile=conversation.profile,
        broker_config=conversation.config,
    )
    (path / "run.json").write_text("{}")
    (path / TARGET / "target.json").write_text(json.dumps(asdict(record)))
    return path


def with_forged_bytes(conversation: Recording) -> list[Event]:
    """Return the events with other bytes in the last heartbeat's answer."""
    position = conversation.position("Heartbeat", -1)
    return with_forged(conversation.events, position, {"error_code": "UNKNOWN_MEMBER_ID"})


def test_a_run_of_clients_agrees_and_tells_how_much_was_compared(
    tmp_path: Path, kafka_conformance: CommandLine
) -> None:
    conversation = two_members()
    run = clients_folder(tmp_path / "run", conversation)

    assert kafka_conformance("replay", run) == ExitCode.EXPECTED

    (counted,) = json.loads((run / TARGET / "replay.json").read_text())
    answers = sum(each.kind == EventKind.RESPONSE for each in conversation.events)
    assert counted == {
        "conversation": CONVERSATION,
        "compared": answers,
        "not_compared": {},
        "findings": 0,
    }
    assert read_findings(run / TARGET) == ()


def test_forged_bytes_are_found_reported_and_kept(tmp_path: Path, kafka_conformance: CommandLine) -> None:
    conversation = two_members()
    run = clients_folder(tmp_path / "run", conversation, with_forged_bytes(conversation))

    assert kafka_conformance("replay", run) == ExitCode.UNEXPECTED

    assert 'where the reference says "NONE"' in kafka_conformance.out
    (found,) = read_findings(run / TARGET)
    assert (found.conversation, found.api, found.field) == (CONVERSATION, "Heartbeat", "error_code")
    assert found.says.startswith("Heartbeat v3 to ana")


def test_a_finding_lets_a_client_script_diverge_that_saw_nothing_amiss(tmp_path: Path) -> None:
    run = clients_folder(tmp_path / "run", two_members(), with_forged_bytes(two_members()))
    replay_run(run)
    script = ClientScript(id="clients/small", title="t", notes="", source="s", steps=(), uses=())
    seen = ScriptOutcome(script_id=script.id, library="kafka-python", ended=ENDED_COMPLETE, observations=())

    judged = [
        judge(script, seen, target=TARGET, reference=None, compared="", replays=each)
        for each in ((), read_findings(run / TARGET))
    ]

    assert [each.outcome for each in judged] == [Outcome.CONFORMS, Outcome.DIVERGES]


def test_a_run_of_a_tap_is_replayed_from_what_is_known(tmp_path: Path) -> None:
    conversation = two_members()

    (replayed,) = replay_run(tap_folder(tmp_path / "run", conversation))

    assert replayed.findings == ()
    assert replayed.conversations[0].compared > 0


def test_a_run_that_nobody_tapped_is_refused(tmp_path: Path, kafka_conformance: CommandLine) -> None:
    assert kafka_conformance("replay", tmp_path) == ExitCode.NO_INPUT
    assert "is not a run's folder" in kafka_conformance.err

    (tmp_path / "run.json").write_text("{}")
    assert kafka_conformance("replay", tmp_path) == ExitCode.BAD_DATA
    assert "there is no journal.bin" in kafka_conformance.err


def test_a_replay_that_compares_nothing_does_not_end_as_agreement(
    tmp_path: Path, kafka_conformance: CommandLine
) -> None:
    conversation = two_members()
    conversation.events = [each for each in conversation.events if each.api != "JoinGroup"]
    run = tap_folder(tmp_path / "run", conversation)

    assert kafka_conformance("replay", run) == ExitCode.NOTHING_RAN
    assert "not compared" in kafka_conformance.out

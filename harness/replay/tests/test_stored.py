"""The verb `judge` over folders of `clients` and of `tap`, and what it leaves in them."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from harness.captures.tests.made_captures import with_forged
from harness.clients.judge import judge
from harness.clients.steps import ClientScript
from harness.results.client_results import ScriptOutcome
from harness.results.replay_results import read_findings
from harness.results.status import ENDED_COMPLETE, ExitCode
from harness.tap.journal import JOURNAL
from harness.tests.in_process import CommandLine
from harness.tests.made_events import HEADER
from harness.tests.replayed import Recording, says, two_members
from harness.tests.tap_folders import tap_folder, write_journal
from harness.trace.events import Event, EventKind, RunKind
from harness.trace.files import RunFolder
from harness.verdict import Outcome

pytest_plugins = ["harness.tests.command_line_fixture"]

TARGET = "kafka-3.9.2"
CONVERSATION = "clients/small/kafka-python"


def clients_folder(path: Path, conversation: Recording, events: list[Event] | None = None) -> RunFolder:
    """Return the folder of a run of `clients` with one conversation."""
    folder = RunFolder(path)
    write_journal(
        folder.of_target(TARGET) / JOURNAL, events or conversation.events, conversation=CONVERSATION
    )
    config = json.dumps(conversation.config)
    header = replace(
        HEADER, target=TARGET, spec="kafka:3.9.2", profile=conversation.profile, broker_config=config
    )
    folder.write_headers(TARGET, [header])
    folder.run_json.write_text(json.dumps({"kind": RunKind.CLIENTS}))
    return folder


def with_forged_bytes(conversation: Recording) -> list[Event]:
    """Return the events with other bytes in the last heartbeat's answer."""
    position = conversation.position("Heartbeat", -1)
    return with_forged(conversation.events, position, {"error_code": "UNKNOWN_MEMBER_ID"})


def test_a_run_of_clients_agrees_and_tells_how_much_was_compared(
    tmp_path: Path, kafka_conformance: CommandLine
) -> None:
    conversation = two_members()
    run, written = clients_folder(tmp_path / "run", conversation), tmp_path / "judged.json"

    assert kafka_conformance("judge", run.path, "--json", written) == ExitCode.EXPECTED

    (group,) = json.loads(written.read_text())["groups"]
    answers = sum(each.kind == EventKind.RESPONSE for each in conversation.events)
    assert (group["compared"], group["not_compared"]) == (answers, {})


def test_a_judgement_of_a_run_of_clients_goes_by_what_its_broker_was(
    tmp_path: Path, kafka_conformance: CommandLine
) -> None:
    run = clients_folder(tmp_path / "run", two_members())

    assert kafka_conformance("judge", run.path, "--whole") == ExitCode.EXPECTED
    profile = two_members().profile
    assert f"compared with {profile} as the recorded broker was configured" in kafka_conformance.out


@pytest.mark.parametrize("make", [clients_folder, tap_folder])
def test_forged_bytes_are_found_and_a_tap_keeps_what_was_found(
    tmp_path: Path, kafka_conformance: CommandLine, make: Callable[..., RunFolder | Path]
) -> None:
    conversation = two_members()
    conversation.events = with_forged_bytes(conversation)
    made = make(tmp_path / "run", conversation)
    run = RunFolder(made) if isinstance(made, Path) else made

    assert kafka_conformance("judge", run.path, "--whole") == ExitCode.UNEXPECTED

    assert 'where the reference says "NONE"' in kafka_conformance.out
    found = read_findings(run.of_target(TARGET))
    kept = [] if made is run else [("Heartbeat", "error_code")]
    assert [(each.api, each.field) for each in found] == kept


def test_a_finding_lets_a_client_script_diverge_that_saw_nothing_amiss() -> None:
    recording = two_members()
    lie = says(error_code="UNKNOWN_MEMBER_ID")
    (found,) = recording.replayed(recording.with_lie(recording.position("Heartbeat", -1), lie)).findings
    script = ClientScript(id="clients/small", title="t", notes="", source="s", steps=(), uses=())
    seen = ScriptOutcome(script_id=script.id, library="kafka-python", ended=ENDED_COMPLETE, observations=())

    judged = [
        judge(script, seen, header=HEADER, reference=None, compared="", replays=each)
        for each in ((), (replace(found, conversation=CONVERSATION),))
    ]

    assert [each.outcome for each in judged] == [Outcome.CONFORMS, Outcome.DIVERGES]


def test_a_folder_in_which_nothing_was_recorded_is_refused(
    tmp_path: Path, kafka_conformance: CommandLine
) -> None:
    assert kafka_conformance("judge", tmp_path) == ExitCode.NO_INPUT
    assert "there is no journal.bin" in kafka_conformance.err


def test_a_judgement_that_compares_nothing_does_not_end_as_agreement(
    tmp_path: Path, kafka_conformance: CommandLine
) -> None:
    conversation = two_members()
    conversation.events = [each for each in conversation.events if each.api != "JoinGroup"]
    run = tap_folder(tmp_path / "run", conversation)

    assert kafka_conformance("judge", run) == ExitCode.NOTHING_RAN
    assert "not compared" in kafka_conformance.out

"""The site of a tap, made of a stored run: what was said, connection by connection, and nothing judged."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from harness.invariants import AtFault, Invariant, Violation
from harness.invariants.checker import VIOLATIONS
from harness.report.model.conversation import error_codes, heard
from harness.report.site.tap_page import tap_site
from harness.results.status import ExitCode
from harness.tests.in_process import CommandLine
from harness.tests.made_events import BARE, write_events
from harness.tests.report_hostile import HOSTILE
from harness.tests.report_run import FOOTER, HEADER
from harness.tests.site_reading import talks_of, view_of
from harness.tests.spark_records import KAFKA, plain_header
from harness.trace.events import Event, EventKind, RunKind
from harness.trace.files import RunFolder, write_records

pytest_plugins = ["harness.tests.command_line_fixture"]

TARGET = "kafka-3.9.2"


def event(kind: EventKind, api: str | None, fields: object, sequence: int, **changes: object) -> Event:
    made = replace(
        BARE,
        run_id="tapped",
        target=TARGET,
        scenario_id="tap",
        sequence=sequence,
        step=-1,
        kind=kind,
        connection="1 bootstrap",
        api=api,
        api_version=None if api is None else 4,
        correlation_id=sequence // 2,
        at_ms=float(sequence),
        raw="00",
        fields=None if fields is None else json.dumps(fields),
        digest="",
        reencodes=True,
    )
    return replace(made, **changes)  # type: ignore[arg-type] # checked by the constructor's names


EVENTS = (
    event(EventKind.REQUEST, "Fetch", {}, 0),
    event(EventKind.RESPONSE, "Fetch", {"error_code": "NONE"}, 1),
    event(EventKind.REQUEST, "Heartbeat", {"group_id": HOSTILE}, 2),
    event(EventKind.RESPONSE, "Heartbeat", {"error_code": "REBALANCE_IN_PROGRESS"}, 3),
    event(EventKind.REQUEST, "Fetch", {}, 4),
    event(EventKind.RESPONSE, "Fetch", {"topics": [{"error_code": "NOT_LEADER_OR_FOLLOWER"}]}, 5),
    event(EventKind.CLOSED, None, None, 6, note=HOSTILE, correlation_id=None, actor=HOSTILE),
)


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> RunFolder:
    folder = RunFolder.create(tmp_path, "tapped")
    command = f"kafka-conformance tap {HOSTILE}"
    folder.write_run(
        replace(HEADER, run_id="tapped", targets=(TARGET,), command=command, kind=RunKind.TAP.value)
    )
    folder.write_headers(TARGET, [replace(plain_header(KAFKA), run_id="tapped", oracle=None)])
    write_events(folder.events(TARGET), EVENTS)
    folder.events(TARGET).with_name("journal.bin").touch()
    violation = Violation(
        invariant=Invariant.ONE_OWNER, party=AtFault.COORDINATOR, run_id="tapped", target=TARGET,
        scenario_id="tap", group_id=HOSTILE, sequence=3, at_ms=3.0, detail=HOSTILE,
    )  # fmt: skip
    write_records(folder.record / VIOLATIONS, [violation])
    folder.write_footer(replace(FOOTER, run_id="tapped", scenario_count=1, event_counts="{}"))
    return folder


def shown(folder: RunFolder) -> str:
    tap_site(folder)
    return view_of(folder.path, "tap")


def test_what_was_answered_without_an_error_is_left_out_and_counted() -> None:
    reported, left_out = heard(EVENTS)

    assert [each.sequence for each in reported] == [2, 3, 4, 5, 6]
    assert left_out == "Left out, since they were answered without an error: 1 Fetch."


def test_a_stored_tap_is_rendered_with_what_was_said_and_broken(folder: RunFolder) -> None:
    page = shown(folder)

    for reported in (
        "REBALANCE_IN_PROGRESS",
        "NOT_LEADER_OR_FOLLOWER",
        "one owner",
        "1 broken",
        "1 bootstrap",
    ):
        assert reported in page
    (conversation,) = talks_of(folder.path, "talks-001").values()
    assert "REBALANCE_IN_PROGRESS" in json.dumps(conversation)


def test_whatever_was_sent_through_a_tap_is_text_on_its_page(folder: RunFolder) -> None:
    page = shown(folder)

    assert HOSTILE not in page
    assert "<script" not in page
    assert "<img" not in page


@pytest.mark.parametrize("last", [EventKind.RESPONSE, EventKind.MALFORMED])
@pytest.mark.parametrize("is_over", [True, False])
def test_how_a_connection_ended_is_reported_where_it_has_whatever_came_last(
    last: EventKind, folder: RunFolder, *, is_over: bool
) -> None:
    end = event(EventKind.CLOSED, None, None, 7, note="by the broker: closed")
    later = event(last, "Heartbeat", {"error_code": "NONE"}, 8, note="of the frame")
    write_events(folder.events(TARGET), (*EVENTS[:-1], *([end] if is_over else []), later))

    line = shown(folder).partition("<summary>")[2].partition("</summary>")[0]

    assert ("by the broker: closed" in line) == is_over
    assert not any(reported in line for reported in ("malformed", "of the frame"))


def test_what_is_broken_and_refused_stands_with_its_connection_and_not_all_are_laid_out(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.report.site.tap_page.CONNECTION_COUNT_MAX", 2)
    mixed = {"error_code": "NONE", "topics": [{"error_code": "UNKNOWN_TOPIC_ID"}]}
    later = (
        event(EventKind.REQUEST, "OffsetFetch", {}, 6, connection="2 node 1"),
        event(EventKind.RESPONSE, "OffsetFetch", mixed, 7, connection="2 node 1"),
        event(EventKind.REQUEST, "OffsetFetch", {}, 8, connection="3 node 1"),
    )
    write_events(folder.events(TARGET), (*EVENTS[:-1], *later))

    page = shown(folder)
    first, second = (part.partition("</summary>")[0] for part in page.split("<summary>")[1:])

    assert "1 broken" in first
    assert "REBALANCE_IN_PROGRESS 1" in first
    assert "broken" not in second
    assert "answered <code>UNKNOWN_TOPIC_ID 1</code>" in second
    assert "The first 2 of 3 connections" in page
    assert len(talks_of(folder.path, "talks-001")) == 2


def test_an_answer_whose_fields_cannot_be_read_is_not_left_out() -> None:
    broken = replace(EVENTS[1], fields="{")

    assert error_codes(broken) == ("unreadable",)
    assert heard((EVENTS[0], broken))[0] == (EVENTS[0], broken)


@pytest.mark.slow
def test_report_renders_a_tap_and_judges_nothing(folder: RunFolder, kafka_conformance: CommandLine) -> None:
    assert kafka_conformance("report", folder.path) == ExitCode.EXPECTED
    assert "index.html" in kafka_conformance.out

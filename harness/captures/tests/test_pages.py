"""The pages about judged captures: both answers of a finding, what was said around it, who notices what."""

from pathlib import Path

import pytest

from harness.captures.tests.made_captures import OPTIONS, wire_of, with_forged, write_pcap
from harness.results.status import ExitCode
from harness.tests.browser import browser
from harness.tests.in_process import CommandLine
from harness.tests.replayed import two_members
from harness.tests.report_hostile import HOSTILE
from harness.tests.site_reading import documents_of, view_of, views_of

pytest_plugins = ["harness.tests.command_line_fixture"]


@pytest.fixture(name="capture")
def _capture(tmp_path: Path) -> Path:
    """A broker that denies a member, and names a hostile leader."""
    recording = two_members()
    events = recording.events
    events = with_forged(events, recording.position("Heartbeat", -1), {"error_code": "UNKNOWN_MEMBER_ID"})
    position = recording.position("JoinGroup", -1)
    events = with_forged(events, position, {"leader": HOSTILE, "protocol_name": HOSTILE})
    return write_pcap(tmp_path / "lying.pcap", wire_of(events).sent)


@pytest.fixture(name="site")
def _site(capture: Path, tmp_path: Path, kafka_conformance: CommandLine) -> Path:
    """The pages about it."""
    out = tmp_path / "site"
    assert kafka_conformance("judge", capture, *OPTIONS, "--out", out) == ExitCode.UNEXPECTED
    return out


def test_each_finding_has_a_page_with_both_answers_and_what_was_said_around_it(site: Path) -> None:
    index = view_of(site, "judged")
    assert "2 answers are not what Kafka 3.9 answers" in index
    assert "gives up its partitions as lost" in index
    assert "made-up 1.2" in index
    findings = documents_of(site)
    assert len(findings) == 2
    assert all(f'href="#{name}"' in index for name in findings)
    (of_join,) = (each["talk"] for each in findings.values() if 'data-title="JoinGroup: ' in each["html"])
    texts = of_join["texts"]
    assert [text.split()[0] for text in texts.values()].count("SyncGroup") >= 2
    reported = [
        finding for _, rows in of_join["targets"]["broker"]["after"] for row in rows for finding in row[6]
    ]
    assert [each[0].rpartition(", ")[2] for each in reported] == ["protocol_name", "leader"]


def test_a_capture_in_which_nothing_differs_has_pages_too(
    tmp_path: Path, kafka_conformance: CommandLine
) -> None:
    path = write_pcap(tmp_path / "right.pcap", wire_of(two_members().events).sent)

    code = kafka_conformance("judge", path, *OPTIONS, "--out", tmp_path / "site")

    assert code == ExitCode.EXPECTED
    assert "Every answer that was compared is what Kafka 3.9" in view_of(tmp_path / "site", "judged")
    assert not documents_of(tmp_path / "site")


def test_whatever_a_capture_says_is_text_on_its_pages(site: Path) -> None:
    views = views_of(site)
    assert len(views) == 4
    for html in views.values():
        assert HOSTILE not in html
        assert "<img" not in html


@pytest.mark.browser
def test_a_browser_shows_the_conversation_and_runs_nothing_of_the_capture(site: Path, tmp_path: Path) -> None:
    with browser(tmp_path / "profile") as tab:
        tab.open((site / "index.html").as_uri())
        tab.click("#findings-title ~ div tbody a")
        tab.until("document.querySelector('tr.finding.first')")
        titles = [str(tab.read("document.title"))]
        tab.read("document.querySelector('tr.finding.first').className = 'seen'")
        tab.click(".reds a")
        tab.until("document.querySelector('tr.finding.first')")
        titles.append(str(tab.read("document.title")))
        tab.is_as_wide_as(390)
        width = tab.read("document.documentElement.scrollWidth")
        errors = tab.errors

    assert sorted(each.partition(":")[0] for each in titles) == ["Heartbeat", "JoinGroup"]
    assert width == 390
    assert errors == []


def test_a_folder_with_other_files_is_left_alone(
    capture: Path, tmp_path: Path, kafka_conformance: CommandLine
) -> None:
    (tmp_path / "mine" / "findings").mkdir(parents=True)
    (tmp_path / "mine" / "findings" / "thesis.txt").write_text("years of work")

    code = kafka_conformance("judge", capture, *OPTIONS, "--out", tmp_path / "mine")

    assert code == ExitCode.USAGE
    assert (tmp_path / "mine" / "findings" / "thesis.txt").exists()

"""Captures of what the reference answers agree with it, however they are cut; a lie in one is found."""

from operator import attrgetter
from pathlib import Path

import pytest

from harness.captures import JudgedCaptures, Terms, judge_here, sources_of
from harness.captures.tests.made_captures import (
    LINKS,
    PORT,
    Sent,
    pcapng_bytes,
    wire_of,
    with_forged,
    write_pcap,
)
from harness.replay import specification
from harness.tests.replayed import GROUP, Recording, two_members
from harness.tests.replayed_shares import OFFSETS, shared
from harness.tests.replayed_streams import handed_over


@pytest.fixture(scope="module")
def recording() -> Recording:
    return two_members()


def judged(recording: Recording, path: Path, *, whole: bool = True) -> JudgedCaptures:
    spec = specification(recording.profile, recording.config)
    return judge_here(sources_of([path]), Terms(spec=spec, ports=frozenset((PORT,)), is_whole=whole))


def agrees(recording: Recording, found: JudgedCaptures) -> None:
    """Assert that nothing was lost, and no answer differs."""
    (group,) = found.groups
    assert (group.group, group.clients) == (GROUP, ("made-up 1.2",))
    recording.is_whole(group.replayed)
    assert list(found.notes.in_words()) == []


@pytest.mark.parametrize("link", LINKS)
def test_a_capture_of_the_reference_agrees_with_it(recording: Recording, tmp_path: Path, link: str) -> None:
    path = write_pcap(tmp_path / "c.pcap", wire_of(recording.events).sent, link)

    agrees(recording, judged(recording, path))


@pytest.mark.parametrize("profile", ["4.2", "4.4"])
def test_a_streams_group_is_judged_from_when_its_internal_topics_came(profile: str, tmp_path: Path) -> None:
    group = handed_over(profile)

    (found,) = judged(group, write_pcap(tmp_path / "c.pcap", wire_of(group.events).sent)).groups

    group.is_whole(found.replayed)


def test_of_a_share_group_a_capture_has_all_but_its_fetches(tmp_path: Path) -> None:
    group = shared()

    (found,) = judged(group, write_pcap(tmp_path / "c.pcap", wire_of(group.events).sent)).groups

    group.is_whole(found.replayed, {OFFSETS: 2})


@pytest.mark.slow
@pytest.mark.parametrize("cut", [1, 3, 7, 50])
def test_segments_may_be_cut_anywhere_in_both_formats(recording: Recording, tmp_path: Path, cut: int) -> None:
    path = write_pcap(tmp_path / "c.pcap", wire_of(recording.events, cut=cut).sent)

    agrees(recording, judged(recording, path))
    path.write_bytes(pcapng_bytes(wire_of(recording.events, cut=cut).sent))
    agrees(recording, judged(recording, path))


def out_of_order_and_twice(sent: list[Sent]) -> list[Sent]:
    """Swap neighbours of one direction at the same time, and repeat some, also with more bytes."""
    changed: list[Sent] = []
    for index, each in enumerate(sent):
        before = changed[-1] if changed else None
        if before is not None and each.data and before.data and _is_of_same_stream(before, each):
            changed.insert(len(changed) - 1, each)
        else:
            changed.append(each)
        if index % 3 == 0 and each.data:
            changed.append(each)
    return changed


def _is_of_same_stream(one: Sent, other: Sent) -> bool:
    stream = attrgetter("at_ms", "client_port", "is_from_client")
    return bool(stream(one) == stream(other))


def test_segments_may_come_in_another_order_and_twice(recording: Recording, tmp_path: Path) -> None:
    sent = wire_of(recording.events, cut=9).sent
    changed = out_of_order_and_twice(sent)
    assert changed != sent

    agrees(recording, judged(recording, write_pcap(tmp_path / "c.pcap", changed)))


def test_a_lie_is_found_at_its_group(recording: Recording, tmp_path: Path) -> None:
    position = recording.position("Heartbeat", -1)
    forged = with_forged(recording.events, position, {"error_code": "UNKNOWN_MEMBER_ID"})

    (group,) = judged(recording, write_pcap(tmp_path / "c.pcap", wire_of(forged).sent)).groups

    (finding,) = group.replayed.findings
    assert (finding.group, finding.api, finding.field) == (GROUP, "Heartbeat", "error_code")


def requests_of(sent: list[Sent], port: int) -> list[Sent]:
    return [each for each in sent if each.client_port == port and each.is_from_client and each.data]


@pytest.mark.slow
@pytest.mark.parametrize("is_whole", [True, False])
@pytest.mark.parametrize("cut", [11, 1400])
def test_whichever_segment_is_lost_no_answer_is_called_wrong_for_it(
    recording: Recording, tmp_path: Path, cut: int, *, is_whole: bool
) -> None:
    sent = wire_of(recording.events, cut=cut).sent
    with_data = [index for index, each in enumerate(sent) if each.data]

    for lost in with_data[:: 1 if cut == 1400 else 23]:
        found = judged(
            recording,
            write_pcap(tmp_path / "c.pcap", [*sent[:lost], *sent[lost + 1 :]]),
            whole=is_whole,
        )

        findings = [finding.says for group in found.groups for finding in group.replayed.findings]
        assert findings == [], (lost, sent[lost])
        assert sum(found.notes.lost.values()) == len(sent[lost].data), (lost, sent[lost])


def test_a_lost_request_is_printed_with_its_connection(recording: Recording, tmp_path: Path) -> None:
    sent = wire_of(recording.events).sent
    lost = requests_of(sent, 40_000)[4]

    found = judged(recording, write_pcap(tmp_path / "c.pcap", [each for each in sent if each is not lost]))

    (line,) = [each for each in found.notes.in_words() if "not in the capture, and" in each]
    assert f"10.0.0.5:9092 from 10.0.0.9:40000, from the client: {len(lost.data)} bytes" in line
    (group,) = found.groups
    assert 0 < group.replayed.compared < recording.answer_count()


@pytest.mark.parametrize("count", range(3, 12))
def test_the_begin_of_a_member_may_be_lost(recording: Recording, tmp_path: Path, count: int) -> None:
    sent = wire_of(recording.events).sent
    of_bob = [each for each in sent if each.client_port == 40_001][:count]
    kept = [each for each in sent if each not in of_bob]

    (group,) = judged(recording, write_pcap(tmp_path / "c.pcap", kept), whole=False).groups

    assert group.replayed.findings == ()


def test_a_capture_may_begin_in_the_middle_of_a_frame(recording: Recording, tmp_path: Path) -> None:
    sent = wire_of(recording.events, cut=7).sent
    middle = next(index for index, each in enumerate(sent) if each.client_port == 40_001) + 60

    found = judged(recording, write_pcap(tmp_path / "c.pcap", sent[middle:]), whole=False)

    (group,) = found.groups
    assert group.replayed.findings == ()
    assert group.replayed.compared > 0
    assert sum(found.notes.skipped.values()) > 0

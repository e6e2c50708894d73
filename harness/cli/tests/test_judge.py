"""The command `judge`: what it prints, writes, and ends with."""

import json
from pathlib import Path

from harness.captures.tests.made_captures import wire_of, with_forged, write_pcap
from harness.results.status import ExitCode
from harness.tests.in_process import CommandLine
from harness.tests.replayed import two_members
from harness.tests.site_reading import views_of
from harness.tests.tap_folders import tap_folder
from harness.trace.events import RunKind
from harness.wire.codec import decode_response

pytest_plugins = ["harness.tests.command_line_fixture"]

DELAY = "--broker-property=group.initial.rebalance.delay.ms=0"
SESSION = "--broker-property=group.min.session.timeout.ms=100"
OPTIONS = ("--profile", "3.9", DELAY, SESSION, "--whole")


def agreeing(path: Path) -> Path:
    return write_pcap(path / "broker.pcap", wire_of(two_members().events).sent)


def lying(path: Path) -> Path:
    recording = two_members()
    position = recording.position("Heartbeat", -1)
    raw = recording.events[position].raw
    assert raw is not None
    said = decode_response("Heartbeat", 3, bytes.fromhex(raw)).fields
    forged = with_forged(recording.events, position, {**said, "error_code": "UNKNOWN_MEMBER_ID"})
    return write_pcap(path / "lying.pcap", wire_of(forged).sent)


def test_a_capture_that_agrees(tmp_path: Path, kafka_conformance: CommandLine) -> None:
    assert kafka_conformance("judge", agreeing(tmp_path), *OPTIONS) == ExitCode.EXPECTED

    assert "made-up 1.2" in kafka_conformance.out
    assert "newest" not in kafka_conformance.out


def test_the_brokers_own_configuration_is_read(tmp_path: Path, kafka_conformance: CommandLine) -> None:
    properties = tmp_path / "server.properties"
    properties.write_text(
        "node.id=1\nssl.keystore.password=s3cret\ngroup.initial.rebalance.delay.ms=0\n"
        "group.min.session.timeout.ms=100\n"
    )
    options = ("--profile", "3.9", "--whole", "--broker-config", properties, "--out", tmp_path / "pages")

    assert kafka_conformance("judge", agreeing(tmp_path), *options) == ExitCode.EXPECTED

    pages = "".join(views_of(tmp_path / "pages").values())
    assert "group.min.session.timeout.ms" in pages
    assert "s3cret" not in pages + kafka_conformance.out


def test_a_tap_is_compared_as_its_broker_was_configured(
    tmp_path: Path, kafka_conformance: CommandLine
) -> None:
    tap = tap_folder(tmp_path / "tap", two_members())

    assert kafka_conformance("judge", tap, "--whole") == ExitCode.EXPECTED
    assert "compared with 3.9 as the recorded broker was configured" in kafka_conformance.out

    default_delay = "--broker-property=group.initial.rebalance.delay.ms=3000"
    assert kafka_conformance("judge", tap, "--whole", default_delay) == ExitCode.UNEXPECTED

    # A run of clients is whole, and its footer is another one.
    (tap / "run.json").write_text(json.dumps({"kind": RunKind.CLIENTS}))
    (tap / "record" / "footer.json").write_text('{"ended": "complete"}')
    assert kafka_conformance("judge", tap) == ExitCode.EXPECTED


def test_without_a_configuration_the_output_says_that_the_default_was_compared(
    tmp_path: Path, kafka_conformance: CommandLine
) -> None:
    code = kafka_conformance("judge", agreeing(tmp_path), "--profile", "3.9", "--whole")

    assert code == ExitCode.UNEXPECTED
    assert "Kafka's default configuration" in kafka_conformance.out


def test_a_lie_is_printed_and_written(tmp_path: Path, kafka_conformance: CommandLine) -> None:
    written = tmp_path / "judged.json"

    code = kafka_conformance("judge", lying(tmp_path), *OPTIONS, "--json", written)

    assert code == ExitCode.UNEXPECTED
    assert 'where the reference says "NONE"' in kafka_conformance.out
    found = json.loads(written.read_text())
    (group,) = found["groups"]
    assert (found["profile"], group["group"], group["clients"]) == ("3.9", "readers", ["made-up 1.2"])
    assert [each["field"] for each in group["findings"]] == ["error_code"]


def test_a_truncated_capture_is_judged_and_ends_as_damage(
    tmp_path: Path, kafka_conformance: CommandLine
) -> None:
    path = agreeing(tmp_path)
    path.write_bytes(path.read_bytes()[:-5])

    assert kafka_conformance("judge", path, *OPTIONS) == ExitCode.BAD_DATA

    assert f"{path}: damaged behind byte" in kafka_conformance.out
    assert "readers" in kafka_conformance.out


def test_without_a_profile_the_newest_is_said(tmp_path: Path, kafka_conformance: CommandLine) -> None:
    kafka_conformance("judge", agreeing(tmp_path))

    assert "compared with the newest profile, 4.4" in kafka_conformance.out


def test_what_makes_no_sense_is_refused(tmp_path: Path, kafka_conformance: CommandLine) -> None:
    path = agreeing(tmp_path)

    assert kafka_conformance("judge", path, "--profile", "nonsense") == ExitCode.USAGE
    assert kafka_conformance("judge", path, "--broker-property=group.max.size=x") == ExitCode.USAGE
    assert kafka_conformance("judge", path, "--broker-config", tmp_path / "gone") == ExitCode.CONFIGURATION
    assert kafka_conformance("judge", tmp_path / "gone.pcap") == ExitCode.NO_INPUT
    assert kafka_conformance("judge", path, "--port", "1") == ExitCode.NOTHING_RAN

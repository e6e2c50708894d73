"""The command line: what it takes, what it says, and how it ends."""

import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from reference_coordinator.__main__ import main, parse

ROOT = Path(__file__).parents[2]
READY = re.compile(r"listening on 127\.0\.0\.1:(\d+) profile (\S+)\n")
TIMEOUT_S = 60


@contextmanager
def command(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-X", "dev", "-m", "reference_coordinator", *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.slow
@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_the_ready_line_names_a_port_that_answers_and_a_signal_stops_cleanly(stop: signal.Signals) -> None:
    with command("--listen", "127.0.0.1:0", "--profile", "4.4") as process:
        assert process.stdout is not None
        ready = READY.fullmatch(process.stdout.readline())
        assert ready is not None
        assert ready[2] == "4.4"
        with socket.create_connection(("127.0.0.1", int(ready[1])), timeout=TIMEOUT_S):
            process.send_signal(stop)
            out, err = process.communicate(timeout=TIMEOUT_S)

    assert (process.returncode, out, err) == (0, "", "")


def test_options_are_read() -> None:
    options = parse(
        [
            "--listen=127.0.0.1:9092",
            "--profile=3.9-java",
            "--config",
            "group.max.size=4",
            "group.initial.rebalance.delay.ms=0",
            "--config=offset.metadata.max.bytes=10",
            "--topic=orders:3",
            "--topic=a.b:1",
        ]
    )

    assert (options.host, options.port, options.profile.name) == ("127.0.0.1", 9092, "3.9-java")
    assert (options.config.group_max_size, options.config.offset_metadata_max_bytes) == (4, 10)
    assert options.config.group_initial_rebalance_delay_ms == 0
    assert options.topics == {"orders": 3, "a.b": 1}


def test_properties_that_the_reference_does_not_use_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    options = parse(["--config", "group.share.assignors=simple", "group.max.size=4", "log.dirs=/tmp"])

    assert options.config.group_max_size == 4
    assert capsys.readouterr().err == "the reference does not use group.share.assignors, log.dirs\n"


def test_a_topic_may_have_the_id_that_a_brokers_log_knows_it_by() -> None:
    options = parse(["--data-dir", "data", "--topic", "orders:3:q6urq6urRMyru6urq6urqw", "payments:2"])

    assert options.topics == {"orders": 3, "payments": 2}
    assert options.topic_ids == {"orders": "abababab-abab-44cc-abbb-abababababab"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--config", "group.max.sise=4"], "group.max.size"),
        (["--config", "group.max.size"], "NAME=VALUE"),
        (["--config", "group.max.size=many"], "group.max.size"),
        (["--profile", "1.0"], "1.0"),
        (["--profile", "newest"], "newest"),
        (["--listen", "9092"], "HOST:PORT"),
        (["--listen", "127.0.0.1:65536"], "HOST:PORT"),
        (["--topic", "orders"], "NAME:PARTITIONS"),
        (["--topic", "orders:0"], "NAME:PARTITIONS"),
        (["--topic", "no good:1"], "NAME:PARTITIONS"),
        (["--topic", "orders:3:AAAAAAAAAAAAAAAAAAAAAQ"], "--data-dir"),
        (["--data-dir", "data", "--topic", "orders:3:AAAA"], "22 characters"),
        (["--data-dir", "data", "--topic", "orders:3:"], "22 characters"),
        (["--data-dir", "data", "--topic", "orders:3:AAAAAAAAAAAAAAAAAAAAAä"], "22 characters"),
        (["--nonsense"], "--nonsense"),
    ],
)
def test_a_wrong_command_line_ends_with_64_and_says_what_is_wrong(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        parse(arguments)

    assert ended.value.code == 64
    assert said in capsys.readouterr().err


def test_an_address_that_is_taken_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        assert main(["--listen", f"127.0.0.1:{port}"]) == 69

    assert f"cannot listen on 127.0.0.1:{port}" in capsys.readouterr().err

"""Kafka's own tools print the same about the reference as about a real broker.

Those of 3.3 are in the jar of the broker; later ones have a jar of their own.
"""

import asyncio
import re
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from harness.targets.jars.java import find_java
from harness.targets.jars.resolved import kafka_jars
from harness.targets.kafka.node import java_command
from harness.targets.kafka.released import KafkaTarget
from harness.tests.reference_broker import reference_broker

pytestmark = pytest.mark.broker

_VERSION = "3.3.2"
_GIVES_UP_AFTER_S = 120
_OF_TOPIC = ("--entity-type", "topics", "--entity-name", "tools")
_GROUP = ("--group", "tools-group")
_COMMANDS = (
    ("TopicCommand", "--create", "--topic", "tools", "--partitions", "2", "--config", "retention.ms=100000"),
    ("TopicCommand", "--describe", "--topic", "tools"),
    ("TopicCommand", "--alter", "--topic", "tools", "--partitions", "1"),
    ("ConfigCommand", "--alter", *_OF_TOPIC, "--add-config", "cleanup.policy=compact"),
    ("ConfigCommand", "--describe", *_OF_TOPIC),
    ("LogDirsCommand", "--describe", "--topic-list", "tools"),
    ("ConsumerGroupCommand", *_GROUP, "--topic", "tools", "--reset-offsets", "--to-earliest", "--execute"),
    ("ConsumerGroupCommand", *_GROUP, "--describe"),
    ("ConsumerGroupCommand", *_GROUP, "--delete"),
    ("TopicCommand", "--delete", "--topic", "tools"),
)
_DIFFERS = (
    (r"TopicId: \S+", "TopicId: ID"),
    (r'"logDir":"[^"]*"', '"logDir":DIRECTORY'),
    (r"127\.0\.0\.1:\d+", "ADDRESS"),
    (r"^.*(WARN|INFO).*\n|^\s+at .*\n", ""),
    (r"^\d\d:\d\d:\d\d\.\d{3} ", ""),
)
"""What is another broker's by nature, and what is logged."""


def _printed(java: list[str | Path], address: str, arguments: tuple[str, ...]) -> str:
    command = [*java, *("--bootstrap-server", address), *arguments]
    done = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=_GIVES_UP_AFTER_S,
        check=False,
    )
    printed = done.stdout
    for pattern, instead in _DIFFERS:
        printed = re.sub(pattern, instead, printed, flags=re.MULTILINE)
    return f"{printed.strip()}\n{done.returncode}"


async def _all_printed(address: str) -> list[str]:
    jars = await kafka_jars(_VERSION, lambda _: None)
    java = find_java()
    assert java is not None
    return [
        _printed(java_command(java, jars, f"kafka.admin.{name}"), address, tuple(arguments))
        for name, *arguments in _COMMANDS
    ]


@asynccontextmanager
async def _real_broker(directory: Path) -> AsyncIterator[str]:
    broker = await KafkaTarget(_VERSION).start(broker_config={}, directory=directory, progress=lambda _: None)
    try:
        yield broker.description.bootstrap
    finally:
        await broker.stop()


async def _of_real_broker(directory: Path) -> list[str]:
    async with _real_broker(directory) as address:
        return await _all_printed(address)


def test_tools_print_the_same_about_the_reference(tmp_path: Path) -> None:
    expected = asyncio.run(_of_real_broker(tmp_path))
    with reference_broker(_VERSION, ["min.insync.replicas=1"]) as address:
        printed = asyncio.run(_all_printed(address))

    for command, one, other in zip(_COMMANDS, expected, printed, strict=True):
        assert other == one, command
    assert "Created topic tools." in printed[0]

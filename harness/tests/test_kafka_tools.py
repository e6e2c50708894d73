"""Kafka's own tools print the same about the reference as about a real broker."""

import asyncio
import dataclasses
import os
import re
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Producer

from harness.targets.jars.repository import TOOLS, single_jar
from harness.targets.jars.resolved import kafka_jars
from harness.targets.kafka.node import java_command
from harness.targets.kafka.released import KafkaTarget
from harness.targets.runtimes.java import JavaUse, java_for
from harness.tests.reference_broker import reference_broker

pytestmark = pytest.mark.broker

_CONFIG_COMMANDS = {"3.9.2": "kafka.admin.ConfigCommand", "4.4.0": "org.apache.kafka.tools.ConfigCommand"}
_TOPICS, _LOG_DIRS, _TRANSACTIONS, _GROUPS = (
    f"org.apache.kafka.tools.{name}Command"
    for name in ("Topic", "LogDirs", "Transactions", "consumer.group.ConsumerGroup")
)
_CONFIGS = "configs"
_GIVES_UP_AFTER_S = 120
_OF_TOPIC = ("--entity-type", "topics", "--entity-name", "tools")
_GROUP = ("--group", "tools-group")
_TRANSACTION = "tools-transaction"
_COMMANDS = (
    (_TOPICS, "--create", "--topic", "tools", "--partitions", "2", "--config", "retention.ms=100000"),
    (_TOPICS, "--describe", "--topic", "tools"),
    (_TOPICS, "--alter", "--topic", "tools", "--partitions", "1"),
    (_CONFIGS, "--alter", *_OF_TOPIC, "--add-config", "cleanup.policy=compact"),
    (_CONFIGS, "--describe", *_OF_TOPIC),
    (_LOG_DIRS, "--describe", "--topic-list", "tools"),
    (_GROUPS, *_GROUP, "--topic", "tools", "--reset-offsets", "--to-earliest", "--execute"),
    (_GROUPS, *_GROUP, "--describe"),
    (_GROUPS, "--list", "--state"),
    (_GROUPS, *_GROUP, "--delete"),
    (_TRANSACTIONS, "list"),
    (_TRANSACTIONS, "describe", "--transactional-id", _TRANSACTION),
    (_TOPICS, "--delete", "--topic", "tools"),
)
_DIFFERS = (
    (r"TopicId: \S+", "TopicId: ID"),
    (r'"logDir":"[^"]*"', '"logDir":DIRECTORY'),
    (r"127\.0\.0\.1:\d+", "ADDRESS"),
    (r"^.*(WARN|INFO).*\n|^\s+at .*\n", ""),
    (r"^\d\d:\d\d:\d\d\.\d{3} ", ""),
)
"""What is another broker's by nature, and what is logged."""


def _printed(command: list[str | Path]) -> str:
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


async def _all_printed(version: str, address: str) -> list[str]:
    jars = await kafka_jars(version, lambda _: None)
    tools = await single_jar(TOOLS, version, lambda _: None)
    java = java_for(JavaUse.BROKER)
    jars = dataclasses.replace(jars, class_path=f"{tools}{os.pathsep}{jars.class_path}")
    printed = []
    with _open_transaction(address):
        for name, *arguments in _COMMANDS:
            main = _CONFIG_COMMANDS[version] if name == _CONFIGS else name
            reaches = ("--bootstrap-server", address)
            printed.append(_printed([*java_command(java, jars, main), *reaches, *arguments]))
    return printed


@contextmanager
def _open_transaction(address: str) -> Iterator[None]:
    """Have a transaction that nothing was written in."""
    producer = Producer({"bootstrap.servers": address, "transactional.id": _TRANSACTION})
    producer.init_transactions(_GIVES_UP_AFTER_S)
    producer.begin_transaction()
    yield
    producer.abort_transaction(_GIVES_UP_AFTER_S)


@asynccontextmanager
async def _real_broker(version: str, directory: Path) -> AsyncIterator[str]:
    broker = await KafkaTarget(version).start(broker_config={}, directory=directory, progress=lambda _: None)
    try:
        yield broker.description.bootstrap
    finally:
        await broker.stop()


async def _of_real_broker(version: str, directory: Path) -> list[str]:
    async with _real_broker(version, directory) as address:
        return await _all_printed(version, address)


@pytest.mark.parametrize("version", [pytest.param("3.9.2", marks=pytest.mark.release), "4.4.0"])
def test_tools_print_the_same_about_the_reference(version: str, tmp_path: Path) -> None:
    expected = asyncio.run(_of_real_broker(version, tmp_path))
    with reference_broker(version, ["min.insync.replicas=1"]) as address:
        printed = asyncio.run(_all_printed(version, address))

    for command, one, other in zip(_COMMANDS, expected, printed, strict=True):
        assert other == one, command
    assert "Created topic tools." in printed[0]

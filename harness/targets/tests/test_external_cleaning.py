"""`clean`: by age and by run, and transactions that a killed run left open are aborted."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

import confluent_kafka as ck
import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from harness.results.status import ExitCode
from harness.targets.base.dialogue import Answer, Dialogue
from harness.targets.base.interface import closing
from harness.targets.base.tcp import StreamConnection
from harness.targets.external.namespace import Namespace
from harness.targets.external.target import ExternalBroker
from harness.targets.tests.test_external_stock import left_on
from harness.targets.tests.test_guard import run_namespace
from harness.tests.in_process import CommandLine
from harness.tests.made_events import BARE_BROKER
from harness.tests.reference_broker import GIVES_UP_AFTER_S, reference_broker
from harness.wire.codec import Fields

pytest_plugins = ["harness.tests.command_line_fixture"]
pytestmark = pytest.mark.slow

OLD: Final = Namespace.new("old", now=datetime.now(UTC) - timedelta(hours=2))


def young() -> Namespace:
    """Return the namespace of a run that began 20 minutes ago."""
    return Namespace.new("young", now=datetime.now(UTC) - timedelta(minutes=20))


def create(address: str, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": address})
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(GIVES_UP_AFTER_S)


def leave_a_group(address: str, namespace: Namespace) -> None:
    """Have a run commit an offset, and be gone."""
    topic = namespace.topic("orders")
    create(address, topic)
    group = {"bootstrap.servers": address, "group.id": f"{namespace.prefix}main", "log_level": 2}
    consumer = ck.Consumer(group)
    consumer.commit(offsets=[ck.TopicPartition(topic, 0, 7)], asynchronous=False)
    consumer.close()


def begun(address: str, transactional_id: str, topic: str) -> ck.Producer:
    """Begin a transaction and write to a topic in it."""
    settings = {"bootstrap.servers": address, "transactional.id": transactional_id, "log_level": 0}
    producer = ck.Producer(settings)
    producer.init_transactions(GIVES_UP_AFTER_S)
    producer.begin_transaction()
    producer.produce(topic, value=b"not yet")
    assert producer.flush(GIVES_UP_AFTER_S) == 0
    return producer


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ((), {"young"}),
        (("--older-than", "90m"), {"young"}),
        (("--older-than", "600s"), set()),
        (("--older-than", "3h"), {"old", "young"}),
        (("--older-than", "1d"), {"old", "young"}),
        (("--run", "young"), {"old"}),
    ],
)
def test_what_is_older_or_of_a_run_goes_and_the_rest_stays(
    kafka_conformance: CommandLine, options: tuple[str, ...], kept: set[str]
) -> None:
    with reference_broker("3.9", properties=()) as address:
        namespaces = {"old": OLD, "young": young()}
        for namespace in namespaces.values():
            leave_a_group(address, namespace)
        assert kafka_conformance("clean", f"external:{address}", *options) == ExitCode.EXPECTED
        gone = 2 - len(kept)
        assert f"{gone} groups and {gone} topics deleted, 0 transactions aborted" in kafka_conformance.out
        left = asyncio.run(left_on(address))
        assert {name.partition("..")[0] for name in left} == {
            namespaces[each].prefix.removesuffix("..") for each in kept
        }


@pytest.mark.parametrize("profile", ["3.9", "4.4"])
def test_an_open_transaction_of_a_killed_run_is_aborted_and_that_of_others_goes_on(
    kafka_conformance: CommandLine, profile: str
) -> None:
    with reference_broker(profile, properties=()) as address:
        leave_a_group(address, OLD)
        create(address, "payments")
        ours = begun(address, f"{OLD.prefix}id", OLD.topic("orders"))
        theirs = begun(address, "payroll", "payments")
        assert f"{OLD.prefix}id" in asyncio.run(left_on(address))

        assert kafka_conformance("clean", f"external:{address}") == ExitCode.EXPECTED

        assert "1 transactions aborted" in kafka_conformance.out
        assert asyncio.run(left_on(address)) == []
        theirs.commit_transaction(GIVES_UP_AFTER_S)
        with pytest.raises(ck.KafkaException):
            ours.commit_transaction(GIVES_UP_AFTER_S)


def test_two_choices_at_once_are_one_too_many(kafka_conformance: CommandLine) -> None:
    options = ("--run", "old", "--older-than", "1h")
    assert kafka_conformance("clean", "external:127.0.0.1:1", *options) == ExitCode.USAGE
    assert "--run and --older-than are one too many" in kafka_conformance.err


@pytest.mark.parametrize("age", ["1", "h", "-1h", "1w", "1 h", "9999999h"])
def test_what_is_no_age_is_refused(kafka_conformance: CommandLine, age: str) -> None:
    assert kafka_conformance("clean", "external:127.0.0.1:1", f"--older-than={age}") == ExitCode.USAGE
    assert "is not an age" in kafka_conformance.err


async def asked(port: int, api: str, version: int, fields: Fields) -> Answer:
    async with closing(await StreamConnection.open("127.0.0.1", port)) as connection:
        return await Dialogue(connection).ask(api, version, fields)


async def make_nameless(port: int) -> None:
    """Commit an offset for the group without a name, which Kafka makes for nothing else."""
    partitions: list[Fields] = [{"partition_index": 0, "committed_offset": 7, "committed_metadata": ""}]
    await asked(port, "FindCoordinator", 0, {"key": ""})
    nobody: Fields = {
        "group_id": "",
        "generation_id_or_member_epoch": -1,
        "member_id": "",
        "retention_time_ms": -1,
    }
    await asked(port, "OffsetCommit", 2, {**nobody, "topics": [{"name": "t", "partitions": partitions}]})


async def groups_on(port: int) -> Sequence[str | None]:
    listed = await asked(port, "ListGroups", 2, {})
    return [row.text("group_id") for row in listed.rows("groups")]


@pytest.mark.parametrize("was_there", [False, True])
async def test_a_nameless_group_is_removed_only_if_it_was_not_there_before(was_there: bool) -> None:  # noqa: FBT001 - a parameter
    with reference_broker("3.9.2") as address:
        port = int(address.rpartition(":")[2])
        create(address, "t")
        if was_there:
            await make_nameless(port)
        async with ExternalBroker(BARE_BROKER, run_namespace(port=port)).without_nameless():
            await make_nameless(port)
            assert await groups_on(port) == [""]
        assert await groups_on(port) == [""] * was_there

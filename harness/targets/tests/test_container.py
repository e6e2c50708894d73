"""Images' names, what their containers are told, what is told of an engine that is absent. No container."""

import os
import re
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import cast

import pytest

from harness.targets.base.conformance import CONFORMANCE_CONFIG
from harness.targets.base.interface import (
    Capability,
    TargetError,
)
from harness.targets.containers.engine import engine, owner_lives
from harness.targets.containers.image import Make, parse_image
from harness.targets.containers.interface import Membership, Recipe, environment_name, recipe
from harness.targets.containers.log import LogFollower
from harness.targets.containers.sdk import Container
from harness.targets.containers.target import container_capabilities
from harness.targets.kafka.properties import CONTROLLER_ID
from harness.targets.spec import parse_target
from harness.tests.patience import wait_until


def the_recipe(name: str, *, node_id: int = 1, broker_count: int = 1, **config: str) -> Recipe:
    membership = Membership(
        node_id=node_id,
        broker_count=broker_count,
        port=None if node_id == CONTROLLER_ID else 20000,
        cluster_id="AAAAAAAAAAAAAAAAAAAAAg",
        broker_config={key.replace("_", "."): value for key, value in config.items()},
    )
    return recipe(parse_image(name), membership)


@pytest.mark.parametrize(
    ("name", "make", "version"),
    [
        ("apache/kafka:4.3.1", Make.APACHE, "4.3.1"),
        ("apache/kafka:4.1.0-rc2", Make.APACHE, "4.1.0"),
        ("apache/kafka-native:3.9.2", Make.APACHE, "3.9.2"),
        ("mirror.example:5000/apache/kafka:3.9.2", Make.APACHE, "3.9.2"),
        ("kafka-conformance/kafka:2.8.2", Make.APACHE, "2.8.2"),
        ("confluentinc/cp-kafka:7.9.1", Make.CONFLUENT, "3.9"),
        ("confluentinc/cp-kafka:8.1.0", Make.CONFLUENT, "4.1"),
        ("redpandadata/redpanda:v25.2.1", Make.REDPANDA, None),
    ],
)
def test_an_images_name_says_how_it_is_configured_and_which_kafka_is_in_it(
    name: str, make: Make, version: str | None
) -> None:
    image = parse_image(name)

    assert (image.make, image.kafka_version) == (make, version)
    assert str(image) == name


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("apache/kafka", "not an image with a tag"),
        ("apache/kafka:", "not an image with a tag"),
        ("apache/kafka:latest", "names no version"),
        ("bitnami/kafka:3.9.2", "not known"),
        ("notapache/kafka:3.9.2", "not known"),
        ("confluentinc/cp-kafka:7.3.2", "ZooKeeper"),
        ("apache/kafka:2.8.2*3", "KRaft"),
        ("redpandadata/redpanda:v25.2.1*3", "KRaft"),
        ("apache/kafka:4.3.1*", "2 to"),
        ("apache/kafka:4.3.1*0", "2 to"),
        ("apache/kafka:4.3.1*many", "2 to"),
    ],
)
def test_what_cannot_be_driven_is_refused_with_the_reason(name: str, why: str) -> None:
    with pytest.raises(TargetError, match=rf"container:{re.escape(name)}.*{why}"):
        parse_target(f"container:{name}")


def test_a_property_and_its_variable_are_one_to_one() -> None:
    def as_the_image_reads_it(variable: str) -> str:
        name = variable.removeprefix("KAFKA_").lower().replace("_", ".")
        return name.replace("...", "-").replace("..", "_")

    names = ["group.max.size", "a-b.c", "a_b.c", "listener.name.plaintext.x"]
    assert [as_the_image_reads_it(environment_name(name)) for name in names] == names


def test_a_broker_that_is_alone_listens_where_it_is_published_and_gets_the_conformance_configuration() -> (
    None
):
    environment = the_recipe("apache/kafka:4.3.1", group_max_size="3").environment

    assert environment["KAFKA_LISTENERS"].startswith("PLAINTEXT://0.0.0.0:20000,CONTROLLER://127.0.0.1:")
    assert environment["KAFKA_ADVERTISED_LISTENERS"] == "PLAINTEXT://127.0.0.1:20000"
    assert environment["KAFKA_PROCESS_ROLES"] == "broker,controller"
    assert environment["KAFKA_GROUP_MAX_SIZE"] == "3"
    assert environment["CLUSTER_ID"] == "AAAAAAAAAAAAAAAAAAAAAg"
    assert {environment_name(name): value for name, value in CONFORMANCE_CONFIG.items()}.items() <= (
        environment.items()
    )


def test_a_broker_before_kraft_wants_the_zookeeper_beside_it() -> None:
    environment = the_recipe("kafka-conformance/kafka:2.8.2").environment

    assert environment["KAFKA_ZOOKEEPER_CONNECT"] == "localhost:2181"
    assert "KAFKA_PROCESS_ROLES" not in environment


def test_brokers_of_a_cluster_know_each_other_by_name_and_their_controller() -> None:
    broker = the_recipe("apache/kafka:4.3.1", node_id=2, broker_count=3).environment
    controller = the_recipe("apache/kafka:4.3.1", node_id=CONTROLLER_ID, broker_count=3).environment

    assert broker["KAFKA_PROCESS_ROLES"] == "broker"
    assert broker["KAFKA_NODE_ID"] == "2"
    assert broker["KAFKA_INTER_BROKER_LISTENER_NAME"] == "INTERNAL"
    assert "INTERNAL://broker-2:" in broker["KAFKA_ADVERTISED_LISTENERS"]
    assert controller["KAFKA_PROCESS_ROLES"] == "controller"
    assert "KAFKA_ADVERTISED_LISTENERS" not in controller
    assert controller["KAFKA_CONTROLLER_QUORUM_VOTERS"] == broker["KAFKA_CONTROLLER_QUORUM_VOTERS"]
    assert broker["KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR"] == "3"


def test_confluents_image_is_reported_the_same_as_apaches_of_its_kafka() -> None:
    assert the_recipe("confluentinc/cp-kafka:7.9.1") == the_recipe("apache/kafka:3.9.2")


def test_redpanda_is_reported_by_its_command_line_and_its_first_configuration() -> None:
    reported = the_recipe("redpandadata/redpanda:v25.2.1")

    assert reported.command[:2] == ("redpanda", "start")
    assert reported.command[reported.command.index("--advertise-kafka-addr") + 1] == "127.0.0.1:20000"
    (text,) = reported.files.values()
    assert b"group_initial_rebalance_delay: 0\n" in text
    assert b"group_topic_partitions: 1\n" in text
    assert not reported.environment


def test_a_container_can_do_what_its_kafka_can() -> None:
    def of(name: str, node_count: int = 1) -> frozenset[Capability]:
        return container_capabilities(parse_image(name), node_count=node_count)

    assert of("apache/kafka:4.3.1") == {
        Capability.BROKER_CONFIG,
        Capability.LONG_LOG,
        Capability.WRITE_LOG,
        Capability.RESTART,
        Capability.KILL,
        Capability.PAUSE,
        Capability.PAUSE_AT_LOADING,
        Capability.SOLE_LEADER,
    }
    assert of("apache/kafka:3.9.2", 3) - of("apache/kafka:4.3.1") == {
        Capability.CLUSTER,
        Capability.DISCONNECT,
        Capability.PAUSE_AT_DEAD,
        Capability.ORDERED_LOADS,
    }
    assert Capability.KILL not in of("apache/kafka:2.8.2")
    assert of("redpandadata/redpanda:v25.2.1") == {
        Capability.RESTART,
        Capability.PAUSE,
        Capability.SOLE_LEADER,
    }


def test_an_engine_that_does_not_answer_is_reported_with_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/no.sock")

    with (
        pytest.raises(TargetError, match=rf"{tmp_path}/no\.sock \(.*No such file.*\): install") as refusal,
        engine(),
    ):
        pytest.fail("there is no engine")

    assert "DOCKER_HOST" in str(refusal.value)


def test_an_owner_lives_only_if_it_is_the_very_process() -> None:
    assert owner_lives(f"{os.getpid()} ")
    assert not owner_lives(f"{os.getpid()} 1")
    assert not owner_lives("4194305 ")
    assert not owner_lives("")


class _Printing:
    """A container that prints lives, one after the other, each until it is told to end."""

    def __init__(self, *lives: bytes) -> None:
        self._lives = lives
        self._begun = threading.Semaphore(1)
        self.life = 0

    def logs(self, *, stream: bool, follow: bool) -> Iterator[bytes]:
        assert stream
        assert follow
        self._begun.acquire()
        self.life += 1
        # The engine tells everything from the first start on, in pieces of its own choosing.
        everything = b"".join(self._lives[: self.life])
        yield from (everything[at : at + 7] for at in range(0, len(everything), 7))

    def wait(self, *, timeout: float | None) -> Mapping[str, int]:
        assert timeout is None
        return {"StatusCode": 137}

    def start(self) -> None:
        self._begun.release()


def test_a_log_is_copied_over_restarts_and_nothing_twice(tmp_path: Path) -> None:
    printing = _Printing(b"first life\n", b"second life\n")
    log = tmp_path / "container.log"
    follower = LogFollower(cast("Container", printing), name="container x", log=log, is_expected=True)
    follower.await_end()
    assert log.read_text() == "first life\n"

    printing.start()
    follower.expect_life()
    wait_until(lambda: follower.failure() is not None, what="the second end is noticed")

    assert log.read_text() == "first life\nsecond life\n"
    assert follower.failure() == (
        "container x ended with signal SIGKILL (see container.log)\nfirst life\nsecond life"
    )

"""Images that are built here: from what, when anew, and what they make of their environment."""

import asyncio
import os
import shutil
from hashlib import sha256
from pathlib import Path
from typing import Final

import pytest
from testcontainers.core.container import DockerContainer

from harness.targets.base.interface import Lasting, TargetError
from harness.targets.containers.engine import engine, labels_for
from harness.targets.jars.resolved import KafkaJars, kafka_jars
from harness.tests.images import base
from harness.tests.images.kafka import build_image, built_images

pytest_plugins = ["harness.tests.command_line_fixture", "harness.tests.docker_fixture"]

VERSION: Final = "3.9.2"
"""Has Kafka's own program that reads an image's environment."""
ENVIRONMENT: Final = {
    "KAFKA_PROCESS_ROLES": "broker,controller",
    "KAFKA_NODE_ID": "1",
    "KAFKA_CONTROLLER_QUORUM_VOTERS": "1@localhost:29093",
    "KAFKA_CONTROLLER_LISTENER_NAMES": "CONTROLLER",
    "KAFKA_LISTENERS": "PLAINTEXT://:9092,CONTROLLER://:29093",
    "KAFKA_ADVERTISED_LISTENERS": "PLAINTEXT://localhost:9092",
    "KAFKA_GROUP_MAX_SIZE": "3",
    "KAFKA_WITH___DASH_AND__UNDERSCORE": "a value = with: everything",
    "KAFKA_HEAP_OPTS": "-Xmx128m",
    "KAFKA_LOG4J_ROOT_LOGLEVEL": "WARN",
    "CLUSTER_ID": "AAAAAAAAAAAAAAAAAAAAAg",
}
KAFKAS_OWN: Final = """
mkdir /tmp/defaults /tmp/final
/opt/kafka/bin/kafka-run-class.sh kafka.docker.KafkaDockerWrapper setup --default-configs-dir /tmp/defaults \\
    --mounted-configs-dir /mnt/shared/config --final-configs-dir /tmp/final >/dev/null 2>&1
echo; sort -u /tmp/final/server.properties
"""
OURS: Final = """
mkdir /tmp/bin
ln -s /bin/true /tmp/bin/java
PATH=/tmp/bin:$PATH /etc/kafka/docker/run
echo; sort -u /opt/kafka/config/server.properties
"""
"""What a container prints that makes its configuration and starts nothing."""


@pytest.fixture(name="jars", scope="module")
def _jars() -> KafkaJars:
    return asyncio.run(kafka_jars(VERSION, lambda _: None))


@pytest.fixture(name="image", scope="module")
def _image(needs_docker: None, jars: KafkaJars) -> str:
    return build_image(jars, lambda _: None).name


def printed_by(image: str, script: str, environment: dict[str, str]) -> list[str]:
    container = DockerContainer(image).with_envs(**environment).with_command(["bash", "-c", script])
    container.with_kwargs(labels=labels_for("test"))
    with container:
        container.wait()
        reported, complained = container.get_logs()
    assert not complained
    return [line for line in reported.decode().splitlines() if line]


@pytest.mark.docker
def test_an_image_makes_of_its_environment_what_kafkas_own_does(image: str) -> None:
    ours = printed_by(image, OURS, ENVIRONMENT)

    assert ours == printed_by(image, KAFKAS_OWN, ENVIRONMENT)
    assert "with-dash.and_underscore=a value = with: everything" in ours


@pytest.mark.docker
def test_who_tells_no_listeners_listens_everywhere_on_the_advertised_ports(image: str) -> None:
    environment = {name: value for name, value in ENVIRONMENT.items() if name != "KAFKA_LISTENERS"}

    assert "listeners=PLAINTEXT://0.0.0.0:9092" in printed_by(image, OURS, environment)


@pytest.mark.docker
def test_who_tells_nothing_has_a_broker_that_is_alone(image: str) -> None:
    printed = printed_by(image, OURS, {})

    assert "process.roles=broker,controller" in printed
    assert "advertised.listeners=PLAINTEXT://localhost:9092" in printed


@pytest.mark.docker
def test_an_image_is_built_once_and_anew_when_what_it_is_made_of_changes(
    image: str, jars: KafkaJars, tmp_path: Path
) -> None:
    assert build_image(jars, lambda _: None).was_there
    assert image in {each.name for each in built_images()}

    assert jars.home is not None
    shutil.copytree(jars.home / "libs", tmp_path / "libs")
    (tmp_path / "libs" / "one-more.jar").write_bytes(b"")
    changed = KafkaJars(version="0.0.1", class_path="", home=tmp_path)
    try:
        assert not build_image(changed, lambda _: None).was_there
        assert build_image(changed, lambda _: None).was_there
        (tmp_path / "libs" / "one-more.jar").write_bytes(b"changed")
        assert not build_image(changed, lambda _: None).was_there
    finally:
        with engine() as client:
            client.images.remove("kafka-conformance/kafka:0.0.1", force=True)


def test_a_base_wants_debootstrap_and_root_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    with pytest.raises(TargetError, match=r"apt install debootstrap.*--base"):
        base.debootstrap_found()

    monkeypatch.setattr(shutil, "which", lambda *_, **__: "/usr/sbin/debootstrap")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(TargetError, match=r"sudo.*--base"):
        base.debootstrap_found()


def test_a_base_of_another_debian_is_reported_and_refused_of_a_source_that_was_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lists = tmp_path / "var/lib/apt/lists"
    lists.mkdir(parents=True)
    reported: list[str] = []
    monkeypatch.delenv(base.SOURCE_VARIABLE, raising=False)
    base.check_snapshot(tmp_path, reported.append)
    assert "found no Release file" in reported.pop()

    (lists / "mirror_debian_dists_bookworm_Release").write_text("Date: another")
    base.check_snapshot(tmp_path, reported.append)
    assert isinstance(reported.pop(), Lasting)

    monkeypatch.setenv(base.SOURCE_VARIABLE, "file:/somewhere")
    with pytest.raises(TargetError, match=r"not that of 2026.*KAFKA_CONFORMANCE_DEBIAN.*--base"):
        base.check_snapshot(tmp_path, reported.append)

    monkeypatch.setattr(base, "_RELEASE_SHA256", sha256(b"Date: another").hexdigest())
    base.check_snapshot(tmp_path, reported.append)
    assert reported == []

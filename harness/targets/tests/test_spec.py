"""Specs to targets."""

import re
from pathlib import Path

import pytest

from harness.targets.base.interface import Capability, TargetError
from harness.targets.spec import SPEC_FORMS, parse_target


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("reference", "reference"),
        ("reference:3.9", "reference-3.9"),
        ("reference-tcp", "reference-tcp"),
        ("reference-tcp:2.8.2", "reference-tcp-2.8.2"),
        ("reference-tcp*3", "reference-tcp-x3"),
        ("reference-tcp:2.8.2*2", "reference-tcp-2.8.2-x2"),
        ("kafka:3.9.2", "kafka-3.9.2"),
        ("kafka:latest", "kafka-latest"),
        ("kafka:3.9.2+java", "kafka-3.9.2-java"),
        ("external:127.0.0.1:9092", "external-127.0.0.1-9092"),
        ("external:[::1]:9092", "external-1-9092"),
        ("librdkafka-mock", "librdkafka-mock"),
        ("librdkafka-mock+inflexible", "librdkafka-mock-inflexible"),
        ("kafka:3.9.2+java*3", "kafka-3.9.2-java-x3"),
        ("container:apache/kafka:4.3.1", "container-apache-kafka-4.3.1"),
        ("container:apache/kafka:4.3.1*3", "container-apache-kafka-4.3.1-x3"),
        (
            "container:mirror.example:5000/apache/kafka:3.9.2",
            "container-mirror.example-5000-apache-kafka-3.9.2",
        ),
    ],
)
def test_a_target_keeps_its_spec_and_is_named_after_it(spec: str, name: str) -> None:
    target = parse_target(spec)

    assert (target.spec, target.name) == (spec, name)


@pytest.mark.parametrize(
    ("spec", "whole"),
    [("kafka:3.9", "kafka:3.9.2"), ("kafka:3.9+java*3", "kafka:3.9.2+java*3"), ("kafka:4.4", "kafka:4.4.0")],
)
def test_a_release_stands_for_its_newest_patch(spec: str, whole: str) -> None:
    assert parse_target(spec).spec == whole


@pytest.mark.parametrize(
    ("spec", "hint"),
    [
        ("kafak:3.9.2", "close to it: kafka"),
        ("Kafka:3.9.2", "close to it: kafka"),
        ("3.9.2", "write kafka:3.9.2"),
        ("kafka:3.10", "close to it: 3.1"),
        ("kafka:9.9", "close to it: 3.9.2"),
        ("kafka:newest", "write for instance"),
        ("kafka", "not a version"),
    ],
)
def test_a_spec_that_is_nearly_one_is_refused_with_what_may_be_meant(spec: str, hint: str) -> None:
    with pytest.raises(TargetError, match=re.escape(hint)):
        parse_target(spec)


def test_a_path_is_named_after_its_last_part(tmp_path: Path) -> None:
    directory = tmp_path / "my kafka+build"
    directory.mkdir()

    assert parse_target(f"path:{directory}").name == "path-my-kafka-build"


@pytest.mark.parametrize("spec", ["kafak:3.9.2", "", "3.9.2", "Kafka:3.9.2", "kafka:"])
def test_what_names_no_target_is_refused_with_every_form_there_is(spec: str) -> None:
    with pytest.raises(TargetError) as refusal:
        parse_target(spec)

    assert all(form in str(refusal.value) for form in SPEC_FORMS)


@pytest.mark.parametrize(
    "spec",
    [
        "kafka:9.9",
        "kafka:newest",
        "kafka:3.9.2+jaba",
        "kafka:3.6.2+java",
        "kafka:4.0.0+java",
        "kafka:latest+java",
        "path:/no/such/directory",
        "external:localhost",
        "external:localhost:0",
        "external:localhost:65536",
        "external::9092",
        "librdkafka-mock:2.16.0",
        "reference:banana",
        "reference:2.3",
    ],
)
def test_what_cannot_be_is_refused_by_its_spec(spec: str) -> None:
    with pytest.raises(TargetError, match=re.escape(spec.partition(":")[2])):
        parse_target(spec)


def test_two_different_profiles_are_refused() -> None:
    with pytest.raises(TargetError, match="say one"):
        parse_target("reference:3.9", profile="4.4")


_ANYWHERE = {
    Capability.BROKER_CONFIG,
    Capability.RESTART,
    Capability.KILL,
    Capability.PAUSE,
    Capability.LONG_LOG,
    Capability.WRITE_LOG,
    Capability.PAUSE_AT_LOADING,
}
_BY_ITSELF = {Capability.BROKER_CONFIG, Capability.RESTART, Capability.KILL, Capability.PAUSE}
_ALONE = _ANYWHERE | {Capability.SOLE_LEADER, Capability.PRINCIPALS}


@pytest.mark.parametrize(
    ("spec", "capabilities"),
    [
        ("kafka:3.9.2", _ALONE | {Capability.PAUSE_AT_DEAD, Capability.ORDERED_LOADS}),
        ("kafka:3.9.2+java", _ALONE),
        ("kafka:4.3.1", _ALONE | {Capability.FEATURES}),
        ("kafka:latest", _ALONE | {Capability.FEATURES}),
        ("kafka:4.3.1*3", _ANYWHERE | {Capability.FEATURES, Capability.CLUSTER, Capability.DISCONNECT}),
        ("reference-tcp", _BY_ITSELF | {Capability.SOLE_LEADER}),
        ("reference-tcp*3", _BY_ITSELF | {Capability.CLUSTER, Capability.DISCONNECT}),
        ("external:localhost:9092", set()),
    ],
)
def test_what_can_be_done_to_a_broker_is_known_from_its_spec(
    spec: str, capabilities: set[Capability]
) -> None:
    assert parse_target(spec).capabilities == capabilities


def test_the_former_names_of_capabilities_are_read() -> None:
    assert Capability("hold loading") is Capability.PAUSE_AT_LOADING
    assert Capability("hold dead") is Capability.PAUSE_AT_DEAD
    with pytest.raises(ValueError, match="is not a valid Capability"):
        Capability("hold anything")

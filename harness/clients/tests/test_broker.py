"""Some of the suites' client scripts on a real broker and on the reference: real clients see the same."""

import asyncio
from pathlib import Path

import pytest

from harness.clients.java import java_library
from harness.clients.libraries import LIBRARIES, ClientLibrary
from harness.tests.client_plans import carried_out
from harness.verdict import Outcome

pytestmark = pytest.mark.broker

SCRIPTS = (
    "clients/delivery/exactly-once",
    "clients/admin/describes-a-group",
    "clients/coordinator/restarts",
    "clients/discovery/commits-lie-where-the-hash-says",
    "clients/rebalance/cooperative",
    "clients/static/crashes-and-returns",
)
IN_CONSUMER_GROUPS = (
    "clients/consumer/delivery/exactly-once",
    "clients/consumer/rebalance/cooperative",
    "clients/consumer/static/closes-and-returns",
    "clients/consumer/static/newer-is-refused",
    "clients/consumer/subscription/pattern",
)
IN_NEW_GROUPS = (
    "clients/share/admin/deletes",
    "clients/share/delivery/accept-release-reject",
    "clients/share/delivery/closes-with-records",
    "clients/share/delivery/three-members-share",
    "clients/streams/admin/deletes",
    "clients/streams/processing/through-a-repartition-topic",
    "clients/streams/rebalance/second-application",
)
ON_A_REAL_BROKER_ALONE = {"clients/discovery/commits-lie-where-the-hash-says"}


def java(name: str) -> ClientLibrary:
    return asyncio.run(java_library(name, lambda _: None))


@pytest.mark.parametrize("scripts", [SCRIPTS[:2], pytest.param(SCRIPTS, marks=pytest.mark.release)])
def test_real_clients_see_the_same_on_a_real_broker_and_on_the_reference(
    tmp_path: Path, scripts: tuple[str, ...]
) -> None:
    libraries = (*LIBRARIES.values(), java("java:3.9.2"))

    judgements, steady = carried_out(tmp_path, "kafka:3.9.2", scripts, libraries)

    assert len(judgements) == len(scripts) * len(libraries)
    for each in steady:
        found = (each.outcome, each.mismatches, each.differences)
        assert found == (Outcome.CONFORMS, (), ()), each.scenario_id
    compared = {each.scenario_id for each in judgements if each.compared == "reference-tcp:3.9.2"}
    assert compared | ON_A_REAL_BROKER_ALONE.intersection(scripts) == set(scripts)


def test_real_clients_carry_scripts_out_in_consumer_groups(tmp_path: Path) -> None:
    libraries = (*LIBRARIES.values(), java("java"))

    judgements, steady = carried_out(tmp_path, "kafka:latest", IN_CONSUMER_GROUPS, libraries, compares=False)

    found = {(each.outcome, each.mismatches) for each in steady if each.library != "kafka-python"}
    assert found == {(Outcome.CONFORMS, ())}
    lacking = [each for each in judgements if each.library == "kafka-python"]
    assert {each.outcome for each in lacking} == {Outcome.NOT_APPLICABLE}
    assert all("group.protocol" in each.because for each in lacking)


def test_real_clients_carry_scripts_out_in_share_groups_and_streams_groups(tmp_path: Path) -> None:
    libraries = (LIBRARIES["confluent-kafka"], java("java"))

    judgements, steady = carried_out(tmp_path, "kafka:latest", IN_NEW_GROUPS, libraries, compares=False)

    applicable = {(each.outcome, each.mismatches) for each in steady} - {(Outcome.NOT_APPLICABLE, ())}
    assert applicable == {(Outcome.CONFORMS, ())}
    able = [each for each in judgements if each.outcome != Outcome.NOT_APPLICABLE]
    assert {each.scenario_id for each in able if each.library != "confluent-kafka"} == {*IN_NEW_GROUPS}
    shared = [each.scenario_id for each in able if each.library == "confluent-kafka"]
    assert shared == [
        "clients/share/delivery/closes-with-records",
        "clients/share/delivery/three-members-share",
    ]

"""Some of the suites' client scripts on a real broker and on the reference: real clients see the same."""

import asyncio
from pathlib import Path

import pytest

from harness.clients.collect import collect_client_scripts
from harness.clients.java import java_library
from harness.clients.libraries import LIBRARIES
from harness.clients.run import ClientsPlan, drive
from harness.targets.spec import parse_target
from harness.verdict import Confirmation, Outcome

pytestmark = pytest.mark.broker

SCRIPTS = (
    "clients/admin/describes-a-group",
    "clients/coordinator/restarts",
    "clients/delivery/exactly-once",
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


def test_real_clients_see_the_same_on_a_real_broker_and_on_the_reference(tmp_path: Path) -> None:
    scripts = collect_client_scripts()
    libraries = (*LIBRARIES.values(), asyncio.run(java_library("java:3.9.2", lambda _: None)))
    plan = ClientsPlan(
        run_id="run",
        scripts=tuple(scripts[name] for name in SCRIPTS),
        libraries=libraries,
        targets=(parse_target("kafka:3.9.2"),),
        command="kafka-conformance clients --target kafka:3.9.2",
        out=tmp_path,
        jobs=4,
        patience_s=90.0,
    )

    judgements = asyncio.run(drive(plan, lambda *_: None))

    assert len(judgements) == len(SCRIPTS) * len(libraries)
    # Real clients race: what does not show again accuses nobody, and is rare.
    flaky = [each.script_id for each in judgements if each.confirmation is Confirmation.FLAKY]
    assert len(flaky) <= 1, flaky
    for each in judgements:
        if each.confirmation is not Confirmation.FLAKY:
            found = (each.outcome, each.mismatches, each.differences)
            assert found == (Outcome.CONFORMS, (), ()), each.script_id
    compared = {each.script_id for each in judgements if each.compared == "reference-tcp:3.9.2"}
    assert compared | ON_A_REAL_BROKER_ALONE == set(SCRIPTS)


def test_real_clients_carry_scripts_out_in_consumer_groups(tmp_path: Path) -> None:
    scripts = collect_client_scripts()
    libraries = (*LIBRARIES.values(), asyncio.run(java_library("java", lambda _: None)))
    plan = ClientsPlan(
        run_id="run",
        scripts=tuple(scripts[name] for name in IN_CONSUMER_GROUPS),
        libraries=libraries,
        targets=(parse_target("kafka:latest"),),
        command="kafka-conformance clients --target kafka:latest",
        out=tmp_path,
        compares=False,
        jobs=4,
        patience_s=90.0,
    )

    judgements = asyncio.run(drive(plan, lambda *_: None))

    able = [each for each in judgements if each.library != "kafka-python"]
    flaky = [each.script_id for each in able if each.confirmation is Confirmation.FLAKY]
    assert len(flaky) <= 1, flaky
    found = {(each.outcome, each.mismatches) for each in able if each.script_id not in flaky}
    assert found == {(Outcome.CONFORMS, ())}
    lacking = [each for each in judgements if each.library == "kafka-python"]
    assert {each.outcome for each in lacking} == {Outcome.NOT_APPLICABLE}
    assert all("group.protocol" in each.because for each in lacking)


def test_real_clients_carry_scripts_out_in_share_groups_and_streams_groups(tmp_path: Path) -> None:
    scripts = collect_client_scripts()
    java = asyncio.run(java_library("java", lambda _: None))
    plan = ClientsPlan(
        run_id="run",
        scripts=tuple(scripts[name] for name in IN_NEW_GROUPS),
        libraries=(LIBRARIES["confluent-kafka"], java),
        targets=(parse_target("kafka:latest"),),
        command="kafka-conformance clients --target kafka:latest",
        out=tmp_path,
        compares=False,
        jobs=4,
        patience_s=90.0,
    )

    judgements = asyncio.run(drive(plan, lambda *_: None))

    flaky = [each.script_id for each in judgements if each.confirmation is Confirmation.FLAKY]
    assert len(flaky) <= 1, flaky
    able = [each for each in judgements if each.outcome is not Outcome.NOT_APPLICABLE]
    found = {(each.outcome, each.mismatches) for each in able if each.script_id not in flaky}
    assert found == {(Outcome.CONFORMS, ())}
    assert {each.script_id for each in able if each.library == java.name} == {*IN_NEW_GROUPS}
    shared = [each.script_id for each in able if each.library == "confluent-kafka"]
    assert shared == [
        "clients/share/delivery/closes-with-records",
        "clients/share/delivery/three-members-share",
    ]

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

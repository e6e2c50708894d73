"""Some of the suites' client scripts on a broker in a container, which is restarted under its clients."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.clients.collect import collect_client_scripts
from harness.clients.libraries import LIBRARIES
from harness.clients.run import ClientsPlan, drive
from harness.targets.spec import parse_target
from harness.verdict import Confirmation, Outcome

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("needs_docker")]
pytest_plugins = ["harness.tests.docker_fixture"]

SCRIPTS = ("clients/coordinator/restarts", "clients/static/closes-and-returns")
ON_A_REAL_BROKER_ALONE = {"clients/coordinator/restarts"}


def test_real_clients_see_in_a_container_what_the_scripts_say_and_the_reference_shows(
    image_of: Callable[[str], str], tmp_path: Path
) -> None:
    scripts = collect_client_scripts()
    plan = ClientsPlan(
        run_id="run",
        scripts=tuple(scripts[name] for name in SCRIPTS),
        libraries=tuple(LIBRARIES.values()),
        targets=(parse_target(image_of("4.3.1")),),
        command="kafka-conformance clients --target container:apache/kafka:4.3.1",
        out=tmp_path,
        jobs=4,
        patience_s=90.0,
    )

    judgements = asyncio.run(drive(plan, lambda *_: None))

    assert len(judgements) == len(SCRIPTS) * len(LIBRARIES)
    # Real clients race: what does not show again accuses nobody, and is rare.
    flaky = [each.script_id for each in judgements if each.confirmation is Confirmation.FLAKY]
    assert len(flaky) <= 1, flaky
    for each in judgements:
        if each.confirmation is not Confirmation.FLAKY:
            found = (each.outcome, each.mismatches, each.differences, each.violations)
            assert found == (Outcome.CONFORMS, (), (), ()), each.script_id
    compared = {each.script_id for each in judgements if each.compared == "reference-tcp:4.3.1"}
    assert compared | ON_A_REAL_BROKER_ALONE == set(SCRIPTS)

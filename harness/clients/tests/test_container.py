"""Some of the suites' client scripts on a broker in a container, which is restarted under its clients."""

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.clients.libraries import LIBRARIES
from harness.tests.client_plans import carried_out
from harness.verdict import Outcome

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("needs_docker")]
pytest_plugins = ["harness.tests.docker_fixture"]

SCRIPTS = ("clients/coordinator/restarts", "clients/static/closes-and-returns")
ON_A_REAL_BROKER_ALONE = {"clients/coordinator/restarts"}


@pytest.mark.parametrize("scripts", [SCRIPTS[:1], pytest.param(SCRIPTS, marks=pytest.mark.release)])
def test_real_clients_see_in_a_container_what_the_scripts_say_and_the_reference_shows(
    image_of: Callable[[str], str], tmp_path: Path, scripts: tuple[str, ...]
) -> None:
    judgements, steady = carried_out(tmp_path, image_of("4.3.1"), scripts)

    assert len(judgements) == len(scripts) * len(LIBRARIES)
    for each in steady:
        found = (each.outcome, each.mismatches, each.differences, each.violations)
        assert found == (Outcome.CONFORMS, (), (), ()), each.scenario_id
    compared = {each.scenario_id for each in judgements if each.compared == "reference-tcp:4.3.1"}
    assert compared | ON_A_REAL_BROKER_ALONE == set(scripts)

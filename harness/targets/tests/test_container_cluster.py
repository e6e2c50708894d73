"""Clusters of three brokers in containers: their coordinator moves, dies, and loses its network."""

from itertools import pairwise
from pathlib import Path

import pytest

from harness.orchestration.run import orchestrate
from harness.targets.base.interface import BrokerAction, BrokerSession, ConnectionLost, Role
from harness.targets.containers.target import ContainerBroker
from harness.tests.completed_runs import Quiet, plan_of
from harness.tests.container_broker import (
    JAVA,
    SCALA,
    STRANGER,
    ImageOf,
    ask,
    commits,
    knows_the_coordinator,
    still_has,
    with_broker,
)
from harness.verdict import Outcome

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("needs_docker")]
pytest_plugins = ["harness.tests.docker_fixture"]


def test_a_cluster_of_three_moves_its_coordinator_and_outlives_it(tmp_path: Path, image_of: ImageOf) -> None:
    async def play(broker: ContainerBroker, session: BrokerSession) -> None:
        await commits(session, 7)
        elsewhere = await ask(session, "Heartbeat", 3, STRANGER, Role.OTHER)
        assert elsewhere.text("error_code") == "NOT_COORDINATOR"
        addresses = [broker.address(Role.COORDINATOR)]
        for action in (BrokerAction.MOVE, BrokerAction.DISCONNECT):
            await session.carry_out(action, {})
            await still_has(session, 7)
            addresses.append(broker.address(Role.COORDINATOR))
        with pytest.raises(ConnectionLost):
            await session.connect(Role.FORMER)
        await session.carry_out(BrokerAction.RECONNECT, {})
        await knows_the_coordinator(session)
        await session.carry_out(BrokerAction.KILL, {})
        await still_has(session, 7)
        addresses.append(broker.address(Role.COORDINATOR))
        assert all(one != other for one, other in pairwise(addresses)), "another one coordinates each time"
        assert broker.failure() is None

    broker = with_broker(f"{image_of(JAVA)}*3", tmp_path, play)

    assert broker.description.bootstrap.count(",") == 2
    assert {path.name for path in tmp_path.glob("*.log")} == {
        *(f"container-{number}.log" for number in (1, 2, 3)),
        "controller.log",
    }


def test_a_cluster_of_three_takes_over_from_who_has_no_network_as_the_reference_does(
    tmp_path: Path, image_of: ImageOf
) -> None:
    names = ("stable", "static", "preparing-rebalance", "completing-rebalance", "back-again")
    patterns = [f"failover/disconnect/{name}" for name in names]

    run = orchestrate(plan_of(tmp_path, (f"{image_of(SCALA)}*3",), *patterns), Quiet())

    judged = {each.scenario_id: each.outcome for each in run.checked.judgements if "x3" in each.target}
    assert judged == dict.fromkeys(patterns, Outcome.CONFORMS)

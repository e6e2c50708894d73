"""An unmodified Kafka by its address: every scenario that it can be driven with conforms."""

import asyncio
import json
import socket
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from harness.orchestration.run import CompletedRun, orchestrate
from harness.results.status import RED, status_of
from harness.targets.base.conformance import CONFORMANCE_CONFIG
from harness.targets.external.cleaning import Cleaner
from harness.targets.external.guard import Guard
from harness.targets.external.namespace import MARK, Namespace
from harness.targets.external.target import ExternalTarget
from harness.tests.completed_runs import Quiet, plan_of, spread, unexpected
from harness.tests.reference_broker import reference_broker
from harness.tests.stock_brokers import stock_brokers
from harness.verdict import STARVED, Outcome

pytestmark = pytest.mark.slow

LINGER = "group.coordinator.append.linger.ms"
LINGERING = {LINGER: "1000", "offsets.commit.timeout.ms": "2000"}
"""What a scenario about lingering asks for."""
SHARE = 0.85
"""Of the scenarios in versions that a broker serves, and that do nothing to it.

Nobody restarts, kills, moves or pauses a broker of others.
"""
SHARES = {"4.4.0": 0.78}
"""Of releases where it is another: for share fetches scenarios would have to write records and state."""
OF_A_PART = 0.05
"""How much less it may be of a part of the scenarios, where small sub-suites weigh more."""
OF_ALL = {"4.4.0": 0.6}
"""Of all scenarios there are, in releases that serve most of them."""
BEYOND_AN_ADDRESS = (" serves ", "does not serve", "is of before Kafka", "lacks the capability")
"""Reasons that no broker by its address can do anything about."""


def drive(reports: Path, address: str, *patterns: str) -> CompletedRun:
    return orchestrate(plan_of(reports, [f"external:{address}"], *patterns), Quiet())


async def left_on(address: str) -> list[str]:
    """Look for what bears the mark of the harness, and take nothing away."""
    host, _, port = address.rpartition(":")
    target = ExternalTarget(host, int(port))
    guard = Guard(namespace=Namespace(MARK))
    seen: list[str] = []

    def look(name: str) -> bool:
        if name.startswith(MARK):
            seen.append(name)
        return False

    layout = await target.layout(guard)
    await Cleaner(nodes=layout.nodes, guard=guard, is_ours=look).clean(limit_s=60)
    return seen


def require_nothing_red(run: CompletedRun) -> None:
    """Require that nothing is red but what the machine was too busy for."""
    red = [each for each in run.checked.judgements if status_of(each) in RED and STARVED not in each.reason]
    assert red == [], [f"{each.target} {each.scenario_id}: {each.reason}" for each in red]


def require_right(run: CompletedRun, version: str, *, is_whole: bool) -> None:
    """Require that nothing is red but what the machine was too busy for, and that enough was applicable."""
    require_nothing_red(run)
    judged = [each for each in run.checked.judgements if each.target.startswith("external-")]
    outcomes = Counter(each.outcome for each in judged)
    beyond = sum(any(why in each.reason for why in BEYOND_AN_ADDRESS) for each in judged)
    applicable = len(judged) - outcomes[Outcome.NOT_APPLICABLE]
    share = SHARES.get(version, SHARE) - (0 if is_whole else OF_A_PART)
    assert applicable >= share * (len(judged) - beyond), (outcomes, beyond)
    assert applicable >= OF_ALL.get(version, 0) * len(judged), outcomes
    assert all(each.reason for each in judged)


@pytest.mark.broker
@pytest.mark.parametrize(
    ("version", "node_count", "one_of"),
    [
        ("2.8.2", 1, 10),
        ("3.9.2", 3, 10),
        pytest.param("3.9.2", 1, 1, marks=pytest.mark.release),
        pytest.param("2.8.2", 1, 1, marks=pytest.mark.release),
        pytest.param("4.4.0", 1, 1, marks=pytest.mark.release),
        pytest.param("3.9.2", 3, 1, marks=pytest.mark.release),
    ],
)
async def test_a_stock_kafka_conforms(version: str, node_count: int, one_of: int, tmp_path: Path) -> None:
    async with stock_brokers(version, tmp_path, node_count=node_count) as nodes:
        host, port = next(iter(nodes.brokers.values())).address
        address = f"{host}:{port}"
        run = await asyncio.to_thread(drive, tmp_path / "reports", address, *spread(one_of))
        require_right(run, version, is_whole=one_of == 1)
        assert await left_on(address) == []
        code = subprocess.run(  # noqa: ASYNC221 - nothing else goes on
            [sys.executable, "-m", "harness.cli", "gate", str(tmp_path / "reports" / "run")], check=False
        ).returncode
        is_starved = any(STARVED in each.reason for each in unexpected(run))
        assert code == 0 or is_starved


def test_the_references_own_server_conforms(tmp_path: Path) -> None:
    with reference_broker("3.9", properties=()) as address:
        run = drive(tmp_path, address, "classic/join/**", "transactions/commit/**", "offsets/request/**")
        require_nothing_red(run)
        applicable = [each for each in run.checked.judgements if each.outcome == Outcome.CONFORMS]
        assert len(applicable) > 100
        assert asyncio.run(left_on(address)) == []


@pytest.mark.parametrize("limit_ms", [3_600_000, 120_000])
def test_transactions_conform_whatever_their_longest_timeout_is(tmp_path: Path, limit_ms: int) -> None:
    with reference_broker("4.4", properties=(f"transaction.max.timeout.ms={limit_ms}",)) as address:
        run = drive(tmp_path, address, "transactions/init/**")
        require_nothing_red(run)
        conform = {each.scenario_id for each in run.checked.judgements if each.outcome == Outcome.CONFORMS}
        assert "transactions/init/refused" in conform


def test_streams_groups_of_a_run_are_gone_with_topics_and_configurations(tmp_path: Path) -> None:
    with reference_broker("4.4", properties=()) as address:
        run = drive(tmp_path, address, "streams_groups/topics/**", "streams_groups/reconciliation/**")
        require_nothing_red(run)
        conform = {each.scenario_id for each in run.checked.judgements if each.outcome == Outcome.CONFORMS}
        assert conform >= {"streams_groups/topics/changelog", "streams_groups/reconciliation/one-leaves"}
        assert asyncio.run(left_on(address)) == []


def require_lingering(run: CompletedRun) -> None:
    """Require that the reference lingers as the broker says: otherwise it would find a commit too early."""
    outcomes = {each.scenario_id: (each.outcome, each.reason) for each in run.checked.judgements}
    commit = [each for each in run.checked.judgements if each.scenario_id == "failures/lingering/commit"]
    assert [each.outcome for each in commit] == [Outcome.CONFORMS] * 2, outcomes
    assert all(status_of(each) not in RED for each in run.checked.judgements), outcomes
    reference = next(each for each in run.checked.judgements if each.oracle is None).target
    headers = run.folder.read_headers(reference)
    assert [json.loads(each.broker_config)[LINGER] for each in headers] == ["1000"]


def test_the_reference_beside_an_external_broker_lingers_as_that_does(tmp_path: Path) -> None:
    properties = [f"{name}={value}" for name, value in {**CONFORMANCE_CONFIG, **LINGERING}.items()]
    with reference_broker("4.4", properties=properties) as address:
        require_lingering(drive(tmp_path, address, "failures/lingering/**"))


def test_an_external_broker_that_no_scenario_applies_to_is_judged_all_the_same(tmp_path: Path) -> None:
    with reference_broker("4.4", properties=()) as address:
        run = drive(tmp_path, address, "failures/lingering/**")
    assert {each.outcome for each in run.checked.judgements} == {Outcome.NOT_APPLICABLE}
    assert run.footer.ended == "complete"


@pytest.mark.broker
async def test_a_kafka_that_lingers_conforms(tmp_path: Path) -> None:
    settings = {**CONFORMANCE_CONFIG, **LINGERING}
    async with stock_brokers("4.3.1", tmp_path, settings=settings) as nodes:
        host, port = next(iter(nodes.brokers.values())).address
        reports = tmp_path / "reports"
        require_lingering(await asyncio.to_thread(drive, reports, f"{host}:{port}", "failures/lingering/**"))


def test_a_broker_that_is_not_there_is_reported_without_waiting_for_it_to_get_ready(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        run = drive(tmp_path, address, "classic/heartbeat/**")
    assert "connection refused, asked 6 times" in run.footer.ended

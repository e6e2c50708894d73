"""Clusters of others: however their coordinators lie, a run ends with a verdict and accuses nobody."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest
from typing_extensions import override

from harness.orchestration.run import CompletedRun, orchestrate
from harness.results.status import RED, ExitCode, status_of
from harness.targets.base.dialogue import Dialogue
from harness.targets.base.prepare import ask_until
from harness.targets.base.tcp import TcpSession, new_connect_slots
from harness.targets.kafka.local_nodes import LocalNodes
from harness.targets.tests.test_external_stock import left_on
from harness.tests.completed_runs import Quiet, plan_of, spread
from harness.tests.stock_brokers import stock_brokers
from harness.trace.events import LEADERS_MOVED
from harness.verdict import Outcome
from harness.wire.codec import Fields

pytestmark = [pytest.mark.slow, pytest.mark.broker]

PARTITIONS: Final = 50
OFFSETS, TRANSACTIONS = "__consumer_offsets", "__transaction_state"
Leads = Callable[[int], int]
"""From a partition to the broker that leads it."""
TIMEOUT_MS: Final = 60_000.0


def of_producers(run: CompletedRun) -> set[str]:
    """Return the outcomes of the scenarios that the transactions of producers are about."""
    judged = (each for each in run.checked.judgements if each.target.startswith("external-"))
    return {each.outcome for each in judged if each.scenario_id.startswith("transactions/commit/")}


async def ask(nodes: LocalNodes, api: str, version: int, fields: Fields) -> None:
    """Ask each broker until one that may answers."""

    async def once(dialogue: Dialogue) -> None:
        await dialogue.learn_versions()
        answer = await dialogue.ask(api, version, fields)
        codes = {answer.text("error_code"), *(row.text("error_code") for row in answer.rows("topics"))}
        assert codes <= {None, "NONE", "NOT_CONTROLLER", "TOPIC_ALREADY_EXISTS"}, codes

    for node in nodes.brokers.values():
        session = TcpSession(*node.address, connect_slots=new_connect_slots())
        await ask_until(session, once, timeout_ms=TIMEOUT_MS, failure=nodes.failure)
        await session.close()


async def lay_out(nodes: LocalNodes, leads: Mapping[str, Leads], copies: int = 1) -> None:
    """Create the topics of both coordinators, with a leader for each partition."""
    ids = sorted(nodes.brokers)

    def replicas(leader: int) -> Sequence[int]:
        return [leader, *(each for each in ids if each != leader)][:copies]

    topics: list[Fields] = [
        {
            "name": topic,
            "num_partitions": -1,
            "replication_factor": -1,
            "assignments": [
                {"partition_index": index, "broker_ids": replicas(leader(index))}
                for index in range(PARTITIONS)
            ],
            "configs": [{"name": "cleanup.policy", "value": "compact"}],
        }
        for topic, leader in leads.items()
    ]
    await ask(nodes, "CreateTopics", 4, {"topics": topics, "timeout_ms": 5000})


async def rotate(nodes: LocalNodes) -> None:
    """Move every partition of the group coordinators' topic to the next broker."""
    ids = sorted(nodes.brokers)
    partitions: list[Fields] = [
        {"partition_index": index, "replicas": [ids[(index + 1) % len(ids)]]} for index in range(PARTITIONS)
    ]
    topics: list[Fields] = [{"name": OFFSETS, "partitions": partitions}]
    await ask(nodes, "AlterPartitionReassignments", 0, {"topics": topics, "timeout_ms": 5000})


async def run_on(
    nodes: LocalNodes, reports: Path, *patterns: str, watcher: Quiet | None = None
) -> CompletedRun:
    host, port = next(iter(nodes.brokers.values())).address
    plan = replace(plan_of(reports, [f"external:{host}:{port}"], *patterns), confirm_s=120.0)
    run = await asyncio.to_thread(orchestrate, plan, watcher or Quiet())
    red = [each for each in run.checked.judgements if status_of(each) in RED]
    assert red == [], [f"{each.target} {each.scenario_id}: {each.reason}" for each in red]
    assert run.footer.ended == "complete"
    assert await left_on(f"{host}:{port}") == []
    return run


@pytest.mark.parametrize(
    ("version", "node_count", "offsets", "transactions", "has_producers"),
    [
        pytest.param("4.4.0", 2, lambda _: 1, lambda _: 2, False, marks=pytest.mark.release),
        ("4.4.0", 3, lambda index: 1 + index % 3, lambda index: 1 + (index + 1) % 3, True),
        pytest.param(
            *("3.9.2", 2, lambda index: 1 + index % 2, lambda _: 1, True),
            marks=pytest.mark.release,
        ),
        pytest.param(
            *("2.8.2", 3, lambda index: 1 + index % 3, lambda index: 1 + (index + 1) % 3),
            True,
            marks=pytest.mark.release,
        ),
        pytest.param(
            *("4.4.0", 2, lambda index: 1 + index % 2, lambda index: 1 + (index + 1) % 2),
            True,
            marks=pytest.mark.release,
        ),
        pytest.param(
            *("3.9.2", 3, lambda index: 1 + index // 17, lambda index: 3 - index // 17),
            True,
            marks=pytest.mark.release,
        ),
    ],
    ids=[
        "apart",
        "no partition alike",
        "one of all",
        "no partition alike, ZooKeeper",
        "crosswise",
        "in stretches",
    ],
)
async def test_a_cluster_conforms_however_its_leaders_lie(
    version: str, node_count: int, offsets: Leads, transactions: Leads, tmp_path: Path, *, has_producers: bool
) -> None:
    async with stock_brokers(version, tmp_path, node_count=node_count) as nodes:
        await lay_out(nodes, {OFFSETS: offsets, TRANSACTIONS: transactions})
        run = await run_on(nodes, tmp_path / "reports", "transactions/commit/**", *spread(10))
    assert (Outcome.CONFORMS in of_producers(run)) is has_producers


class _Rotating(Quiet):
    """Moves the coordinators once a few scenarios have ended."""

    def __init__(self, nodes: LocalNodes) -> None:
        self._nodes = nodes
        self._ended_count = 0
        self.move: asyncio.Task[None] | None = None

    @override
    def scenario_ended(self, target: str, scenario_id: str) -> None:
        self._ended_count += target.startswith("external-")
        if self._ended_count > 5 and self.move is None:
            self.move = asyncio.get_running_loop().create_task(rotate(self._nodes))


async def test_what_is_cut_when_coordinators_move_is_run_again_and_nothing_is_red(tmp_path: Path) -> None:
    async with stock_brokers("4.4.0", tmp_path, node_count=2) as nodes:
        leads = {OFFSETS: lambda index: 1 + index % 2, TRANSACTIONS: lambda index: 1 + index % 2}
        await lay_out(nodes, leads)
        watcher = _Rotating(nodes)
        chosen = [each for each in spread(3) if each.startswith("classic/")]
        run = await run_on(nodes, tmp_path / "reports", *chosen, watcher=watcher)
        assert watcher.move is not None
    cut = [each for each in run.checked.judgements if LEADERS_MOVED in each.reason]
    assert any(each.outcome == Outcome.CONFORMS for each in cut), "what was cut is run again"
    assert run.exit_code in {ExitCode.EXPECTED, ExitCode.INDETERMINATE}

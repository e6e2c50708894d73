"""A search in shares: what came of them is joined, and an executor that is lost costs no finding."""

import asyncio
import os
import signal
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from harness.orchestration.share_process import OUTCOME, attempted, whole
from harness.results.status import ExitCode
from harness.search.hunt import Order
from harness.search.on_cluster import (
    SearchShare,
    deal_corpus,
    share_count,
    shares_of,
)
from harness.search.outcome_file import SearchOutcome, merged, read_outcome
from harness.search.target_hunt import BrokerOrder
from harness.search.tests.made_findings import reference_of
from harness.targets.external.target import ExternalTarget
from harness.tests.cluster_processes import a_share, commands, executor_above, signed
from harness.tests.completed_runs import command_line
from harness.tests.patience import awaited, wait_until
from harness.trace.schema import TraceError

_SEED = 7
_SIDES = ("--target", "reference:4.4", "--against", "reference:4.3")


def _shares(folder: Path, *, steps: int, count: int = 2) -> Sequence[SearchShare]:
    one, other = (reference_of(each) for each in ("4.4", "4.3"))
    folder.mkdir()
    return shares_of(
        Order(target=one, against=other, steps=steps, seed=_SEED),
        count,
        names=("reference:4.4", "reference:4.3"),
        reproduced=lambda seed, steps: (
            f"kafka-conformance search {' '.join(_SIDES)} --seed {seed} --steps {steps}"
        ),
        folder=folder,
    )


def _carried_out(share: SearchShare) -> SearchOutcome:
    asyncio.run(attempted(share, 0))
    attempt = whole(share)
    assert attempt is not None
    return read_outcome(attempt / OUTCOME)


@pytest.mark.slow
def test_what_two_shares_found_of_one_cause_is_one_finding_with_the_shorter_conversation(
    tmp_path: Path,
) -> None:
    one, other = (_carried_out(each) for each in _shares(tmp_path / "shares", steps=1_600))

    both = merged([one, other])

    assert both.harvest.steps == one.harvest.steps + other.harvest.steps >= 1_600
    assert {*both.harvest.pairs} == {*one.harvest.pairs} | {*other.harvest.pairs}
    behaviours = [each.cluster.behaviours for each in both.findings]
    assert len(behaviours) == len({*behaviours}) < len(one.findings) + len(other.findings)
    by_behaviours = [
        {each.cluster.behaviours: each.cluster for each in some.findings} for some in (one, other)
    ]
    for cluster in both.harvest.clusters:
        found = [each[cluster.behaviours] for each in by_behaviours if cluster.behaviours in each]
        assert cluster.count == sum(each.count for each in found)
        assert len(cluster.script.steps) == min(len(each.script.steps) for each in found)


def test_shares_have_all_steps_and_seeds_and_conversations_of_the_corpus(tmp_path: Path) -> None:
    shares = _shares(tmp_path / "shares", steps=1_001, count=3)
    kept = tmp_path / "kept"
    kept.mkdir()
    for number in range(4):
        (kept / f"{number}.json").touch()

    deal_corpus(kept, shares)

    assert [(each.order.seed, each.order.steps) for each in shares] == [(7, 334), (8, 334), (9, 333)]
    assert [len([*(each.folder / "corpus").iterdir()]) for each in shares] == [2, 1, 1]


def test_a_broker_that_runs_already_is_one_share() -> None:
    order = BrokerOrder(
        targets=(ExternalTarget("127.0.0.1", 9092),), run_id="run", steps=100, seed=1, batch=10, jobs=4
    )

    assert share_count(4, 8, order) == 1
    assert share_count(4, 8, replace(order, targets=())) == 4
    assert share_count(None, 8, replace(order, targets=())) == 8
    assert share_count(None, 8, replace(order, targets=(), steps=3)) == 3


def test_a_damaged_outcome_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "outcome.json"
    path.write_text('{"found": []}')

    with pytest.raises(TraceError, match=r"outcome\.json: \d+ fields of it are wrong"):
        read_outcome(path)


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.release
def test_a_search_of_which_an_executor_is_killed_finds_what_one_on_this_machine_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sign, out, steps = signed(monkeypatch), tmp_path / "out", 2_000
    arguments = (*_SIDES, "--steps", f"{steps}", "--seed", f"{_SEED}", "--write", f"{out / 'found'}")
    out.mkdir()
    with command_line("search", "--on", "local-cluster[2,1,1024]", *arguments, out=out) as process:
        wait_until(lambda: any(out.glob(".shares-*/search/*/attempt-0/corpus/*.json")), what="a conversation")
        running = commands(sign)
        share = a_share(running)
        os.kill(executor_above(share, running), signal.SIGKILL)
        wait_until(lambda: share not in commands(sign), what="the share ends with its executor")
        awaited(process)
        log = (out / "log").read_text()
        assert process.returncode == ExitCode.EXPECTED, log
        assert "began 2 times" in log
        wait_until(lambda: not commands(sign), what="nothing of the search is left")

    here = merged([_carried_out(each) for each in _shares(tmp_path / "here", steps=steps)])
    found = {each.stem: each.read_text() for each in (out / "found").glob("[!_]*.py")}
    assert found == {each.written.module: each.written.text for each in here.findings}
    assert not list(out.glob(".shares-*"))

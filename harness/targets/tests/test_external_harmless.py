"""A broker full of others' groups, topics and transactions, before and after a run of the whole suite."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import NoReturn

import confluent_kafka as ck
import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from harness.orchestration.run import orchestrate
from harness.targets.base.interface import TargetError
from harness.targets.external import target as external_target
from harness.targets.external.namespace import MARK
from harness.targets.external.target import ExternalTarget
from harness.targets.tests.others import OF_TYPES, have_groups_of_every_type, logs, mentions, others, reported
from harness.targets.tests.test_external_stock import left_on
from harness.tests.completed_runs import CHECKOUT, Quiet, plan_of, spread
from harness.tests.lying_broker import PATIENCE_S, Lie, lying, serving, sized
from harness.tests.patience import NOW_OR_NEVER_S
from harness.tests.reference_broker import reference_broker
from harness.tests.stock_brokers import stock_brokers

pytestmark = pytest.mark.slow

AS_SCRIPTS_WANT = {
    "auto.create.topics.enable": "false",
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "100",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
}
"""Settings with which scripts that destroy find what they ask for."""
OF_NEWER_TYPES = (
    *("access/", "admin/", "consumer_groups/", "migration/"),
    *("share_fetch/", "share_groups/", "streams_groups/", "type_conflicts/"),
)
"""How scenarios begin that name such groups, entries or configurations, or whole brokers."""
WOULD_TOUCH = ("admin/no-log/nobody-coordinates", "transactions/markers/elsewhere")
WITH_ENTRIES = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}


@pytest.mark.broker
@pytest.mark.parametrize("one_of", [5, pytest.param(1, marks=pytest.mark.release)])
async def test_a_run_touches_nothing_of_others(tmp_path: Path, one_of: int) -> None:
    async with stock_brokers("3.9.2", tmp_path, settings=AS_SCRIPTS_WANT) as nodes:
        host, port = next(iter(nodes.brokers.values())).address
        address = f"{host}:{port}"
        with others(address):
            before = logs(nodes), mentions(nodes), await reported(address)
            assert sum(map(len, before[0].values())) > 1000
            assert before[1]["payroll"]
            plan = plan_of(tmp_path / "reports", [f"external:{address}"], *WOULD_TOUCH, *spread(one_of))
            run = await asyncio.to_thread(orchestrate, plan, Quiet())
            assert (logs(nodes), mentions(nodes), await reported(address)) == before
            assert await left_on(address) == [f"{MARK}mine", f"{MARK}backup"]
        judged = {
            each.scenario_id: each for each in run.checked.judgements if each.target.startswith("external-")
        }
        for scenario_id in WOULD_TOUCH:
            assert judged[scenario_id].outcome == "not applicable"
            assert judged[scenario_id].reason.startswith("would touch what is not ours")


@pytest.mark.broker
@pytest.mark.parametrize("one_of", [15, pytest.param(1, marks=pytest.mark.release)])
async def test_a_run_touches_no_group_of_any_type_nor_an_entry_nor_a_configuration(
    tmp_path: Path, one_of: int
) -> None:
    chosen = [each for each in spread(one_of) if each.startswith(OF_NEWER_TYPES)]
    async with stock_brokers("4.4.0", tmp_path, settings=AS_SCRIPTS_WANT | WITH_ENTRIES) as nodes:
        host, port = next(iter(nodes.brokers.values())).address
        address = f"{host}:{port}"
        with others(address):
            await have_groups_of_every_type(address)
            before = logs(nodes), mentions(nodes), await reported(address)
            assert all(before[1][group] for group in OF_TYPES)
            assert all(f"audit-{kind}" in str(before[2]["list"]) for kind in ("share", "streams"))
            assert "User:auditor" in str(before[2]["DescribeAcls"])
            assert "50000" in str(before[2]["DescribeConfigs"])
            plan = plan_of(tmp_path / "reports", [f"external:{address}"], *chosen)
            run = await asyncio.to_thread(orchestrate, plan, Quiet())
            assert (logs(nodes), mentions(nodes), await reported(address)) == before
            assert await left_on(address) == [f"{MARK}mine", f"{MARK}backup"]
        applied = {each.scenario_id for each in run.checked.judgements if each.outcome == "conforms"}
        assert {each.partition("/")[0] for each in applied} >= {
            "consumer_groups",
            "share_groups",
            "streams_groups",
        }


@pytest.mark.broker
@pytest.mark.parametrize(
    "command",
    [
        ("race", "commit-leave", "static-twins", "--rounds", "3"),
        ("clients", "--client", "confluent-kafka", "clients/rebalance/eager", "clients/delivery/**"),
    ],
)
async def test_races_and_real_clients_touch_nothing_of_others(
    command: tuple[str, ...], tmp_path: Path
) -> None:
    async with stock_brokers("3.9.2", tmp_path, settings=AS_SCRIPTS_WANT) as nodes:
        host, port = next(iter(nodes.brokers.values())).address
        address = f"{host}:{port}"
        with others(address):
            before = logs(nodes), await reported(address)
            options = ["--target", f"external:{address}", "--out", str(tmp_path / "reports")]
            done = await asyncio.to_thread(
                subprocess.run,
                [sys.executable, "-m", "harness.cli", *command, *options],
                cwd=CHECKOUT,
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, done.stdout + done.stderr
            assert done.stdout.startswith(f"external:{address} is an external broker")
            assert (logs(nodes), await reported(address)) == before
            assert await left_on(address) == [f"{MARK}mine", f"{MARK}backup"]


CLASSIC = ("classic/initial-delay/**", "classic/join/**")
STREAMS = ("streams_groups/**",)


OPENS_A_TRANSACTION = '''
from harness.scenario import Conversation, scenario
from suites.transactions.producers import pending


@scenario("waiting/transaction/open", source="TransactionCoordinator#handleEndTransaction")
def nobody_ends_it(conversation: Conversation) -> None:
    """A transaction is open until the run is interrupted."""
    pending(conversation)
    conversation.elapses(60_000)
'''


def _run(
    address: str,
    reports: Path,
    run_id: str,
    patterns: tuple[str, ...] = CLASSIC,
    *,
    suites: Path = CHECKOUT,
) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "harness.cli", "run", "--target", f"external:{address}", "--no-report"]
    options = ["--run-id", run_id, "--out", str(reports), *patterns]
    return subprocess.Popen(
        [*command, *options],
        cwd=CHECKOUT,
        env={**os.environ, "PYTHONPATH": str(suites)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


async def _until_there_is_something(
    run: "subprocess.Popen[str]", address: str, what: str = "classic"
) -> None:
    while not any(what in name for name in await left_on(address)):
        assert run.poll() is None, run.communicate()
        await asyncio.sleep(0.1)


def _clean(address: str, *options: str) -> str:
    command = [sys.executable, "-m", "harness.cli", "clean", f"external:{address}", *options]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("how", "profile", "patterns", "made"),
    [
        (signal.SIGINT, "3.9", CLASSIC, "classic"),
        (signal.SIGTERM, "3.9", CLASSIC, "classic"),
        (signal.SIGINT, "4.4", STREAMS, "streams_groups"),
    ],
)
def test_a_run_that_is_interrupted_takes_away_what_it_made(
    how: signal.Signals, profile: str, patterns: tuple[str, ...], made: str, tmp_path: Path
) -> None:
    with reference_broker(profile, properties=()) as address, _run(address, tmp_path, "cut", patterns) as run:
        asyncio.run(_until_there_is_something(run, address, made))
        os.kill(run.pid, how)
        run.communicate()
        assert asyncio.run(left_on(address)) == []


@pytest.mark.parametrize("profile", [pytest.param("3.9", marks=pytest.mark.release), "4.4"])
def test_a_transaction_that_an_interrupted_run_has_open_is_aborted(profile: str, tmp_path: Path) -> None:
    suite = tmp_path / "suites_of_its_own" / "opens_a_transaction"
    suite.mkdir(parents=True)
    (suite / "__init__.py").write_text(OPENS_A_TRANSACTION)
    chosen = ("--suites", suite.name)

    with (
        reference_broker(profile, properties=()) as address,
        _run(address, tmp_path, "cut", chosen, suites=suite.parent) as run,
    ):
        asyncio.run(_until_there_is_something(run, address, "txn"))
        run.send_signal(signal.SIGINT)
        said, _ = run.communicate()
        assert "left behind" not in said
        assert asyncio.run(left_on(address)) == []


def test_who_interrupts_the_cleaning_too_is_shown_how_to_go_on(tmp_path: Path) -> None:
    is_deleting, may_go_on = threading.Event(), threading.Event()

    def unanswered(answer: bytes, _: str, __: int) -> Iterator[bytes]:
        is_deleting.set()
        may_go_on.wait(PATIENCE_S)
        yield sized(answer)

    with reference_broker("3.9", properties=()) as address:
        true_port = int(address.rpartition(":")[2])
        with (
            serving(lying(true_port, Lie(unanswered, api="ListGroups"))) as port,
            _run(f"127.0.0.1:{port}", tmp_path, "cut") as run,
        ):
            asyncio.run(_until_there_is_something(run, address))
            # A scenario may have listed groups, too.
            is_deleting.clear()
            run.send_signal(signal.SIGINT)
            assert is_deleting.wait(NOW_OR_NEVER_S)
            run.send_signal(signal.SIGINT)
            said, _ = run.communicate()
            may_go_on.set()
        assert f"clean external:127.0.0.1:{port} --run cut` goes on" in said
        assert "Traceback" not in said
        assert asyncio.run(left_on(address)) != []
        _clean(address, "--run", "cut")
        assert asyncio.run(left_on(address)) == []


async def fails() -> NoReturn:
    raise TargetError("it says nothing")


async def is_cancelled() -> NoReturn:
    raise asyncio.CancelledError


async def never_ends() -> NoReturn:
    await asyncio.Event().wait()
    raise AssertionError


@pytest.mark.parametrize(
    ("described", "error", "says"),
    [
        (fails, TargetError, "it says nothing"),
        (is_cancelled, asyncio.CancelledError, "^$"),
        (never_ends, TargetError, "did not say how it is configured within"),
    ],
)
async def test_what_set_up_made_is_taken_away_where_set_up_ends_early_or_never(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    described: Callable[[], Awaitable[NoReturn]],
    error: type[BaseException],
    says: str,
) -> None:
    monkeypatch.setattr(external_target, "described_config", lambda *_: described())
    monkeypatch.setattr(external_target, "_DESCRIBED_WITHIN_S", 1.0)
    with reference_broker("3.9", properties=()) as address:
        host, _, port = address.rpartition(":")
        target = ExternalTarget(host, int(port), timeout_ms=5_000)
        with pytest.raises(error, match=says):
            await target.start(broker_config={}, directory=tmp_path, progress=lambda _: None)
        assert await left_on(address) == []


def test_what_a_killed_run_left_is_taken_away_and_nothing_else(tmp_path: Path) -> None:
    with reference_broker("3.9", properties=()) as address:
        theirs = ck.Consumer({"bootstrap.servers": address, "group.id": f"{MARK}mine", "log_level": 2})
        admin = AdminClient({"bootstrap.servers": address})
        admin.create_topics([NewTopic("orders", 1, 1)])["orders"].result(60)
        theirs.commit(offsets=[ck.TopicPartition("orders", 0, 7)], asynchronous=False)
        theirs.close()
        with _run(address, tmp_path, "killed") as run:
            asyncio.run(_until_there_is_something(run, address))
            run.kill()
            run.communicate()
        left = asyncio.run(left_on(address))
        assert len(left) > 2
        assert "0 groups and 0 topics deleted" in _clean(address)
        assert "0 groups and 0 topics deleted" in _clean(address, "--run", "kill")
        assert asyncio.run(left_on(address)) == left
        assert "2 topics deleted" in _clean(address, "--run", "killed")
        assert asyncio.run(left_on(address)) == [f"{MARK}mine"]


def test_streams_groups_of_a_killed_run_are_taken_away_with_topics_and_configurations(tmp_path: Path) -> None:
    with reference_broker("4.4", properties=()) as address:
        with _run(address, tmp_path, "killed", STREAMS) as run:
            asyncio.run(_until_there_is_something(run, address, "streams_groups.topics"))
            run.kill()
            run.communicate()
        _clean(address, "--run", "killed")
        assert asyncio.run(left_on(address)) == []


def test_real_clients_do_not_go_round_the_guard(tmp_path: Path) -> None:
    options = ["--target", "external:127.0.0.1:1", "--no-tap", "--client", "confluent-kafka"]
    done = subprocess.run(
        [sys.executable, "-m", "harness.cli", "clients", *options, "--out", str(tmp_path)],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 64
    assert "which the tap guards" in done.stderr

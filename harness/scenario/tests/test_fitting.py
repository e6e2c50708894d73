"""Scripts about a setting are run with the broker's own value of it, where they then mean the same."""

import pytest

from harness.scenario.fitting import INITIAL_DELAY, MAX_TRANSACTION, METADATA_BYTES, MIN_SESSION, fitted
from harness.scenario.script import Elapse, Receive, Script, Send
from harness.tests.completed_runs import catalogue

STOCK = {
    INITIAL_DELAY: "3000",
    MIN_SESSION: "6000",
    METADATA_BYTES: "4096",
    "group.max.session.timeout.ms": "1800000",
}
SCRIPTS = catalogue()


def sessions(script: Script) -> set[object]:
    return {
        step.fields.get("session_timeout_ms")
        for step in script.steps
        if isinstance(step, Send) and step.api == "JoinGroup"
    }


def elapsed_ms(script: Script) -> int:
    return sum(step.duration_ms for step in script.steps if isinstance(step, Elapse))


def test_a_script_is_left_alone_where_the_settings_are_its_own() -> None:
    assert all(fitted(each, each.broker_config) is each for each in SCRIPTS.values())


def test_times_grow_with_the_shortest_session() -> None:
    script = SCRIPTS["classic/heartbeat/silent-follower"]
    longer = fitted(script, STOCK)
    assert sessions(script) == {2_000, 30_000}
    assert sessions(longer) == {6_000, 90_000}
    assert elapsed_ms(longer) == 3 * elapsed_ms(script)
    assert longer.broker_config == {MIN_SESSION: "6000"}


def test_what_is_at_the_bounds_of_sessions_is_at_the_brokers() -> None:
    script = SCRIPTS["classic/join/session-timeout-at-the-bounds"]
    assert sessions(script) == {100, 1_800_000}
    at_stock = fitted(script, {**STOCK, "group.max.session.timeout.ms": "300000"})
    assert sessions(at_stock) == {6_000, 300_000}
    assert at_stock.broker_config == {MIN_SESSION: "6000"}


def test_bounds_grow_with_the_initial_delay() -> None:
    script = SCRIPTS["classic/initial-delay/first-member-waits"]
    before, after = (
        [(s.not_before_ms, s.not_after_ms) for s in each.steps if isinstance(s, Receive)][-1]
        for each in (script, fitted(script, STOCK))
    )
    assert after == tuple(1.5 * (each or 0) for each in before)
    assert any(before)


def test_what_is_too_large_by_one_stays_so() -> None:
    def lengths(script: Script) -> set[int]:
        return {
            len(partition["committed_metadata"])  # type: ignore[arg-type,call-overload,index] # a request's rows
            for step in script.steps
            if isinstance(step, Send) and step.api == "OffsetCommit"
            for topic in step.fields["topics"]  # type: ignore[union-attr] # likewise
            for partition in topic["partitions"]  # type: ignore[call-overload,index,union-attr] # likewise
        }

    script = SCRIPTS["offsets/request/metadata-too-large"]
    grown = fitted(script, STOCK)
    limit = {length for length in lengths(script) if length >= 10}
    assert {length - 4_086 for length in lengths(grown) if length >= 10} == limit


def transactions(script: Script) -> list[object]:
    return [
        step.fields["transaction_timeout_ms"]
        for step in script.steps
        if isinstance(step, Send) and step.api == "InitProducerId"
    ]


@pytest.mark.parametrize("limit_ms", [100_000, 3_600_000])
def test_what_is_at_the_limit_of_transactions_is_at_the_brokers(limit_ms: int) -> None:
    script = SCRIPTS["transactions/init/refused"]
    at_broker = fitted(script, {MAX_TRANSACTION: str(limit_ms)})
    assert transactions(script) == [0, 0, 900_001]
    assert transactions(at_broker) == [0, 0, limit_ms + 1]
    assert at_broker.broker_config == {MAX_TRANSACTION: str(limit_ms)}


@pytest.mark.parametrize("limit_ms", [10_000, 2**31 - 1])
def test_a_limit_of_transactions_that_a_script_cannot_be_fitted_to_is_not_its_own(limit_ms: int) -> None:
    script = SCRIPTS["transactions/init/refused"]
    at_broker = fitted(script, {MAX_TRANSACTION: str(limit_ms)})
    assert transactions(at_broker) == transactions(script)
    assert at_broker.broker_config == {MAX_TRANSACTION: "900000"}


def test_no_script_has_a_transaction_that_only_the_default_limit_allows() -> None:
    limit_ms = 60_000
    for each in SCRIPTS.values():
        asked = transactions(fitted(each, {MAX_TRANSACTION: str(limit_ms)}))
        assert all(isinstance(of, int) and of <= limit_ms + 1 for of in asked), each.id


@pytest.mark.parametrize(
    "scenario_id",
    [
        "classic/initial-delay/pending-id-expires",
        "classic/initial-delay/zero",
        "static_membership/successor/of-a-new-member",
    ],
)
def test_what_would_mean_something_else_still_asks_for_its_own_settings(scenario_id: str) -> None:
    script = SCRIPTS[scenario_id]
    assert fitted(script, STOCK) is script

"""Brokers that answer unlike Kafka: they are tried, unless they cannot be told from one that still loads."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from harness.cli.run import refuse_shared
from harness.orchestration.plan import PlanError
from harness.orchestration.run import CompletedRun, orchestrate
from harness.results.status import ExitCode
from harness.targets.base.interface import TargetError
from harness.targets.external.guard import Guard, NotOurs
from harness.targets.external.namespace import Namespace, TopicNames
from harness.targets.external.restarting import RestartCommand
from harness.targets.external.stated import Stated, StatedError, parse_topics
from harness.targets.external.target import ExternalTarget
from harness.tests.completed_runs import Quiet, plan_of, reference_server
from harness.tests.lying_broker import Lie, Parts, lying, serving, sized, with_field
from harness.verdict import Outcome
from harness.wire.codec import Fields, decode_response, encode_response
from harness.wire.schema import api_key

WITHOUT_TOPIC = "classic/heartbeat/unknown-group"
COMMITS = "offsets/fetch/all"
BEYOND = "offsets/edge/commit-beyond-the-last-partition"


@pytest.fixture(scope="module", name="truth")
def _truth(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with reference_server("4.4", log=tmp_path_factory.mktemp("truth") / "server.log") as port:
        yield port


@contextmanager
def odd_broker(truth: int, **odd: Parts) -> Iterator[int]:
    """Serve what the true broker says, with other answers of some APIs."""

    def parts(answer: bytes, api: str, version: int) -> Iterator[bytes]:
        yield from odd[api](answer, api, version) if api in odd else (sized(answer),)

    with serving(lying(truth, Lie(parts))) as port:
        yield port


def garbage(answer: bytes, _: str, __: int) -> Iterator[bytes]:
    yield sized(answer[:4] + b"\xff" * 9)


def without(*apis: str) -> Parts:
    def change(fields: Fields) -> Fields:
        rows = fields["api_keys"]
        assert isinstance(rows, list | tuple)
        keys = [*map(api_key, apis)]
        left = [row for row in rows if isinstance(row, Mapping) and row["api_key"] not in keys]
        return {**fields, "api_keys": left}

    return changed(change)


def changed(change: Callable[[Fields], Fields]) -> Parts:
    def parts(answer: bytes, api: str, version: int) -> Iterator[bytes]:
        read = decode_response(api, version, answer)
        correlation_id = read.correlation_id
        yield sized(
            encode_response(api, version, correlation_id=correlation_id, fields=change(dict(read.fields)))
        )

    return parts


def target_at(
    port: int, *, timeout_ms: float = 20_000, topics: Mapping[str, str] | None = None
) -> ExternalTarget:
    known = Stated(topics=topics or {}, may_lack_topics=True)
    return ExternalTarget("127.0.0.1", port, profile="4.4", timeout_ms=timeout_ms, stated=known)


def run_on(target: ExternalTarget, reports: Path, *scenarios: str) -> CompletedRun:
    return orchestrate(plan_of(reports, [target], *scenarios), Quiet())


def reasons(run: CompletedRun, target: ExternalTarget) -> dict[str, tuple[str, str]]:
    return {
        each.scenario_id: (each.outcome, each.reason)
        for each in run.checked.judgements
        if each.target == target.name
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    "odd",
    [
        pytest.param({"Heartbeat": with_field("error_code", "GROUP_ID_NOT_FOUND")}, id="another heartbeat"),
        pytest.param({"OffsetFetch": garbage}, id="offsets that cannot be read"),
        pytest.param({"OffsetFetch": with_field("error_code", "UNKNOWN_SERVER_ERROR")}, id="an error"),
        pytest.param({"FindCoordinator": garbage}, id="a coordinator that cannot be read"),
        pytest.param({"ApiVersions": without("FindCoordinator", "OffsetFetch")}, id="without OffsetFetch"),
        pytest.param(
            dict.fromkeys(("AddOffsetsToTxn", "DescribeConfigs", "DescribeGroups"), garbage),
            id="rights and settings that cannot be read",
        ),
        pytest.param({"DescribeGroups": with_field("groups", [])}, id="a group that is not described"),
        pytest.param({"Metadata": garbage}, id="metadata that cannot be read"),
    ],
)
def test_a_broker_that_answers_steadily_is_ready_whatever_it_answers(
    tmp_path: Path, truth: int, odd: Mapping[str, Parts]
) -> None:
    with odd_broker(truth, **odd) as port:
        target = target_at(port)
        run = run_on(target, tmp_path, WITHOUT_TOPIC)
    assert run.footer.ended == "complete"
    outcome, _ = reasons(run, target)[WITHOUT_TOPIC]
    assert outcome == (Outcome.DIVERGES if "Heartbeat" in odd else Outcome.CONFORMS)


@pytest.mark.parametrize("odd", [{"ListGroups": garbage}, {"ApiVersions": without("ListGroups")}])
def test_a_broker_that_does_not_list_its_groups_is_restarted_only_on_demand(
    truth: int, odd: Mapping[str, Parts]
) -> None:
    with odd_broker(truth, **odd) as port:
        target = target_at(port)
        target.restart_command = RestartCommand(text="true")
        with pytest.raises(PlanError, match=r"does not say which groups it has .*--restart-shared"):
            refuse_shared([target])


def test_a_broker_that_a_question_ends_is_reported_with_the_question(tmp_path: Path, truth: int) -> None:
    ends = threading.Event()

    def end(_: bytes, __: str, ___: int) -> Iterator[bytes]:
        ends.set()
        yield from ()

    with ExitStack() as broker:
        port = broker.enter_context(serving(lying(truth, Lie(end, api="OffsetFetch", closes=True))))
        ending = threading.Thread(
            target=lambda: ends.wait(20) and broker.pop_all().__exit__(None, None, None)
        )
        ending.start()
        run = run_on(target_at(port, timeout_ms=1_000), tmp_path, WITHOUT_TOPIC)
        ending.join()
    assert "connection refused; before, it accepted them, until OffsetFetch" in run.footer.ended


@pytest.mark.parametrize("api", ["OffsetFetch", "DescribeGroups", "FindCoordinator"])
@pytest.mark.parametrize(
    "error", ["COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR"]
)
def test_a_broker_that_loads_for_ever_is_reported_with_its_answer(
    tmp_path: Path, truth: int, api: str, error: str
) -> None:
    lacking = without("OffsetFetch") if api == "DescribeGroups" else without()
    odd = {"ApiVersions": lacking, api: with_field("error_code", error)}
    with odd_broker(truth, **odd) as port:
        run = run_on(target_at(port, timeout_ms=500), tmp_path, WITHOUT_TOPIC)
    assert run.exit_code == ExitCode.UNAVAILABLE
    assert f"{api} answers {error}" in run.footer.ended


def test_a_broker_that_loads_at_first_is_awaited(tmp_path: Path, truth: int) -> None:
    lock, asked = threading.Lock(), iter(range(1000))

    def at_first(answer: bytes, api: str, version: int) -> Iterator[bytes]:
        with lock:
            number = next(asked)
        loads = with_field("error_code", "COORDINATOR_LOAD_IN_PROGRESS")
        # The first of two answers is one of a broker that is ready, and the second is not.
        yield from loads(answer, api, version) if number < 6 and number % 2 else (sized(answer),)

    with odd_broker(truth, OffsetFetch=at_first) as port:
        run = run_on(target_at(port), tmp_path, WITHOUT_TOPIC)
    assert next(asked) >= 6
    assert run.exit_code == ExitCode.EXPECTED


@pytest.mark.parametrize(
    ("odd", "why"),
    [
        ({"ApiVersions": without("CreateTopics")}, "it advertises no usable version of CreateTopics"),
        (
            {"CreateTopics": garbage, "Metadata": with_field("error_code", "UNKNOWN_TOPIC_OR_PARTITION")},
            "left over behind a CreateTopics v4 response",
        ),
        (
            {
                "CreateTopics": with_field("error_code", "POLICY_VIOLATION"),
                "Metadata": with_field("error_code", "UNKNOWN_TOPIC_OR_PARTITION"),
            },
            "CreateTopics answers POLICY_VIOLATION",
        ),
        (
            {
                "CreateTopics": with_field("error_code", "INVALID_REQUEST"),
                "Metadata": with_field("error_code", "UNKNOWN_TOPIC_OR_PARTITION"),
            },
            "CreateTopics answers INVALID_REQUEST",
        ),
    ],
    ids=["not served", "unreadable", "refused", "refused with any error"],
)
def test_without_topics_the_scenarios_that_use_none_are_run(
    tmp_path: Path, truth: int, odd: Mapping[str, Parts], why: str
) -> None:
    with odd_broker(truth, **odd) as port:
        target = target_at(port, timeout_ms=2_000)
        found = reasons(run_on(target, tmp_path, WITHOUT_TOPIC, COMMITS), target)
    assert found[WITHOUT_TOPIC][0] == Outcome.CONFORMS
    assert found[COMMITS][0] == Outcome.NOT_APPLICABLE
    assert "needs the topic orders: " in found[COMMITS][1]
    assert why in found[COMMITS][1]


async def test_a_verb_that_needs_topics_refuses_a_broker_without_them(tmp_path: Path, truth: int) -> None:
    with odd_broker(truth, ApiVersions=without("CreateTopics")) as port:
        target = ExternalTarget("127.0.0.1", port, timeout_ms=2_000)
        with pytest.raises(TargetError, match="get ready within 2 s: it advertises no usable version"):
            await target.start(broker_config={}, directory=tmp_path, progress=lambda _: None)


def test_an_answer_that_cannot_be_read_is_a_difference_of_its_scenario(tmp_path: Path, truth: int) -> None:
    with odd_broker(truth, OffsetFetch=garbage) as port:
        target = target_at(port)
        found = reasons(run_on(target, tmp_path, WITHOUT_TOPIC, "offsets/fetch/missing-group"), target)
    assert found[WITHOUT_TOPIC][0] == Outcome.CONFORMS
    assert found["offsets/fetch/missing-group"][0] == Outcome.DIVERGES


def test_a_topic_that_is_there_stands_in_for_the_scenarios_own(tmp_path: Path, truth: int) -> None:
    with odd_broker(truth, ApiVersions=without("CreateTopics")) as port:
        target = target_at(port, topics={"orders": "orders", "payments": "payments"})
        run = run_on(target, tmp_path, WITHOUT_TOPIC, COMMITS, BEYOND)
    assert {outcome for outcome, _ in reasons(run, target).values()} == {Outcome.CONFORMS}


@pytest.mark.parametrize(
    ("topics", "why"),
    [
        ({"orders": "nothing"}, "--topic orders=nothing: the broker has no topic 'nothing'"),
        ({"orders": "payments"}, "payments has too few partitions, 2 instead of 3"),
    ],
)
async def test_a_stated_topic_that_does_not_fit_is_refused(
    truth: int, topics: Mapping[str, str], why: str
) -> None:
    with pytest.raises(StatedError, match=why):
        await target_at(truth, topics=topics).require_topics(Guard(namespace=Namespace.new("run")))


def test_a_stated_topic_with_more_partitions_serves_those_who_do_not_notice(
    tmp_path: Path, truth: int
) -> None:
    within = "offsets/delete/two-partitions"
    with odd_broker(truth, Metadata=_with_a_partition_more) as port:
        target = target_at(port, topics={"orders": "orders"})
        found = reasons(run_on(target, tmp_path, BEYOND, within), target)
    assert found[within][0] == Outcome.CONFORMS
    assert found[BEYOND][0] == Outcome.NOT_APPLICABLE
    assert "not orders, which has 4 partitions instead of 3" in found[BEYOND][1]


def _with_a_partition_more(answer: bytes, api: str, version: int) -> Iterator[bytes]:
    def change(fields: Fields) -> Fields:
        rows = fields["topics"]
        assert isinstance(rows, list | tuple)
        grown = [
            {**row, "partitions": [*row["partitions"], row["partitions"][0]]}
            if isinstance(row, Mapping) and row["partitions"]
            else row
            for row in rows
        ]
        return {**fields, "topics": grown}

    yield from changed(change)(answer, api, version)


def test_a_topic_of_others_is_read_and_never_changed() -> None:
    guard = Guard(namespace=Namespace.new("run", existing={"orders": "theirs"}), serves_clients=True)
    group = f"{guard.namespace.prefix}main"
    one: Fields = {"name": "theirs", "partitions": [{"partition_index": 0, "committed_offset": 1}]}
    sources: Fields = {"subtopology_id": "0", "source_topics": ["theirs"]}
    made: Fields = {**sources, "state_changelog_topics": [{"name": "theirs"}]}
    guard.refuse_request("OffsetCommit", 5, {"group_id": group, "topics": [one]})
    guard.refuse_request(
        "StreamsGroupHeartbeat", 0, {"group_id": group, "topology": {"subtopologies": [sources]}}
    )
    changes: list[tuple[str, Fields]] = [
        ("CreateTopics", {"topics": [one]}),
        ("CreatePartitions", {"topics": [{"name": "theirs", "count": 9}]}),
        ("DeleteTopics", {"topic_names": ["theirs"]}),
        ("IncrementalAlterConfigs", {"resources": [{"resource_type": 2, "resource_name": "theirs"}]}),
        ("Produce", {"topic_data": [{"name": "theirs"}]}),
        ("DeleteRecords", {"topics": [one]}),
        ("StreamsGroupHeartbeat", {"group_id": group, "topology": {"subtopologies": [made]}}),
    ]
    for api, fields in changes:
        with pytest.raises(NotOurs):
            guard.refuse_request(api, 2, fields)


def test_an_answer_names_a_topic_of_others_as_the_scenario_does() -> None:
    names = TopicNames(Namespace.new("run", existing={"orders": "t1"}), ["orders"])
    assert names.outgoing({"topics": [{"name": "orders"}]}) == {"topics": [{"name": "t1"}]}
    answer: Fields = {"topics": [{"name": "t1"}], "member_id": "at1-t1x", "error_message": "no topic t1."}
    expected: Fields = {
        "topics": [{"name": "orders"}],
        "member_id": "at1-t1x",
        "error_message": "no topic orders.",
    }
    assert names.incoming(answer) == expected


@pytest.mark.parametrize(
    ("texts", "why"),
    [
        (["orders"], "names no topic; write for instance orders=EXISTING"),
        (["oders=t1"], "scenarios have no topic 'oders'; close to it: orders"),
        (["orders=t1", "payments=t1"], "the topic is given twice"),
    ],
)
def test_a_stated_topic_that_no_scenario_has_is_refused(texts: list[str], why: str) -> None:
    with pytest.raises(StatedError, match=why):
        parse_topics(texts)

"""Bringing a broker to where the first scenario may begin, and asking what it is.

A coordinator is ready when FindCoordinator answers NONE (the first call creates `__consumer_offsets`), a
heartbeat of a member that does not exist is refused for that very reason, and OffsetFetch answers NONE: a
port that is open, or FindCoordinator alone, comes up to 35 ms before the coordinator is loaded.
"""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, TypeVar

from harness.targets.base import ApiRange, ConnectionLost, Stage, TargetError
from harness.targets.dialogue import Answer, Dialogue, NotYet
from harness.wire.codec import Fields

T = TypeVar("T")

_PAUSE_MS: Final = 25.0
_GROUP_PREFIX: Final = "kafka-conformance-ready"
_BROKER_RESOURCE: Final = 4
"""Source: ConfigResource.Type.BROKER."""
_METADATA_VERSIONS: Final = (7, 6, 5, 4, 8, 9, 10, 11, 12)
_DEFAULT_REPLICATION_SINCE: Final = 4
"""Of CreateTopics: the broker's own replication factor can be asked for. Source: KIP-464."""
_CREATED: Final = frozenset({"NONE", "TOPIC_ALREADY_EXISTS"})
_FORBIDDEN: Final = frozenset(
    {"TOPIC_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED", "POLICY_VIOLATION", "UNSUPPORTED_VERSION"}
)


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Endpoint:
    """Where a coordinator says that it is."""

    node_id: int
    host: str
    port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """What a broker told while it was prepared."""

    api_ranges: tuple[ApiRange, ...]
    cluster_id: str | None
    coordinator: Endpoint
    notes: tuple[str, ...]
    """Topics that are not as they should be, and why."""


async def prepare(
    stage: Stage,
    *,
    topics: Mapping[str, int],
    timeout_ms: float,
    group_count: int = 1,
    failure: Callable[[], str | None] = lambda: None,
) -> Prepared:
    """Wait until a broker's coordinator is ready and the topics are there, creating them if need be.

    Args:
        stage: gives connections and the clock; stays open.
        topics: names with partition counts.
        timeout_ms: how long to go on trying, on the stage's clock.
        group_count: how many groups to try, where they may be spread over partitions.
        failure: asked between tries; what it returns ends the waiting.

    Raises:
        TargetError: the broker is gone or does not get ready.
    """
    groups = _groups(group_count)
    return await ask_until(
        stage,
        lambda dialogue: _prepare_once(dialogue, groups, topics),
        timeout_ms=timeout_ms,
        failure=failure,
    )


async def await_serving(
    stage: Stage,
    *,
    topics: Mapping[str, int],
    timeout_ms: float,
    failure: Callable[[], str | None] = lambda: None,
) -> None:
    """Wait until a broker that was started again answers, and knows a leader of each partition of the topics.

    Its coordinator may still be loading, or not know yet that it is one.

    Raises:
        TargetError: the broker is gone or does not come back.
    """

    async def ask(dialogue: Dialogue) -> None:
        await dialogue.learn_versions()
        await _check_topics(dialogue, topics, is_given_up=False)

    await ask_until(stage, ask, timeout_ms=timeout_ms, failure=failure)


async def locate(stage: Stage, *, group_count: int, timeout_ms: float) -> Endpoint | None:
    """Return where the coordinator of every group is when that may be another broker than the one asked.

    A cluster of one broker is None: whatever address it advertises, the one that was asked reaches it.

    Raises:
        TargetError: the broker does not answer, or its groups are spread over several brokers.
    """
    groups = _groups(group_count)
    endpoints = await ask_until(
        stage,
        lambda dialogue: _locate_once(dialogue, groups),
        timeout_ms=timeout_ms,
        failure=lambda: None,
    )
    if len(endpoints) > 1:
        nodes = ", ".join(str(endpoint.node_id) for endpoint in sorted(endpoints))
        raise TargetError(
            f"its groups are spread over the brokers {nodes}, and the harness talks to one: use a cluster of "
            "one broker, or offsets.topic.num.partitions=1"
        )
    return next(iter(endpoints), None)


def _groups(group_count: int) -> tuple[str, ...]:
    return tuple(f"{_GROUP_PREFIX}-{number}" for number in range(group_count))


async def ask_until(
    stage: Stage,
    ask: Callable[[Dialogue], Awaitable[T]],
    *,
    timeout_ms: float,
    failure: Callable[[], str | None],
) -> T:
    """Ask on a new connection again and again, until it is answered or the time is up.

    Raises:
        TargetError: the time is up, or there was a failure.
    """
    started_ms = stage.now_ms()
    while True:
        try:
            return await ask_once(stage, ask)
        except NotYet as reason:
            lost = failure()
            if lost is not None:
                raise TargetError(f"the broker is gone before it was ready: {lost}") from reason
            if stage.now_ms() - started_ms > timeout_ms:
                raise TargetError(
                    f"the broker did not get ready within {timeout_ms / 1000:g} s: {reason}"
                ) from reason
        await stage.elapse(_PAUSE_MS)


async def ask_once(stage: Stage, ask: Callable[[Dialogue], Awaitable[T]]) -> T:
    """Ask on a new connection; `NotYet` when it cannot be had, or what is asked is not so."""
    try:
        connection = await stage.connect()
    except ConnectionLost as error:
        raise NotYet(str(error)) from error
    try:
        return await ask(Dialogue(connection))
    finally:
        await connection.close()


async def _locate_once(dialogue: Dialogue, groups: tuple[str, ...]) -> frozenset[Endpoint]:
    await dialogue.learn_versions()
    version = dialogue.version_of("Metadata", _METADATA_VERSIONS)
    answer = await dialogue.ask("Metadata", version, {"topics": []})
    if len(answer.rows("brokers")) == 1:
        return frozenset()
    return frozenset([await _find_coordinator(dialogue, group) for group in groups])


async def _prepare_once(dialogue: Dialogue, groups: tuple[str, ...], topics: Mapping[str, int]) -> Prepared:
    api_ranges = await dialogue.learn_versions()
    coordinator = await _find_coordinator(dialogue, groups[0])
    for group in groups:
        await _check_group(dialogue, group)
    notes = await create_topics(dialogue, topics)
    cluster_id, faults = await _check_topics(dialogue, topics, is_given_up=bool(notes))
    return Prepared(
        api_ranges=api_ranges,
        cluster_id=cluster_id,
        coordinator=coordinator,
        notes=(*notes, *faults),
    )


async def _find_coordinator(dialogue: Dialogue, group: str) -> Endpoint:
    version = dialogue.version_of("FindCoordinator", (3, 2, 1, 0, 4, 5, 6))
    fields: Fields = {"key": group} if version < 4 else {"coordinator_keys": [group]}  # KIP-699
    answer = await dialogue.ask("FindCoordinator", version, fields)
    row = next(iter(answer.rows("coordinators")), answer)
    _expect("FindCoordinator", row, "NONE")
    return Endpoint(node_id=row.number("node_id"), host=row.text("host") or "", port=row.number("port"))


async def _check_group(dialogue: Dialogue, group: str) -> None:
    version = dialogue.version_of("Heartbeat", (3, 2, 1, 0, 4))
    member: Fields = {"group_id": group, "generation_id": 1, "member_id": "nobody"}
    _expect("Heartbeat", await dialogue.ask("Heartbeat", version, member), "UNKNOWN_MEMBER_ID")
    version = dialogue.version_of("OffsetFetch", (5, 6, 7, 4, 3, 2, 8, 9))
    one: Fields = {"group_id": group, "topics": None}
    fields: Fields = one if version < 8 else {"groups": [one]}  # KIP-709
    answer = await dialogue.ask("OffsetFetch", version, fields)
    _expect("OffsetFetch", next(iter(answer.rows("groups")), answer), "NONE")


def _expect(api: str, answer: Answer, error: str) -> None:
    told = answer.text("error_code")
    if told != error:
        raise NotYet(f"{api} answers {told}")


async def create_topics(dialogue: Dialogue, topics: Mapping[str, int]) -> tuple[str, ...]:
    """Create what is not there yet; return a note for each topic that may not be created."""
    if not await _missing(dialogue, topics):
        return ()
    version = dialogue.version_of("CreateTopics", (4, 5, 6, 3, 2, 7))
    replication_factor = -1 if version >= _DEFAULT_REPLICATION_SINCE else 1
    rows: list[Fields] = [
        {"name": name, "num_partitions": partition_count, "replication_factor": replication_factor}
        for name, partition_count in topics.items()
    ]
    answer = await dialogue.ask("CreateTopics", version, {"topics": rows, "timeout_ms": 5000})
    notes: list[str] = []
    for row in answer.rows("topics"):
        name, error = row.text("name"), row.text("error_code") or ""
        if error in _FORBIDDEN:
            notes.append(f"topic {name} cannot be created: {error}")
        elif error not in _CREATED:
            raise NotYet(f"CreateTopics answers {error} for {name}")
    return tuple(notes)


async def _missing(dialogue: Dialogue, topics: Mapping[str, int]) -> bool:
    _, rows = await _describe(dialogue, topics)
    return any(row.text("error_code") == "UNKNOWN_TOPIC_OR_PARTITION" for row in rows.values())


async def _check_topics(
    dialogue: Dialogue, topics: Mapping[str, int], *, is_given_up: bool
) -> tuple[str | None, tuple[str, ...]]:
    """Return the cluster's id, and a note for each topic that has other partitions than it should."""
    cluster_id, rows = await _describe(dialogue, topics)
    notes: list[str] = []
    for name, partition_count in topics.items():
        partitions = rows[name].rows("partitions") if name in rows else ()
        if not partitions and is_given_up:
            continue
        if not partitions or any(partition.number("leader_id") < 0 for partition in partitions):
            raise NotYet(f"topic {name} has no leader for each partition yet")
        if len(partitions) != partition_count:
            notes.append(f"topic {name} has {len(partitions)} partitions instead of {partition_count}")
    return cluster_id, tuple(notes)


async def _describe(
    dialogue: Dialogue, topics: Mapping[str, int]
) -> tuple[str | None, Mapping[str | None, Answer]]:
    version = dialogue.version_of("Metadata", _METADATA_VERSIONS)
    fields: Fields = {"topics": [{"name": name} for name in topics], "allow_auto_topic_creation": False}
    answer = await dialogue.ask("Metadata", version, fields)
    return answer.text("cluster_id"), {row.text("name"): row for row in answer.rows("topics")}


async def described_config(stage: Stage, node_id: int) -> Mapping[str, str]:
    """Return the configuration that a broker tells of itself; empty when it will not.

    Secrets and properties without a value are left out.
    """
    with suppress(NotYet, ConnectionLost):
        connection = await stage.connect()
        try:
            dialogue = Dialogue(connection)
            await dialogue.learn_versions()
            version = dialogue.version_of("DescribeConfigs", (2, 3, 1, 4))
            resource: Fields = {
                "resource_type": _BROKER_RESOURCE,
                "resource_name": str(node_id),
                "configuration_keys": None,
            }
            answer = await dialogue.ask("DescribeConfigs", version, {"resources": [resource]})
            configs = [config for row in answer.rows("results") for config in row.rows("configs")]
            return {
                name: value
                for config in configs
                if (name := config.text("name")) and (value := config.text("value")) is not None
            }
        finally:
            await connection.close()
    return {}

"""Prepare a broker for the first scenario, and query its description.

A coordinator is ready when FindCoordinator answers NONE (the first call creates `__consumer_offsets`), a
heartbeat of a member that does not exist is refused for exactly this reason, and OffsetFetch answers NONE. An
open port, or FindCoordinator alone, is available up to 35 ms before the coordinator is loaded.
"""

import math
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, TypeVar

from harness.apis.rights import lacking_right
from harness.targets.base.dialogue import Answer, Dialogue, NotYet, OutOfTime
from harness.targets.base.interface import ApiRange, BrokerSession, ConnectionLost, TargetError
from harness.targets.base.layout import Endpoint, Layout
from harness.targets.base.nonsense import checked_config
from harness.targets.base.patience import Patience, SignsOfWork
from harness.wire.codec import Fields
from harness.wire.schema import api_key

T = TypeVar("T")

_PAUSE_MS: Final = 25.0
_GROUP: Final = "kafka-conformance-ready-0"
_BROKER_RESOURCE: Final = 4
"""Source: ConfigResource.Type.BROKER."""
_METADATA_VERSIONS: Final = (7, 6, 5, 4, 8, 9, 10, 11, 12)
_DEFAULT_REPLICATION_SINCE: Final = 4
"""Version of CreateTopics that can request the broker's own replication factor. Source: KIP-464."""
_METADATA_WITH_IDS: Final = (10, 11, 12)
"""Source: KIP-516."""
_CREATED: Final = frozenset({"NONE", "TOPIC_ALREADY_EXISTS"})
_SEVERAL: Final = 2
_CONSUMER_GROUPS: Final = api_key("ConsumerGroupHeartbeat")
_SHARE_GROUPS: Final = api_key("ShareGroupHeartbeat")
_SPREADS_MS: Final = 500.0
"""Time for a coordinator that assigns partitions to learn of topics that Metadata already contains.

Source: BrokerMetadataPublisher#onMetadataUpdate (4.3.1), which updates the coordinator last.
"""
_TRANSACTION: Final = 1
"""Source: CoordinatorType.TRANSACTION."""
_SHARE: Final = 2
"""Likewise."""
_NO_TOPIC: Final = "c2hhcmUtc3RhdGUtd2FybQ"
"""An id that no topic has: a share coordinator is found for it all the same."""
_FORBIDDEN: Final = frozenset({"CLUSTER_AUTHORIZATION_FAILED", "POLICY_VIOLATION", "UNSUPPORTED_VERSION"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A broker's answers during its preparation."""

    api_ranges: tuple[ApiRange, ...]
    cluster_id: str | None
    coordinator: Endpoint
    notes: tuple[str, ...]
    """Topics that are not as they should be, and why."""


async def prepare(
    session: BrokerSession,
    *,
    topics: Mapping[str, int],
    timeout_ms: float,
    groups: Sequence[str] = (_GROUP,),
    failure: Callable[[], str | None] = lambda: None,
    signs: SignsOfWork | None = None,
    is_ours: bool = False,
) -> Prepared:
    """Wait until a broker's coordinator is ready and the topics exist; create missing topics.

    Args:
        session: provides connections and the clock; stays open.
        topics: names with partition counts.
        timeout_ms: how long to keep trying, on the broker session's clock.
        groups: the groups to try; they do not exist, and the session's broker coordinates them.
        failure: called between tries; a result other than None ends the wait.
        signs: of work of the broker's processes, if the harness started them; the limit counts from the last
        one.
        is_ours: whether to have the broker create the share coordinator's topic, too.

    Raises:
        TargetError: the broker has ended or does not get ready.
    """
    prepared = await ask_until(
        session,
        lambda dialogue: _prepare_once(dialogue, groups, topics, is_ours=is_ours),
        timeout_ms=timeout_ms,
        failure=failure,
        signs=signs,
    )
    if any(each.api_key == _CONSUMER_GROUPS for each in prepared.api_ranges):
        await session.elapse(_SPREADS_MS)
    return prepared


async def await_serving(
    session: BrokerSession,
    *,
    topics: Mapping[str, int],
    timeout_ms: float,
    failure: Callable[[], str | None] = lambda: None,
    signs: SignsOfWork | None = None,
) -> None:
    """Wait until a restarted broker answers, and knows a leader of each partition of the topics.

    Its coordinator may still be loading, or may not know yet that it is the coordinator.

    Raises:
        TargetError: the broker has ended or does not come back.
    """

    async def ask(dialogue: Dialogue) -> None:
        await dialogue.learn_versions()
        await _check_topics(dialogue, topics, is_given_up=False)

    await ask_until(session, ask, timeout_ms=timeout_ms, failure=failure, signs=signs)


async def find_layout(session: BrokerSession, *, name: str, timeout_ms: float) -> Layout:
    """Find which brokers of a cluster coordinate what; the first request makes it create its internal topics.

    A single broker coordinates everything.

    Args:
        session: connects to one of the brokers.
        name: of a group and of a transactional id that the run may use in requests.
        timeout_ms: how long to keep trying.

    Raises:
        TargetError: the broker does not answer.
    """

    async def ask(dialogue: Dialogue) -> Layout:
        await dialogue.learn_versions()
        await find_coordinator(dialogue, name)
        nodes = await find_nodes(dialogue)
        offsets = await _leaders(dialogue, "__consumer_offsets", is_needed=len(nodes) >= _SEVERAL)
        if len(nodes) < _SEVERAL:
            return Layout(nodes=nodes, offsets=offsets)
        await find_coordinator(dialogue, name, is_transaction=True)
        transactions = await _leaders(dialogue, "__transaction_state", is_needed=True)
        return Layout(nodes=nodes, offsets=offsets, transactions=transactions)

    return await ask_until(session, ask, timeout_ms=timeout_ms, failure=lambda: None)


async def find_nodes(dialogue: Dialogue) -> Mapping[int, Endpoint]:
    """Return the brokers of a cluster by their ids."""
    version = dialogue.version_of("Metadata", _METADATA_VERSIONS)
    answer = await dialogue.ask("Metadata", version, {"topics": [], "allow_auto_topic_creation": False})
    nodes = {
        row.number("node_id"): Endpoint(
            node_id=row.number("node_id"), host=row.text("host") or "", port=row.number("port")
        )
        for row in answer.rows("brokers")
    }
    if not nodes:
        raise NotYet("it knows no broker of its cluster")
    return nodes


async def _leaders(dialogue: Dialogue, topic: str, *, is_needed: bool) -> tuple[int, ...]:
    """Return the leader of each partition of a topic; empty if the broker does not return the topic."""
    _, rows = await _describe(dialogue, [topic])
    if is_needed and topic in rows:
        _raise_if_not_allowed("Metadata", rows[topic].text("error_code") or "", name=topic)
    partitions = rows[topic].rows("partitions") if topic in rows else ()
    leaders = {row.number("partition_index"): row.number("leader_id") for row in partitions}
    if any(leader < 0 for leader in leaders.values()):
        raise NotYet(f"{topic} has no leader for each partition yet")
    return tuple(leaders[index] for index in sorted(leaders))


async def ask_until(
    session: BrokerSession,
    ask: Callable[[Dialogue], Awaitable[T]],
    *,
    timeout_ms: float,
    failure: Callable[[], str | None],
    signs: SignsOfWork | None = None,
) -> T:
    """Try on a new connection again and again, until there is an answer or the time is up.

    Raises:
        TargetError: the time is up, or there was a failure.
    """
    patience = Patience(timeout_ms, began_ms=session.now_ms(), signs=signs)
    last: NotYet | None = None
    while True:
        try:
            return await ask_once(session, ask, until_ms=patience.ends_ms)
        except NotYet as error:
            reason = last if last is not None and isinstance(error, OutOfTime) else error
            last = reason
            lost = failure()
            if lost is not None:
                raise TargetError(f"the broker is gone before it was ready: {lost}") from reason
            if patience.is_over(session.now_ms()):
                raise TargetError(f"the broker did not get ready within {patience}: {reason}") from reason
        await session.elapse(_PAUSE_MS)


async def ask_once(
    session: BrokerSession, ask: Callable[[Dialogue], Awaitable[T]], *, until_ms: float = math.inf
) -> T:
    """Try on a new connection; the time limit is on the broker session's clock.

    Raises:
        NotYet: the connection cannot be opened, the awaited state is not reached, or the time is up.
    """
    try:
        connection = await session.connect()
    except ConnectionLost as error:
        raise NotYet(str(error)) from error
    try:
        return await ask(Dialogue(connection, left_ms=lambda: until_ms - session.now_ms()))
    finally:
        await connection.close()


async def _prepare_once(
    dialogue: Dialogue, groups: Sequence[str], topics: Mapping[str, int], *, is_ours: bool
) -> Prepared:
    api_ranges = await dialogue.learn_versions()
    coordinator = await find_coordinator(dialogue, groups[0])
    for group in groups:
        await _check_group(dialogue, group)
    # In the preview of 4.0, which has v0 alone, groups have their partitions without share state.
    if is_ours and any(each.api_key == _SHARE_GROUPS and each.max_version for each in api_ranges):
        await _find_share_coordinator(dialogue, groups[0])
    notes = await create_topics(dialogue, topics)
    cluster_id, faults = await _check_topics(dialogue, topics, is_given_up=bool(notes))
    return Prepared(
        api_ranges=api_ranges,
        cluster_id=cluster_id,
        coordinator=coordinator,
        notes=(*notes, *faults),
    )


async def find_coordinator(dialogue: Dialogue, name: str, *, is_transaction: bool = False) -> Endpoint:
    """Return the coordinator of a group or a producer; raise `NotYet` if there is none."""
    version = dialogue.version_of("FindCoordinator", (3, 2, 1, 0, 4, 5, 6))
    key: Fields = {"key": name} if version < 4 else {"coordinator_keys": [name]}  # KIP-699
    fields = {**key, "key_type": _TRANSACTION} if is_transaction else key
    answer = await dialogue.ask("FindCoordinator", version, fields)
    row = next(iter(answer.rows("coordinators")), answer)
    _expect("FindCoordinator", row, "NONE")
    return Endpoint(node_id=row.number("node_id"), host=row.text("host") or "", port=row.number("port"))


async def _find_share_coordinator(dialogue: Dialogue, group: str) -> None:
    """Make the broker create the share coordinator's topic, which takes seconds, before the first group.

    A broker without share groups, or one that only accepts this request from brokers, refuses it.
    """
    fields: Fields = {"key_type": _SHARE, "coordinator_keys": [f"{group}:{_NO_TOPIC}:0"]}
    answer = await dialogue.ask("FindCoordinator", dialogue.version_of("FindCoordinator", (6,)), fields)
    if any(row.text("error_code") == "COORDINATOR_NOT_AVAILABLE" for row in answer.rows("coordinators")):
        raise NotYet("nobody coordinates share state yet")


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
    reported = answer.text("error_code") or ""
    _raise_if_not_allowed(api, reported)
    if reported != error:
        raise NotYet(f"{api} answers {reported}")


def _raise_if_not_allowed(api: str, error: str, *, name: str = "") -> None:
    """Give up on a broker that refuses a request because of a missing right: another try would not help."""
    if (right := lacking_right(api, error)) is not None:
        of_what = f" {name}" if name else ""
        raise TargetError(
            f"the run's principal lacks rights: {right}{of_what} ({api} answers {error}); docs/external.md "
            "lists what a run needs"
        )


async def create_topics(dialogue: Dialogue, topics: Mapping[str, int]) -> tuple[str, ...]:
    """Create missing topics; return a note for each topic that may not be created."""
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
            _raise_if_not_allowed("CreateTopics", error)
            raise NotYet(f"CreateTopics answers {error} for {name}")
    return tuple(notes)


async def _missing(dialogue: Dialogue, topics: Mapping[str, int]) -> bool:
    _, rows = await _describe(dialogue, topics)
    return any(row.text("error_code") == "UNKNOWN_TOPIC_OR_PARTITION" for row in rows.values())


async def _check_topics(
    dialogue: Dialogue, topics: Mapping[str, int], *, is_given_up: bool
) -> tuple[str | None, tuple[str, ...]]:
    """Return the cluster's id, and a note for each topic with a wrong number of partitions."""
    cluster_id, rows = await _describe(dialogue, topics)
    notes: list[str] = []
    for name, partition_count in topics.items():
        _raise_if_not_allowed("Metadata", (name in rows and rows[name].text("error_code")) or "")
        partitions = rows[name].rows("partitions") if name in rows else ()
        if not partitions and is_given_up:
            continue
        if not partitions or any(partition.number("leader_id") < 0 for partition in partitions):
            raise NotYet(f"topic {name} has no leader for each partition yet")
        if len(partitions) != partition_count:
            notes.append(f"topic {name} has {len(partitions)} partitions instead of {partition_count}")
    return cluster_id, tuple(notes)


async def _describe(
    dialogue: Dialogue, topics: Iterable[str]
) -> tuple[str | None, Mapping[str | None, Answer]]:
    version = dialogue.version_of("Metadata", _METADATA_VERSIONS)
    fields: Fields = {"topics": [{"name": name} for name in topics], "allow_auto_topic_creation": False}
    answer = await dialogue.ask("Metadata", version, fields)
    return answer.text("cluster_id"), {row.text("name"): row for row in answer.rows("topics")}


async def find_topic_ids(dialogue: Dialogue, topics: Iterable[str]) -> Mapping[str, str]:
    """Return the ids of topics, by name.

    Raises:
        NotYet: the broker has no topic ids, or does not answer.
    """
    await dialogue.learn_versions()
    version = dialogue.version_of("Metadata", _METADATA_WITH_IDS)
    fields: Fields = {"topics": [{"name": name} for name in topics], "allow_auto_topic_creation": False}
    answer = await dialogue.ask("Metadata", version, fields)
    rows = {row.text("name"): row.text("topic_id") for row in answer.rows("topics")}
    return {name: topic_id for name, topic_id in rows.items() if name and topic_id}


async def described_config(session: BrokerSession, node_id: int) -> Mapping[str, str]:
    """Return the configuration that a broker describes; empty if it does not describe it.

    Secrets and properties without a value are left out.
    """
    with suppress(NotYet, ConnectionLost):
        connection = await session.connect()
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
            return checked_config(
                {
                    name: value
                    for config in configs
                    if (name := config.text("name")) and (value := config.text("value")) is not None
                }
            )
        finally:
            await connection.close()
    return {}

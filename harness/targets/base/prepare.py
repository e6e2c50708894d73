"""Prepare a broker for the first scenario, and query its description.

A coordinator is ready when it answers OffsetFetch for a group that does not exist, steadily, and not as one
that loads, or that is elsewhere. A broker without a usable OffsetFetch is asked by DescribeGroups. Whatever
else it answers, even what cannot be read, is for scenarios to judge. FindCoordinator comes first, since the
first call makes Kafka create `__consumer_offsets`. An open port, or FindCoordinator alone, is available up to
35 ms before the coordinator is loaded, and Kafka answers NONE to heartbeats while it loads.

Source: GroupCoordinator#validateGroupStatus, GroupCoordinator#handleHeartbeat (2.4.1, 3.9.2),
GroupCoordinatorService#fetchOffsets (4.3.1).
"""

import math
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Final, TypeVar

from harness.apis.rights import lacking_right
from harness.targets.base.dialogue import (
    Answer,
    Dialogue,
    NotAccepted,
    NotServed,
    NotYet,
    OutOfTime,
    Unreadable,
)
from harness.targets.base.interface import (
    ApiRange,
    BrokerSession,
    ConnectionLost,
    NotReadyError,
    TargetError,
    closing,
)
from harness.targets.base.layout import Coordinated, Endpoint, Layout
from harness.targets.base.measured import Patience, SignsOfWork
from harness.targets.base.nonsense import checked_config
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
_NOT_READY: Final = frozenset(
    {"COORDINATOR_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS", "NOT_COORDINATOR"}
)
"""What a coordinator answers that is not there yet, loads, or is elsewhere."""
_UNREADABLE: Final = "what cannot be read"
_STEADY_TRIES: Final = 8
"""How many tries in a row have to end alike before an answer counts that Kafka would not give."""
_SEVERAL: Final = 2
_UNKNOWN_NODE: Final = -1
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


class _NotController(NotYet):
    """Another broker of the cluster creates topics."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A broker's answers during its preparation."""

    api_ranges: tuple[ApiRange, ...]
    cluster_id: str | None
    notes: tuple[str, ...] = ()
    """What differs from what was asked for, and why."""
    lacking: Mapping[str, str] = field(default_factory=dict)
    """Why topics are not there, by name."""


async def prepare(
    session: BrokerSession,
    *,
    topics: Mapping[str, int],
    timeout_ms: float,
    groups: Sequence[str] = (_GROUP,),
    failure: Callable[[], str | None] = lambda: None,
    signs: SignsOfWork | None = None,
    is_ours: bool = False,
    may_lack_topics: bool = False,
    cluster: Mapping[int, BrokerSession] | None = None,
) -> Prepared:
    """Wait until a broker's coordinator is ready and the topics exist; create missing topics.

    Args:
        session: provides connections and the clock; stays open.
        topics: names with partition counts.
        timeout_ms: how long to keep trying for the coordinator, and then for the topics, on the broker
            session's clock.
        groups: the groups to try; they do not exist, and the session's broker coordinates them.
        failure: called between tries; a result other than None ends the wait.
        signs: of work of the broker's processes, if the harness started them; the limit counts from the last
            one.
        is_ours: whether to have the broker create the share coordinator's topic, too.
        may_lack_topics: whether to go on without topics that cannot be had.
        cluster: sessions on all brokers of its cluster, by id; with a ZooKeeper only one creates topics.

    Raises:
        TargetError: the broker has ended, does not get ready, or refuses the topics for lack of a right.
    """
    until = partial(ask_until, session, timeout_ms=timeout_ms, failure=failure, signs=signs)
    tries: list[Sequence[str]] = []
    api_ranges = await until(lambda dialogue: _find_ready(dialogue, groups, tries, is_ours=is_ours))
    faults: list[str] | None = [] if may_lack_topics else None
    try:
        prepared = await until(lambda dialogue: _have_topics(dialogue, topics, faults, cluster or {}))
    except NotReadyError as error:
        if not may_lack_topics:
            raise
        prepared = Prepared(api_ranges=api_ranges, cluster_id=None, lacking=dict.fromkeys(topics, str(error)))
    if any(each.api_key == _CONSUMER_GROUPS for each in api_ranges):
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
        await _check_topics(dialogue, topics)

    await ask_until(session, ask, timeout_ms=timeout_ms, failure=failure, signs=signs)


async def find_layout(session: BrokerSession, *, name: str, timeout_ms: float) -> Layout:
    """Find which brokers of a cluster coordinate what; the first request makes it create its internal topics.

    A single broker coordinates everything, and so does one that names no brokers; that one has no address.

    Args:
        session: connects to one of the brokers.
        name: of a group and of a transactional id that the run may use in requests.
        timeout_ms: how long to keep trying.

    Raises:
        TargetError: the broker does not answer.
    """

    async def ask(dialogue: Dialogue) -> Layout:
        await dialogue.learn_versions()
        await _wake_coordinator(dialogue, name)
        try:
            nodes = await find_nodes(dialogue)
        except (NotServed, Unreadable):
            return Layout(nodes={_UNKNOWN_NODE: Endpoint(node_id=_UNKNOWN_NODE, host="", port=0)})
        offsets, epochs = await _leaders(dialogue, "__consumer_offsets", is_needed=len(nodes) >= _SEVERAL)
        if len(nodes) < _SEVERAL:
            return Layout(nodes=nodes, offsets=offsets)
        await _wake_coordinator(dialogue, name, is_transaction=True)
        transactions, epochs_of_others = await _leaders(dialogue, "__transaction_state", is_needed=True)
        return Layout(
            nodes=nodes,
            offsets=offsets,
            transactions=transactions,
            epochs={Coordinated.GROUP: epochs, Coordinated.PRODUCER: epochs_of_others},
        )

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


async def _leaders(
    dialogue: Dialogue, topic: str, *, is_needed: bool
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return each partition's leader and leader epoch; empty if the broker does not return the topic."""
    _, rows = await _describe(dialogue, [topic])
    if is_needed and topic in rows:
        _raise_if_not_allowed("Metadata", rows[topic].text("error_code") or "", name=topic)
    partitions = rows[topic].rows("partitions") if topic in rows else ()
    terms = {
        row.number("partition_index"): (row.number("leader_id"), row.number("leader_epoch"))
        for row in partitions
    }
    if any(leader < 0 for leader, _ in terms.values()):
        raise NotYet(f"{topic} has no leader for each partition yet")
    in_order = [terms[index] for index in sorted(terms)]
    return tuple(leader for leader, _ in in_order), tuple(epoch for _, epoch in in_order)


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
        NotReadyError: the time is up.
        TargetError: there was a failure.
    """
    patience = Patience(timeout_ms, began_ms=session.now_ms(), signs=signs)
    last: NotYet | None = None
    ended_by = ""
    while True:
        try:
            return await ask_once(session, ask, until_ms=patience.ends_ms)
        except NotYet as error:
            reason = last if last is not None and isinstance(error, OutOfTime) else error
            last = reason
            if isinstance(error, NotAccepted):
                reason = NotYet(f"{error}{ended_by}")
            elif isinstance(error.__cause__, ConnectionLost):
                ended_by = f"; before, it accepted them, until {error}: that request may have ended it"
            lost = failure()
            if lost is not None:
                raise TargetError(f"the broker is gone before it was ready: {lost}") from reason
            if patience.is_over(session.now_ms()):
                raise NotReadyError(f"the broker did not get ready within {patience}: {reason}") from reason
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
        raise NotAccepted(str(error)) from error
    try:
        return await ask(Dialogue(connection, left_ms=lambda: until_ms - session.now_ms()))
    finally:
        await connection.close()


async def _find_ready(
    dialogue: Dialogue, groups: Sequence[str], tries: list[Sequence[str]], *, is_ours: bool
) -> tuple[ApiRange, ...]:
    """Return what a broker advertises, once its coordinator is ready; `tries` has its earlier answers."""
    api_ranges = await dialogue.learn_versions()
    await _wake_coordinator(dialogue, groups[0])
    tries.append([await _steady_answer(dialogue, group) for group in groups])
    is_usual = set(tries[-1]) == {"NONE"}
    if not is_usual and tries[-_STEADY_TRIES:] != [tries[-1]] * _STEADY_TRIES:
        raise NotYet(f"it answers about a group {', '.join(sorted(set(tries[-1])))}, and not always")
    # In the preview of 4.0, which has v0 alone, groups have their partitions without share state.
    if is_ours and any(each.api_key == _SHARE_GROUPS and each.max_version for each in api_ranges):
        await _find_share_coordinator(dialogue, groups[0])
    return api_ranges


async def find_coordinator(dialogue: Dialogue, name: str, *, is_transaction: bool = False) -> Endpoint:
    """Return the coordinator of a group or a producer; raise `NotYet` if there is none."""
    row = await _asked_for_coordinator(dialogue, name, is_transaction=is_transaction)
    _expect("FindCoordinator", row, "NONE")
    return Endpoint(node_id=row.number("node_id"), host=row.text("host") or "", port=row.number("port"))


async def _asked_for_coordinator(dialogue: Dialogue, name: str, *, is_transaction: bool) -> Answer:
    version = dialogue.version_of("FindCoordinator", (3, 2, 1, 0, 4, 5, 6))
    key: Fields = {"key": name} if version < 4 else {"coordinator_keys": [name]}  # KIP-699
    fields = {**key, "key_type": _TRANSACTION} if is_transaction and version else key
    answer = await dialogue.ask("FindCoordinator", version, fields)
    return next(iter(answer.rows("coordinators")), answer)


async def _wake_coordinator(dialogue: Dialogue, name: str, *, is_transaction: bool = False) -> None:
    """Have a broker look for a coordinator; raise `NotYet` if there is none yet, and accept all else."""
    with suppress(NotServed, Unreadable):
        row = await _asked_for_coordinator(dialogue, name, is_transaction=is_transaction)
        _ready_answer("FindCoordinator", row)


async def _find_share_coordinator(dialogue: Dialogue, group: str) -> None:
    """Make the broker create the share coordinator's topic, which takes seconds, before the first group.

    A broker without share groups, or one that only accepts this request from brokers, refuses it.
    """
    fields: Fields = {"key_type": _SHARE, "coordinator_keys": [f"{group}:{_NO_TOPIC}:0"]}
    answer = await dialogue.ask("FindCoordinator", dialogue.version_of("FindCoordinator", (6,)), fields)
    if any(row.text("error_code") == "COORDINATOR_NOT_AVAILABLE" for row in answer.rows("coordinators")):
        raise NotYet("nobody coordinates share state yet")


async def _steady_answer(dialogue: Dialogue, group: str) -> str:
    """Return how a broker answers about a group that does not exist, twice in a row.

    Raises:
        NotYet: it does not answer, answers differently, or as a coordinator that is not ready.
    """
    first, second = [await _group_answer(dialogue, group) for _ in range(2)]
    if first != second:
        raise NotYet(f"it answers about a group {first}, then {second}")
    return second


async def _group_answer(dialogue: Dialogue, group: str) -> str:
    api = "OffsetFetch"
    try:
        version = dialogue.version_of(api, (5, 6, 7, 4, 3, 2, 8, 9))
    except NotServed:
        api = "DescribeGroups"
        version = dialogue.version_of(api, (4, 3, 5, 2, 1, 0, 6))
    # As a consumer asks: some brokers read a request for all topics as one for billions, and end.
    one: Fields = {"group_id": group, "topics": [{"name": _GROUP, "partition_indexes": [0]}]}
    fields: Fields = {"groups": [group]} if api == "DescribeGroups" else one
    if api == "OffsetFetch" and version >= 8:  # KIP-709
        fields = {"groups": [one]}
    try:
        answer = await dialogue.ask(api, version, fields)
    except Unreadable:
        return _UNREADABLE
    return _ready_answer(api, next(iter(answer.rows("groups")), answer))


def _ready_answer(api: str, answer: Answer) -> str:
    """Return an answer's error; raise `NotYet` for one of a coordinator that is not ready."""
    reported = answer.text("error_code") or ""
    _raise_if_not_allowed(api, reported)
    if reported in _NOT_READY:
        raise NotYet(f"{api} answers {reported}, as for a coordinator that loads or is elsewhere")
    return reported


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


async def _have_topics(
    dialogue: Dialogue,
    topics: Mapping[str, int],
    faults: list[str] | None,
    cluster: Mapping[int, BrokerSession],
) -> Prepared:
    """Create missing topics, and return why they are not there if the broker cannot create them.

    Args:
        dialogue: a new dialogue with the broker.
        topics: names with partition counts.
        faults: earlier answers that could not be read; None to go on trying until the broker can do it.
        cluster: sessions on all brokers of its cluster, by id.
    """
    api_ranges = await dialogue.learn_versions()
    try:
        lacking = await _created(dialogue, topics, cluster)
        wanted = {name: count for name, count in topics.items() if name not in lacking}
        cluster_id, notes = await _check_topics(dialogue, wanted)
        refused = (f"topic {name} cannot be created: {why}" for name, why in lacking.items())
        return Prepared(
            api_ranges=api_ranges, cluster_id=cluster_id, notes=(*refused, *notes), lacking=lacking
        )
    except (NotServed, Unreadable) as error:
        if faults is None:
            raise
        faults.append(str(error))
        if isinstance(error, Unreadable) and len(faults) < _STEADY_TRIES:
            raise
        return Prepared(api_ranges=api_ranges, cluster_id=None, lacking=dict.fromkeys(topics, str(error)))


async def _created(
    dialogue: Dialogue, topics: Mapping[str, int], cluster: Mapping[int, BrokerSession]
) -> Mapping[str, str]:
    """Create missing topics as `create_topics` does; the controller creates them if the broker may not."""

    async def create(elsewhere: Dialogue) -> Mapping[str, str]:
        await elsewhere.learn_versions()
        return await create_topics(elsewhere, topics)

    try:
        return await create_topics(dialogue, topics)
    except _NotController:
        version = dialogue.version_of("Metadata", _METADATA_VERSIONS)
        controller = (await dialogue.ask("Metadata", version, {"topics": []})).number("controller_id")
        if controller not in cluster:
            raise
        return await ask_once(cluster[controller], create)


async def create_topics(dialogue: Dialogue, topics: Mapping[str, int]) -> Mapping[str, str]:
    """Create missing topics, and return why for each that may not be created."""
    if not await _missing(dialogue, topics):
        return {}
    version = dialogue.version_of("CreateTopics", (4, 5, 6, 3, 2, 7))
    replication_factor = -1 if version >= _DEFAULT_REPLICATION_SINCE else 1
    rows: list[Fields] = [
        {"name": name, "num_partitions": partition_count, "replication_factor": replication_factor}
        for name, partition_count in topics.items()
    ]
    answer = await dialogue.ask("CreateTopics", version, {"topics": rows, "timeout_ms": 5000})
    refused: dict[str, str] = {}
    for row in answer.rows("topics"):
        name, error = row.text("name") or "", row.text("error_code") or ""
        if error in _FORBIDDEN:
            refused[name] = f"CreateTopics answers {error}"
        elif error not in _CREATED:
            _raise_if_not_allowed("CreateTopics", error)
            unready = _NotController if error == "NOT_CONTROLLER" else NotYet
            raise unready(f"CreateTopics answers {error} for {name}")
    return refused


async def _missing(dialogue: Dialogue, topics: Mapping[str, int]) -> bool:
    _, rows = await _describe(dialogue, topics)
    return any(row.text("error_code") == "UNKNOWN_TOPIC_OR_PARTITION" for row in rows.values())


async def _check_topics(dialogue: Dialogue, topics: Mapping[str, int]) -> tuple[str | None, tuple[str, ...]]:
    """Return the cluster's id, and a note for each topic with a wrong number of partitions."""
    cluster_id, rows = await _describe(dialogue, topics)
    notes: list[str] = []
    for name, partition_count in topics.items():
        _raise_if_not_allowed("Metadata", (name in rows and rows[name].text("error_code")) or "")
        partitions = rows[name].rows("partitions") if name in rows else ()
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


async def topic_sizes(dialogue: Dialogue, topics: Iterable[str]) -> Mapping[str, int]:
    """Return the numbers of partitions of topics, by name; raise `NotYet` if the broker does not answer."""
    _, rows = await _describe(dialogue, topics)
    return {name: len(row.rows("partitions")) for name, row in rows.items() if name}


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


async def finalized_features(session: BrokerSession) -> Mapping[str, int]:
    """Return the levels of a cluster's features (KIP-584); empty if the broker does not report them."""
    with suppress(NotYet):
        return await ask_once(session, _features)
    return {}


async def _features(dialogue: Dialogue) -> Mapping[str, int]:
    await dialogue.learn_versions()
    fields: Fields = {"client_software_name": "kafka-conformance", "client_software_version": "0"}
    answer = await dialogue.ask("ApiVersions", dialogue.version_of("ApiVersions", (3, 4)), fields)
    return {
        row.text("name") or "": row.number("max_version_level") for row in answer.rows("finalized_features")
    }


async def described_config(session: BrokerSession, node_id: int) -> Mapping[str, str]:
    """Return the configuration that a broker describes; empty if it does not describe it.

    Secrets and properties without a value are left out.
    """
    with suppress(NotYet, ConnectionLost):
        async with closing(await session.connect()) as connection:
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
    return {}

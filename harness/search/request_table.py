"""The table of requests: which members send them, how often, and in which order."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from harness.apis.table import descriptor
from harness.search import access_requests, other_requests, record_requests, requests, tool_requests
from harness.search.moves import Ask, GroupType, Move, Wait
from harness.search.situation import Membership, Situation
from harness.search.tempo import Tempo
from harness.search.theme import Theme

_CLASSIC, _CONSUMER, _SHARE, _STREAMS = GroupType


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRow:
    """A request that made conversations may contain."""

    choose: Callable[[Situation], None]
    """Chooses the arguments of the request."""
    weights: Mapping[GroupType, int] = field(default_factory=dict)
    """How often it is sent, by the group type whose protocol the actor uses."""
    is_alone: bool = False
    """Whether it is sent only if no other conversation shares the broker: it changes state that all share."""
    first_version: int = 0
    """The first version to use."""
    is_of_producer: bool = False
    """Whether only an actor that became a producer sends it."""
    theme: Theme | None = None
    """The theme of the conversations that contain it; None for all."""
    is_of_one_release: bool = False
    """Whether releases answer it in different ways that no behaviour names, so that only faults are
    searched for with it.
    """


def _weights(
    classic: int = 0, consumer: int = 0, share: int = 0, streams: int = 0
) -> Mapping[GroupType, int]:
    return {_CLASSIC: classic, _CONSUMER: consumer, _SHARE: share, _STREAMS: streams}


_OF_ONE_RELEASE: Final = ("ApiVersions", "CreateTopics", "DescribeConfigs")
"""Requests whose answers have the release's own versions, or its own configurations."""
REQUESTS: Final[Mapping[str, RequestRow]] = {
    "JoinGroup": RequestRow(choose=requests.join_group, weights=_weights(10, 1, 1, 1)),
    "SyncGroup": RequestRow(choose=requests.sync_group, weights=_weights(8)),
    "Heartbeat": RequestRow(choose=requests.heartbeat, weights=_weights(8, 1, 1, 1)),
    "LeaveGroup": RequestRow(choose=requests.leave_group, weights=_weights(5, 2, 1, 1)),
    "OffsetCommit": RequestRow(choose=requests.offset_commit, weights=_weights(9, 9, 2, 6)),
    "OffsetFetch": RequestRow(choose=requests.offset_fetch, weights=_weights(6, 6, 1, 4)),
    "OffsetDelete": RequestRow(choose=requests.offset_delete, weights=_weights(3, 3, 1, 2)),
    "DescribeGroups": RequestRow(
        choose=requests.groups_named("DescribeGroups", "groups"), weights=_weights(6, 2, 1, 1)
    ),
    "ListGroups": RequestRow(choose=requests.list_groups, weights=_weights(4, 4, 3, 3)),
    "DeleteGroups": RequestRow(choose=requests.delete_groups, weights=_weights(3, 3, 3, 3)),
    "FindCoordinator": RequestRow(choose=requests.find_coordinator, weights=_weights(1)),
    "ConsumerGroupHeartbeat": RequestRow(
        choose=requests.consumer_group_heartbeat, weights=_weights(consumer=25, share=1, streams=1)
    ),
    "ConsumerGroupDescribe": RequestRow(
        choose=requests.groups_named("ConsumerGroupDescribe", "group_ids"), weights=_weights(0, 6, 1, 1)
    ),
    "ShareGroupHeartbeat": RequestRow(
        choose=other_requests.share_group_heartbeat, weights=_weights(consumer=1, share=20, streams=1)
    ),
    "ShareGroupDescribe": RequestRow(
        choose=requests.groups_named("ShareGroupDescribe", "group_ids"), weights=_weights(share=5)
    ),
    "DescribeShareGroupOffsets": RequestRow(
        choose=other_requests.describe_share_group_offsets, weights=_weights(share=4), is_alone=True
    ),
    "AlterShareGroupOffsets": RequestRow(
        choose=other_requests.alter_share_group_offsets, weights=_weights(share=2), is_alone=True
    ),
    "DeleteShareGroupOffsets": RequestRow(
        choose=other_requests.delete_share_group_offsets, weights=_weights(share=2), is_alone=True
    ),
    "ShareFetch": RequestRow(choose=other_requests.share_fetch, weights=_weights(share=12), is_alone=True),
    "ShareAcknowledge": RequestRow(
        choose=other_requests.share_acknowledge, weights=_weights(share=6), is_alone=True
    ),
    "Produce": RequestRow(
        choose=record_requests.produce, weights=_weights(1, 1, 4, 1), is_alone=True, first_version=3
    ),
    "Metadata": RequestRow(choose=other_requests.metadata, weights=_weights(0, 1, 5, 0), first_version=10),
    "StreamsGroupHeartbeat": RequestRow(
        choose=other_requests.streams_group_heartbeat, weights=_weights(consumer=1, share=1, streams=25)
    ),
    "StreamsGroupDescribe": RequestRow(
        choose=requests.groups_named("StreamsGroupDescribe", "group_ids"), weights=_weights(streams=6)
    ),
    "InitProducerId": RequestRow(choose=other_requests.init_producer_id, weights=_weights(3, 3)),
    "AddOffsetsToTxn": RequestRow(
        choose=other_requests.add_offsets_to_txn, weights=_weights(9, 9), is_of_producer=True
    ),
    "TxnOffsetCommit": RequestRow(
        choose=other_requests.txn_offset_commit, weights=_weights(14, 14), is_of_producer=True
    ),
    "EndTxn": RequestRow(choose=other_requests.end_txn, weights=_weights(9, 9, 3), is_of_producer=True),
    **{
        api: RequestRow(
            choose=choose,
            weights=_weights(often, often, often, often),
            is_alone=True,
            theme=theme,
            is_of_one_release=api in _OF_ONE_RELEASE,
        )
        for theme, api, choose, often in (
            (Theme.ACCESS, "CreateAcls", access_requests.create_acls, 4),
            (Theme.ACCESS, "DescribeAcls", access_requests.describe_acls, 1),
            (Theme.CONFIGS, "IncrementalAlterConfigs", access_requests.incremental_alter_configs, 12),
            (Theme.CONFIGS, "DescribeConfigs", access_requests.describe_configs, 3),
            (Theme.CONFIGS, "ListConfigResources", tool_requests.list_config_resources, 1),
            (Theme.LOGS, "Fetch", tool_requests.fetch, 4),
            (Theme.LOGS, "ListOffsets", tool_requests.list_offsets, 4),
            (Theme.LOGS, "OffsetForLeaderEpoch", tool_requests.offset_for_leader_epoch, 2),
            (Theme.LOGS, "DeleteRecords", tool_requests.delete_records, 3),
            (Theme.LOGS, "DescribeLogDirs", tool_requests.describe_log_dirs, 2),
            (Theme.TOPICS, "CreateTopics", tool_requests.create_topics, 3),
            (Theme.TOPICS, "DeleteTopics", tool_requests.delete_topics, 3),
            (Theme.TOPICS, "CreatePartitions", tool_requests.create_partitions, 3),
            (Theme.TOPICS, "DescribeTopicPartitions", tool_requests.describe_topic_partitions, 2),
            (Theme.TRANSACTIONS, "WriteTxnMarkers", record_requests.write_txn_markers, 3),
            (Theme.TRANSACTIONS, "ListTransactions", record_requests.list_transactions, 3),
            (Theme.CLUSTER, "ApiVersions", tool_requests.api_versions, 3),
            (Theme.CLUSTER, "DescribeCluster", tool_requests.describe_cluster, 2),
            (Theme.CLUSTER, "DescribeQuorum", tool_requests.describe_quorum, 2),
        )
    },
    "AddPartitionsToTxn": RequestRow(
        choose=record_requests.add_partitions_to_txn,
        weights=_weights(20, 20, 20),
        is_alone=True,
        is_of_producer=True,
        theme=Theme.TRANSACTIONS,
    ),
    **{
        api: RequestRow(choose=choose, weights=_weights(share=5), is_alone=True, theme=Theme.STATES)
        for api, choose in (
            ("InitializeShareGroupState", record_requests.initialize_share_group_state),
            ("ReadShareGroupState", record_requests.read_share_group_state),
            ("WriteShareGroupState", record_requests.write_share_group_state),
            ("DeleteShareGroupState", record_requests.delete_share_group_state),
            ("ReadShareGroupStateSummary", record_requests.read_share_group_state_summary),
        )
    },
    "StreamsGroupTopologyDescriptionUpdate": RequestRow(
        choose=record_requests.update_topology_description, weights=_weights(streams=2), is_alone=True
    ),
}
"""The requests of made conversations, by API."""
OF_NAMED_GROUPS: Final = frozenset(
    api
    for api, row in REQUESTS.items()
    if descriptor(api).groups and not descriptor(api).transactions and not row.is_alone
) - {"FindCoordinator"}
"""The requests that concern the groups that they name and nothing else, whatever values their fields have.

FindCoordinator may look for the coordinator of a transaction, whose topic is then created.
"""
DESCRIBES: Final[Mapping[GroupType, str]] = {
    _CLASSIC: "DescribeGroups",
    _CONSUMER: "ConsumerGroupDescribe",
    _SHARE: "ShareGroupDescribe",
    _STREAMS: "StreamsGroupDescribe",
}
"""The requests that show most of a group's state."""
NEXT_IN_TRANSACTION: Final[Mapping[str, str]] = {
    "InitProducerId": "AddOffsetsToTxn",
    "AddOffsetsToTxn": "TxnOffsetCommit",
    "TxnOffsetCommit": "EndTxn",
    "EndTxn": "AddOffsetsToTxn",
}
"""The next request in a producer's transaction, by its last one."""
NEXT_WITH_RECORDS: Final[Mapping[str, str]] = {
    "InitProducerId": "AddPartitionsToTxn",
    "AddPartitionsToTxn": "Produce",
    "Produce": "EndTxn",
    "EndTxn": "AddPartitionsToTxn",
}
"""The same in a transaction that writes records."""
_ENDS_TRANSACTION: Final = ("InitProducerId", "EndTxn")
"""Requests that are answered before a transaction has ended in all logs."""
_GOES_ON: Final[Mapping[str, str]] = {
    "ConsumerGroupHeartbeat": "subscribed_topic_regex",
    "ShareGroupHeartbeat": "subscribed_topic_names",
}
"""The argument with which a request is answered before regular expressions or share states are there."""
_TRANSACTION_SHARE: Final = 0.3
_THEME_SHARE: Final = 0.2
"""How often an actor asks what the conversation is about, whatever would be right."""
_RIGHT: Final[Mapping[Membership, Sequence[str]]] = {
    Membership.OUTSIDE: ("JoinGroup",),
    Membership.NAMED: ("JoinGroup",),
    Membership.JOINED: ("SyncGroup",),
    Membership.SYNCED: ("Heartbeat", "OffsetCommit", "OffsetFetch", "JoinGroup", "LeaveGroup"),
}
_RIGHT_OF_SHARES: Final[Mapping[Membership, Sequence[str]]] = {
    Membership.OUTSIDE: ("ShareGroupHeartbeat",),
    Membership.SYNCED: ("ShareFetch", "ShareFetch", "ShareAcknowledge", "ShareAcknowledge", "Produce"),
}
_RIGHT_OF: Final[Mapping[GroupType, Mapping[Membership, Sequence[str]]]] = {
    _CLASSIC: _RIGHT,
    _CONSUMER: {Membership.OUTSIDE: ("ConsumerGroupHeartbeat",)},
    _SHARE: _RIGHT_OF_SHARES,
    _STREAMS: {Membership.OUTSIDE: ("StreamsGroupHeartbeat",)},
}
_RIGHT_SHARES: Final[Mapping[GroupType, float]] = {_CLASSIC: 0.5, _CONSUMER: 0.3, _SHARE: 0.65, _STREAMS: 0.3}
_IN_STATE: Final[Mapping[str, Mapping[str, int]]] = {
    "CompletingRebalance": {"OffsetCommit": 3, "SyncGroup": 2, "Heartbeat": 2},
    "PreparingRebalance": {"JoinGroup": 2, "Heartbeat": 2, "SyncGroup": 2},
    "Empty": {"DeleteGroups": 3, "OffsetDelete": 3, "OffsetCommit": 2},
    "Stable": {"OffsetDelete": 2, "LeaveGroup": 2, "JoinGroup": 2},
}
"""By group state: factors for requests that have special rules in that state."""


def asked(
    versions: Mapping[str, Sequence[int]],
    tempo: Tempo,
    *,
    has_transactions: bool,
    themes: Collection[Theme] = (),
) -> Mapping[str, Sequence[int]]:
    """Return the versions of the requests that are sent at a tempo, by API."""
    useful = {
        api: [each for each in served if each >= REQUESTS[api].first_version]
        for api, served in versions.items()
        if api in REQUESTS
    }
    return {
        api: served
        for api, served in useful.items()
        if served
        and not (REQUESTS[api].is_alone and tempo.shares_broker)
        and REQUESTS[api].theme in (None, *themes)
        and (has_transactions or descriptor(api).transactions == () or api == "Produce")
    }


def is_unsettled(moves: Sequence[Move], settles_ms: int) -> bool:
    """Return whether a broker may still work on the last request, though it has answered."""
    for move in reversed(moves):
        if isinstance(move, Wait) and move.duration_ms >= settles_ms:
            return False
        if isinstance(move, Ask):
            named = move.arguments.get(_GOES_ON.get(move.api, ""))
            return move.api in _ENDS_TRANSACTION or bool(named)
    return False


def _has_sense(at: Situation, api: str) -> bool:
    """Return whether a request may be answered without an error as far as the actor's share session goes."""
    return api != "ShareAcknowledge" or bool(at.session_epoch)


def chosen_api(at: Situation) -> str:
    """Choose an actor's request: mostly the proper one, or one with special rules in the group's state."""
    group_type = at.speaker.group_type
    if at.next_in_transaction is not None and at.chance(_TRANSACTION_SHARE):
        return at.next_in_transaction
    themed = [api for api in at.versions if REQUESTS[api].theme is not None and _is_asked(at, api)]
    if themed and at.chance(_THEME_SHARE):
        return _weighted(at, themed)
    rights = _RIGHT_OF[group_type].get(at.membership, _RIGHT_OF[group_type][Membership.OUTSIDE])
    right = [api for api in rights if api in at.versions and _has_sense(at, api)]
    if right and at.chance(_RIGHT_SHARES[group_type]):
        return at.rng.choice(right)
    return _weighted(at, [api for api in at.versions if _is_asked(at, api)])


def _is_asked(at: Situation, api: str) -> bool:
    """Return whether an actor sends a request at all."""
    row = REQUESTS[api]
    is_able = at.next_in_transaction is not None or not row.is_of_producer
    return bool(row.weights[at.speaker.group_type]) and _has_sense(at, api) and is_able


def _weighted(at: Situation, apis: Sequence[str]) -> str:
    group_type, factors = at.speaker.group_type, _IN_STATE.get(at.state or "", {})
    weights = [REQUESTS[api].weights[group_type] * factors.get(api, 1) * at.favour(api) for api in apis]
    return at.rng.choices(apis, weights)[0]

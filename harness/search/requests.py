"""Choose the arguments of requests of classic and consumer groups, and of those about any group."""

from collections.abc import Callable, Sequence
from typing import Final

from harness.scenario import ask
from harness.scenario.values import GroupRef, Ref, TopicId
from harness.search.moves import MADE_TOPIC, OTHER_GROUP, GroupType
from harness.search.situation import MISSING_TOPIC, Membership, Situation
from harness.search.theme import Theme

_PAYMENTS: Final = ask.subscription("payments")
_PROTOCOLS: Final[Sequence[Sequence[tuple[str, bytes]]]] = (
    ask.ROUND_ROBIN,
    (*ask.RANGE, *ask.ROUND_ROBIN),
    (*ask.ROUND_ROBIN, *ask.RANGE),
    (("range", _PAYMENTS),),
    (("range", ask.subscription("orders", version=3, owned={"orders": (0,)}, rack="rack-1")),),
    (("range", ask.subscription("orders", version=3, rack="rack-2")),),
    (("range", ask.subscription("orders", version=1, owned={"orders": (0, 1), "payments": (0,)})),),
    (("range", ask.subscription("orders", "payments", "nowhere")),),
    (("range", ask.subscription("orders")[:-3]),),
    (("range", b""),),
    (),
)
_OFFSETS: Final[Sequence[object]] = (
    {"orders": {0: 7}},
    {"orders": {0: 8, 1: 3}},
    {"payments": {1: 5}},
    {"orders": {0: (9, "a note")}},
    {"nowhere": {0: 1}},
    {"orders": {9: 1}},
    {"orders": {0: -1}},
    {},
)
_PARTITIONS: Final[Sequence[object]] = (
    {"orders": (0,)},
    {"orders": (0, 1), "payments": (1,)},
    {"nowhere": (0,)},
    {"orders": (0, 0)},
    {"orders": ()},
)


_REGEXES: Final = (
    "ord.*",
    "pay.*",
    "",
    "(",
    r"\Qorders\E",
    r"o\C*",
    "[a-p]+s",
    r"\p{Ll}+s",
    r"[\d\PL]*pay\pL+",
    r"orders|[^\w\s&&[a-f]]+",
    r"(?i)ORDERS",
    r"\p{IsAlphabetic}+s",
    r"\p{Nope}+",
    r"orders\p",
    r"\P{^L}+s",
    r"[\pLx-\d]+",
    r"[^[:^alpha:]]+",
    r"(?<name>o)rders\k<name>?",
    r"[[:alpha:]]{2,6}?",
    r"orders{1,2",
    r"\x6frders",
)
"""Regexes with syntax that is allowed, and with syntax that is not."""
_ANY_TOPIC: Final = r"\w+"
"""A regex that internal topics match, too. On a shared broker, other conversations make some of them."""


def join_group(at: Situation) -> None:
    """Join the group, or try to."""
    at.puts_version("JoinGroup", 0.2)
    if at.membership is Membership.OUTSIDE:
        at.arguments["member_id"] = ""
    at.puts_wrong_id(0.08)
    at.puts_wrong_instance(0.06)
    at.puts_other_group(0.03)
    at.puts(0.15, "session_timeout_ms", *at.tempo.sessions_ms)
    at.puts(0.25, "rebalance_timeout_ms", *at.tempo.rebalances_ms)
    at.puts(0.12, "protocols", *_PROTOCOLS)
    at.puts(0.06, "protocol_type", "connect", "")


def sync_group(at: Situation) -> None:
    """Request an assignment; a leader mostly sends the assignments of all members."""
    at.puts_version("SyncGroup")
    if at.chance(0.9 if at.is_leader else 0.1):
        members = [each for each in at.named if each.group_type is GroupType.CLASSIC or at.chance(0.5)]
        kept = [each for each in members if at.chance(0.9)]
        at.arguments["assignments"] = tuple(
            (at.id_of(each), f"part of {each.name}".encode()) for each in kept
        )
    at.puts_wrong_id(0.08)
    at.puts_wrong_generation(0.1)
    at.puts_wrong_instance(0.05)
    at.puts_other_group(0.03)
    if at.arguments.get("version", 4) == _WITH_PROTOCOL:
        at.puts(0.3, "protocol_name", None, "roundrobin", "unknown")
        at.puts(0.3, "protocol_type", None, "connect")


_WITH_PROTOCOL: Final = 5
"""The first version of SyncGroup that names the protocol."""


def heartbeat(at: Situation) -> None:
    """Send a heartbeat."""
    at.puts_version("Heartbeat")
    at.puts_wrong_id(0.15)
    at.puts_wrong_generation(0.2)
    at.puts_wrong_instance(0.1)
    at.puts_other_group(0.05)


def leave_group(at: Situation) -> None:
    """Leave the group, alone or with others."""
    at.puts_version("LeaveGroup")
    at.puts_wrong_id(0.2)
    at.puts_wrong_instance(0.1)
    at.puts_other_group(0.05)
    if at.named and at.chance(0.2):
        batch = at.rng.choices(at.named, k=at.rng.randint(1, 3))
        at.arguments["members"] = tuple((at.id_of(each), each.instance_id) for each in batch)


def offset_commit(at: Situation) -> None:
    """Commit offsets, as a member or without membership."""
    at.puts_version("OffsetCommit")
    with_epochs = [each for each in at.versions["OffsetCommit"] if each >= _WITH_MEMBER_EPOCH]
    if at.speaker.group_type is not GroupType.CLASSIC and with_epochs and at.chance(0.5):
        at.arguments["version"] = at.rng.choice(with_epochs)
    at.arguments["topics"] = at.rng.choice(_OFFSETS)
    if at.chance(0.15):
        at.arguments.update(generation_id=-1, member_id="", group_instance_id=None)
    at.puts_wrong_id(0.1)
    at.puts_wrong_generation(0.15)
    at.puts_wrong_instance(0.06)
    at.puts_other_group(0.08)
    with_retention = [each for each in at.versions["OffsetCommit"] if each <= _WITH_RETENTION]
    if at.theme is Theme.EXPIRY and with_retention and at.chance(0.5):
        at.arguments["version"] = at.rng.choice(with_retention)
    if at.version("OffsetCommit") <= _WITH_RETENTION and not at.tempo.shares_broker:
        share = 0.7 if at.theme is Theme.EXPIRY else 0.2
        at.puts(share, "retention_time_ms", 0, 700, 30_000, _RETAINED_LONG_MS)
    at.names_topics_by_id(api="OffsetCommit", since=10)


_WITH_MEMBER_EPOCH: Final = 9
"""The first version of OffsetCommit with which members of newer groups may commit."""
_WITH_RETENTION: Final = 4
"""The last version of OffsetCommit with a retention time."""
_RETAINED_LONG_MS: Final = 200_000
"""A retention time that is longer than the broker's own, if offsets expire soon."""


def offset_fetch(at: Situation) -> None:
    """Fetch committed offsets."""
    at.puts_version("OffsetFetch", 0.4)
    at.puts(0.8, "topics", *_PARTITIONS)
    at.puts_other_group(0.1)
    if at.version("OffsetFetch") >= _WITH_GROUPS and not at.tempo.shares_broker and at.chance(0.15):
        _fetches_of_several(at)
        return
    if at.version("OffsetFetch") >= _WITH_ASKER and at.chance(0.5):
        at.arguments["member_id"] = at.id_of(at.speaker)
        own = at.own_generation
        at.arguments["member_epoch"] = at.rng.choice((own, own - 1, own + 1, -1))
    if at.version("OffsetFetch") >= _WITH_STABILITY:
        at.puts(0.1, "require_stable", *(True,))
    at.names_topics_by_id(api="OffsetFetch", since=10)


def _fetches_of_several(at: Situation) -> None:
    """Fetch the offsets of several groups, by names and by ids of topics, or all of them."""
    topic = {"name": "orders", "topic_id": TopicId("orders"), "partition_indexes": (0, 1)}
    wanted = (None, (topic,), (topic, {**topic, "name": MISSING_TOPIC, "topic_id": ask.UNKNOWN_TOPIC_ID}))
    names = at.rng.choices((GroupRef("main"), GroupRef("main"), OTHER_GROUP, ""), k=at.rng.choice((1, 2, 3)))
    groups = tuple({"group_id": each, "topics": at.rng.choice(wanted)} for each in names)
    at.arguments = {"version": at.version("OffsetFetch"), "groups": groups, "require_stable": at.chance(0.2)}


_WITH_GROUPS: Final = 8
"""The first version of OffsetFetch with several groups."""
_WITH_STABILITY: Final = 7
"""The first version of OffsetFetch that can require stable offsets."""
_WITH_ASKER: Final = 9
"""The first version of OffsetFetch with the member id and epoch of the sender."""


def offset_delete(at: Situation) -> None:
    """Delete committed offsets."""
    at.arguments["topics"] = at.rng.choice(_PARTITIONS)
    at.puts_other_group(0.15)


def groups_named(api: str, name: str) -> Callable[[Situation], None]:
    """Return a function that chooses the groups of a request; `name` is the argument for the groups."""

    def chosen(at: Situation) -> None:
        at.puts_version(api)
        main = GroupRef("main")
        at.puts(0.25, name, (OTHER_GROUP,), (main, OTHER_GROUP), (main, main), ("",))
        if not at.tempo.shares_broker:
            at.puts(0.2, "include_authorized_operations", *(True,))

    return chosen


def delete_groups(at: Situation) -> None:
    """Delete groups."""
    at.puts_version("DeleteGroups")
    main = GroupRef("main")
    nameless = tuple((each,) for each in at.nameless)
    at.puts(0.25, "groups", (OTHER_GROUP,), (main, OTHER_GROUP), (main, main), *nameless)


def list_groups(at: Situation) -> None:
    """List groups."""
    at.puts_version("ListGroups", 0.9)
    version = at.version("ListGroups")
    state = at.state or "Dead"
    states = ((state,), (state.lower(),), (f" {state}",), ("Stable", "Empty"), ("unknown",))
    if version >= _WITH_STATES:
        at.puts(0.8, "states_filter", *states)
    if version > _WITH_STATES:
        at.puts(0.4, "types_filter", ("classic",), ("Consumer",), ("unknown",))


_WITH_STATES: Final = 4
"""The first version of ListGroups that filters by state; the next one also filters by type."""


def find_coordinator(at: Situation) -> None:
    """Find the coordinator."""
    at.puts_version("FindCoordinator", 0.6)
    at.puts(0.2, "key", OTHER_GROUP, "")
    # The first lookup of a transaction coordinator creates its topic, which others on the broker see.
    at.puts(0.3, "key_type", *((2, 3) if at.tempo.shares_broker else (1, 2, 3)))
    if not at.tempo.shares_broker and at.chance(0.3):
        _finds_several(at)


def _finds_several(at: Situation) -> None:
    """Look for the coordinators of several keys, of groups, transactions or share partitions."""
    main, key_type = GroupRef("main"), at.rng.choice((0, 0, 1, 2, 2))
    keys = _SHARE_KEYS if key_type == _OF_SHARES else ((main,), (main, OTHER_GROUP), (main, main), ())
    at.arguments = {
        "version": max(at.version("FindCoordinator"), at.versions["FindCoordinator"][-1]),
        "key_type": key_type,
        "coordinator_keys": at.rng.choice(keys),
        "key": main,
    }


_OF_SHARES: Final = 2
"""Source: CoordinatorType.SHARE."""
_SHARE_KEYS: Final = (
    ("payroll:AAAAAAAAAAAAAAAAAAAAAQ:0",),
    ("payroll:AAAAAAAAAAAAAAAAAAAAAQ:x",),
    ("payroll:AAAAAAAAAAAAAAAAAAAAAQ",),
    (":AAAAAAAAAAAAAAAAAAAAAQ:0", "payroll:AAAAAAAAAAAAAAAAAAAAAQ:-1"),
)
"""Keys of share partitions: a group, the id of a topic, and a partition."""


def consumer_group_heartbeat(at: Situation) -> None:
    """Join, stay in or leave a consumer group."""
    at.puts_version("ConsumerGroupHeartbeat", 0.1)
    topics: Sequence[tuple[str, ...]] = (("orders",), ("payments",), ("orders", "payments"), ("nowhere",), ())
    if not at.tempo.shares_broker:
        topics = (("orders", "payments", MADE_TOPIC), ("orders", MADE_TOPIC), *topics)
    if at.wants_to_join():
        at.arguments.update(
            member_epoch=0,
            topic_partitions=(),
            rebalance_timeout_ms=at.rng.choice(at.tempo.consumer_rebalances_ms),
        )
        at.arguments["subscribed_topic_names"] = at.rng.choice(topics[:-2])
    else:
        at.puts(0.6, "topic_partitions", Ref(at.speaker.name, "topic_partitions"))
        at.puts(0.1, "topic_partitions", ())
        at.puts(0.15, "member_epoch", -1, -2, 0)
        at.puts_wrong_generation(0.15, "member_epoch")
    at.puts(0.15, "subscribed_topic_names", *topics)
    at.puts(0.1, "server_assignor", "uniform", "range", "unknown")
    if not at.tempo.shares_broker:
        # On a broker the time-out may end before or after a regular expression is resolved.
        at.puts(0.05, "rebalance_timeout_ms", 1, 0)
    if at.arguments.get("version", 1) == 1:
        # Who may not see all topics finds fewer of them.
        share = 0.1 if at.speaker.principal is None else 0.3
        at.puts(
            share, "subscribed_topic_regex", *_REGEXES, *(() if at.tempo.shares_broker else (_ANY_TOPIC,))
        )
    at.puts(0.06, "member_id", "", "nobody", *(at.id_of(each) for each in at.named))
    at.puts(0.05, "instance_id", None, "nowhere", *(each.instance_id for each in at.others))
    if not at.tempo.shares_broker:
        at.puts(0.06, "rack_id", "", "rack-1", "rack-2")

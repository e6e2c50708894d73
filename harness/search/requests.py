"""Which requests come next: the right one where an actor stands, or one that is nearly right."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from random import Random
from typing import Final, TypeAlias

from harness.scenario import ask
from harness.scenario.values import GroupRef, Ref
from harness.search.moves import OTHER_GROUP, Speaker
from harness.search.tempo import VIRTUAL, Tempo

Arguments: TypeAlias = dict[str, object]
"""Of a builder of requests, by name."""


class Membership(StrEnum):
    """What an actor is to its group, as far as its answers show."""

    OUTSIDE = "outside"
    NAMED = "named"
    """It has an id, and is to join."""
    JOINED = "joined"
    """It is to ask for its assignment."""
    SYNCED = "synced"


@dataclass(slots=True)
class Situation:
    """What an actor knows when it asks."""

    rng: Random
    speaker: Speaker
    membership: Membership
    is_leader: bool
    others: Sequence[Speaker]
    """The rest of the cast."""
    named: Sequence[Speaker]
    """All of the cast who have learnt an id, or chose one."""
    versions: Mapping[str, Sequence[int]]
    """By API, what both sides serve."""
    tempo: Tempo = VIRTUAL
    """How long time-outs may be."""
    state: str | None = None
    """Of the group of all, if there is one."""
    arguments: Arguments = field(default_factory=dict)

    def chance(self, share: float) -> bool:
        """Tell, for so many of all times, that it is so."""
        return self.rng.random() < share

    def puts(self, share: float, name: str, *values: object) -> None:
        """Name an argument for so many of all times, with one of some values."""
        if self.chance(share):
            self.arguments[name] = self.rng.choice(values)

    def id_of(self, speaker: Speaker) -> str | Ref:
        """Return the member id of somebody."""
        return f"member-{speaker.name}" if speaker.is_consumer else Ref(speaker.name, "member_id")

    def puts_wrong_id(self, share: float) -> None:
        """Name, for so many of all times, an id that is not the actor's own."""
        strangers: list[object] = [
            "",
            "nobody",
            *(self.id_of(each) for each in self.named if each != self.speaker),
        ]
        self.puts(share, "member_id", *strangers)

    def puts_wrong_generation(self, share: float, name: str = "generation_id") -> None:
        """Name, for so many of all times, a past generation, one to come, or none."""
        own = Ref(self.speaker.name, "member_epoch" if self.speaker.is_consumer else "generation_id")
        self.puts(share, name, own - 1, own + 1, -1, 0)

    def puts_wrong_instance(self, share: float) -> None:
        """Name, for so many of all times, another instance id, or none."""
        seats = [each.instance_id for each in self.others if each.instance_id]
        self.puts(share, "group_instance_id", None, "nowhere", *seats)

    def puts_other_group(self, share: float) -> None:
        """Name, for so many of all times, another group, or a group without a name."""
        self.puts(share, "group_id", OTHER_GROUP, *self.nameless)

    @property
    def nameless(self) -> Sequence[str]:
        """The name of the group without one, which all conversations on a broker would have in common."""
        return () if self.tempo.shares_broker else ("",)

    def puts_version(self, api: str, share: float = 0.25) -> None:
        """Name, for so many of all times, a version; always where the usual one is not served."""
        served = self.versions[api]
        usual = _USUAL_VERSIONS[api]
        if usual not in served or self.chance(share):
            self.arguments["version"] = self.rng.choice(served)


_USUAL_VERSIONS: Final = {
    "JoinGroup": 6,
    "SyncGroup": 4,
    "Heartbeat": 4,
    "LeaveGroup": 4,
    "OffsetCommit": 8,
    "OffsetFetch": 6,
    "OffsetDelete": 0,
    "DescribeGroups": 5,
    "ListGroups": 4,
    "DeleteGroups": 2,
    "FindCoordinator": 2,
    "ConsumerGroupHeartbeat": 1,
    "ConsumerGroupDescribe": 1,
}
_PAYMENTS: Final = ask.subscription("payments")
_PROTOCOLS: Final[Sequence[Sequence[tuple[str, bytes]]]] = (
    ask.ROUND_ROBIN,
    (*ask.RANGE, *ask.ROUND_ROBIN),
    (*ask.ROUND_ROBIN, *ask.RANGE),
    (("range", _PAYMENTS),),
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


def _join_group(at: Situation) -> None:
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


def _sync_group(at: Situation) -> None:
    at.puts_version("SyncGroup")
    if at.chance(0.9 if at.is_leader else 0.1):
        members = [each for each in at.named if not each.is_consumer or at.chance(0.5)]
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


def _heartbeat(at: Situation) -> None:
    at.puts_version("Heartbeat")
    at.puts_wrong_id(0.15)
    at.puts_wrong_generation(0.2)
    at.puts_wrong_instance(0.1)
    at.puts_other_group(0.05)


def _leave_group(at: Situation) -> None:
    at.puts_version("LeaveGroup")
    at.puts_wrong_id(0.2)
    at.puts_wrong_instance(0.1)
    at.puts_other_group(0.05)
    if at.named and at.chance(0.2):
        batch = at.rng.choices(at.named, k=at.rng.randint(1, 3))
        at.arguments["members"] = tuple((at.id_of(each), each.instance_id) for each in batch)


def _offset_commit(at: Situation) -> None:
    at.puts_version("OffsetCommit")
    at.arguments["topics"] = at.rng.choice(_OFFSETS)
    if at.chance(0.15):
        at.arguments.update(generation_id=-1, member_id="", group_instance_id=None)
    at.puts_wrong_id(0.1)
    at.puts_wrong_generation(0.15)
    at.puts_wrong_instance(0.06)
    at.puts_other_group(0.08)


def _offset_fetch(at: Situation) -> None:
    at.puts_version("OffsetFetch", 0.4)
    at.puts(0.8, "topics", *_PARTITIONS)
    at.puts_other_group(0.1)
    if int(str(at.arguments.get("version", 6))) >= _WITH_ASKER and at.chance(0.5):
        at.arguments["member_id"] = at.id_of(at.speaker)
        own = Ref(at.speaker.name, "member_epoch" if at.speaker.is_consumer else "generation_id")
        at.arguments["member_epoch"] = at.rng.choice((own, own - 1, own + 1, -1))
    at.puts(0.1, "require_stable", *(True,))


_WITH_ASKER: Final = 9
"""The first version of OffsetFetch that says who asks."""


def _offset_delete(at: Situation) -> None:
    at.arguments["topics"] = at.rng.choice(_PARTITIONS)
    at.puts_other_group(0.15)


def _groups(name: str) -> Callable[[Situation], None]:
    def chosen(at: Situation) -> None:
        at.puts_version("DescribeGroups" if name == "groups" else "ConsumerGroupDescribe")
        main = GroupRef("main")
        at.puts(0.25, name, (OTHER_GROUP,), (main, OTHER_GROUP), (main, main), ("",))

    return chosen


def _delete_groups(at: Situation) -> None:
    at.puts_version("DeleteGroups")
    main = GroupRef("main")
    nameless = tuple((each,) for each in at.nameless)
    at.puts(0.25, "groups", (OTHER_GROUP,), (main, OTHER_GROUP), (main, main), *nameless)


def _list_groups(at: Situation) -> None:
    at.puts_version("ListGroups", 0.9)
    version = int(str(at.arguments.get("version", 3)))
    state = at.state or "Dead"
    states = ((state,), (state.lower(),), (f" {state}",), ("Stable", "Empty"), ("unknown",))
    if version >= _WITH_STATES:
        at.puts(0.8, "states_filter", *states)
    if version > _WITH_STATES:
        at.puts(0.4, "types_filter", ("classic",), ("Consumer",), ("unknown",))


_WITH_STATES: Final = 4
"""The first version of ListGroups that filters; the next one filters types too."""


def _find_coordinator(at: Situation) -> None:
    at.puts_version("FindCoordinator", 0.6)
    at.puts(0.2, "key", OTHER_GROUP, "")
    # The first question for a transaction coordinator makes its topic, which others on the broker see.
    at.puts(0.3, "key_type", *((2, 3) if at.tempo.shares_broker else (1, 2, 3)))


def _consumer_group_heartbeat(at: Situation) -> None:
    at.puts_version("ConsumerGroupHeartbeat", 0.1)
    topics = (("orders",), ("payments",), ("orders", "payments"), ("nowhere",), ())
    if at.membership is Membership.OUTSIDE:
        at.arguments.update(
            member_epoch=0,
            topic_partitions=(),
            rebalance_timeout_ms=at.rng.choice(at.tempo.consumer_rebalances_ms),
        )
        at.arguments["subscribed_topic_names"] = at.rng.choice(topics[:3])
    else:
        at.puts(0.6, "topic_partitions", Ref(at.speaker.name, "topic_partitions"))
        at.puts(0.1, "topic_partitions", ())
        at.puts(0.15, "member_epoch", -1, -2, 0)
        at.puts_wrong_generation(0.15, "member_epoch")
    at.puts(0.15, "subscribed_topic_names", *topics)
    at.puts(0.1, "server_assignor", "uniform", "range", "unknown")
    at.puts(0.05, "rebalance_timeout_ms", 1, 0)
    if at.arguments.get("version", 1) == 1:
        at.puts(0.1, "subscribed_topic_regex", "ord.*", "pay.*", "", "(")
    at.puts(0.06, "member_id", "", "nobody", *(at.id_of(each) for each in at.named))
    at.puts(0.05, "instance_id", None, "nowhere", *(each.instance_id for each in at.others))


REQUESTS: Final[Mapping[str, Callable[[Situation], None]]] = {
    "JoinGroup": _join_group,
    "SyncGroup": _sync_group,
    "Heartbeat": _heartbeat,
    "LeaveGroup": _leave_group,
    "OffsetCommit": _offset_commit,
    "OffsetFetch": _offset_fetch,
    "OffsetDelete": _offset_delete,
    "DescribeGroups": _groups("groups"),
    "ListGroups": _list_groups,
    "DeleteGroups": _delete_groups,
    "FindCoordinator": _find_coordinator,
    "ConsumerGroupHeartbeat": _consumer_group_heartbeat,
    "ConsumerGroupDescribe": _groups("group_ids"),
}
"""By API, how its arguments are chosen."""
_WEIGHTS: Final[Mapping[str, int]] = {
    "JoinGroup": 10,
    "SyncGroup": 8,
    "Heartbeat": 8,
    "LeaveGroup": 5,
    "OffsetCommit": 9,
    "OffsetFetch": 6,
    "OffsetDelete": 3,
    "DescribeGroups": 6,
    "ListGroups": 4,
    "DeleteGroups": 3,
    "FindCoordinator": 1,
}
_OF_CONSUMERS: Final[Mapping[str, int]] = {
    **{name: weight for name, weight in _WEIGHTS.items() if name.startswith(("Offset", "List", "Delete"))},
    "ConsumerGroupHeartbeat": 25,
    "ConsumerGroupDescribe": 6,
    "DescribeGroups": 2,
    "JoinGroup": 1,
    "Heartbeat": 1,
    "LeaveGroup": 2,
}
_RIGHT: Final[Mapping[Membership, Sequence[str]]] = {
    Membership.OUTSIDE: ("JoinGroup",),
    Membership.NAMED: ("JoinGroup",),
    Membership.JOINED: ("SyncGroup",),
    Membership.SYNCED: ("Heartbeat", "OffsetCommit", "OffsetFetch", "JoinGroup", "LeaveGroup"),
}
_IN_STATE: Final[Mapping[str, Mapping[str, int]]] = {
    "CompletingRebalance": {"OffsetCommit": 3, "SyncGroup": 2, "Heartbeat": 2},
    "PreparingRebalance": {"JoinGroup": 2, "Heartbeat": 2, "SyncGroup": 2},
    "Empty": {"DeleteGroups": 3, "OffsetDelete": 3, "OffsetCommit": 2},
    "Stable": {"OffsetDelete": 2, "LeaveGroup": 2, "JoinGroup": 2},
}
"""By the group's state, how much more often something is asked that has rules of its own there."""


def chosen_api(at: Situation) -> str:
    """Return what an actor asks: mostly what it should, or what has rules of its own in the group's state."""
    if at.speaker.is_consumer:
        weights = dict(_OF_CONSUMERS)
    else:
        right = [api for api in _RIGHT[at.membership] if api in at.versions]
        if right and at.chance(0.5):
            return at.rng.choice(right)
        weights = dict(_WEIGHTS)
    for api, factor in _IN_STATE.get(at.state or "", {}).items():
        weights[api] = weights.get(api, 0) * factor
    served = [api for api in weights if api in at.versions]
    return at.rng.choices(served, [weights[api] for api in served])[0]

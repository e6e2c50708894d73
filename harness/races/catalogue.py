"""The catalogue of races: how each begins, what its rivals do, and what is known to show of Kafka itself.

A set-up is a conversation, in the scenario language, that brings the group into some state; a move is one or
two requests in order. Every rival has its own connection and name, even if it sends requests of a member of
the set-up, since a member's requests overlap only on different connections.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Final, TypeAlias

from harness.diff.expectations import Entry, load_expectations
from harness.diff.judge import TargetInfo
from harness.results.replay_results import ReplayFinding
from harness.scenario import ask
from harness.scenario.actor import Actor
from harness.scenario.conversation import Conversation
from harness.scenario.heartbeating import JOINS, LEAVES
from harness.scenario.messages import Number, Request, Text, pinned
from harness.scenario.values import Ref
from harness.trace.events import TraceHeader

INSTANCE: Final = "instance-of-ana"
_UNREBALANCED_JOIN: Final = 3
"""The last version in which new members join without getting an id first. Source: KIP-394."""
_OFFSET_BEFORE: Final = 7
_OFFSET_OF_MEMBER: Final = 11
_OFFSET_OF_NOBODY: Final = 13
_ANY_GENERATION: Final = 1
_TOPIC: Final = "payments"
"""The topic of consumers. It has two partitions, so that two members get one each, whatever their ids."""
_PARTITIONS: Final = {_TOPIC: (0, 1)}
_COMMIT_OF_CONSUMERS: Final = 9
"""The first version whose commits have a member epoch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """The member whose requests rivals send: one of the set-up, a former one, or none at all."""

    member_id: Text
    generation_id: Number
    group_instance_id: str | None = None
    is_consumer: bool = False
    """Whether it uses the consumer group protocol; its generation is then its epoch."""


NOBODY: Final = Member(member_id="nobody", generation_id=_ANY_GENERATION)
"""A member that never was."""
_NO_MEMBER: Final = Member(member_id="", generation_id=-1)
"""The sender of a commit without a member."""


class SetUp(StrEnum):
    """The state of a group before its round begins."""

    NOTHING = "nothing"
    """There was never a group with that id."""
    OFFSETS = "offsets"
    """Offsets without a member, as of a client that assigns partitions by hand."""
    LEFT = "left"
    """Empty, since its only member has left."""
    LEFT_WITH_OFFSETS = "left with offsets"
    """Empty, with the offsets that its only member committed."""
    PENDING = "pending"
    """One member id was assigned and not used yet."""
    COMPLETING = "completing"
    """Its only member has joined and not synced yet."""
    STABLE = "stable"
    """One member, with offsets."""
    STATIC = "static"
    """One static member, with offsets."""
    NO_CONSUMERS = "no consumers"
    """There was never a group with that id; topics have known ids."""
    CONSUMER = "consumer"
    """A consumer group with one member, which has all partitions."""
    CLASSIC_CONSUMER = "classic consumer"
    """A classic group with one member, which consumers may join."""

    @property
    def is_of_consumers(self) -> bool:
        """Whether rivals are consumers, which needs a release that has consumer groups."""
        return self in (SetUp.NO_CONSUMERS, SetUp.CONSUMER, SetUp.CLASSIC_CONSUMER)


def set_up(conversation: Conversation, how: SetUp) -> Member:
    """Bring a group into a state; return the member whose requests rivals may send."""
    if how is SetUp.NOTHING:
        return NOBODY
    if how is SetUp.OFFSETS:
        _says(conversation.actor("ana"), _commit(_NO_MEMBER, offset=_OFFSET_BEFORE))
        return NOBODY
    if how.is_of_consumers:
        return _set_up_consumers(conversation.actor("ana"), how)
    ana = conversation.actor("ana", group_instance_id=INSTANCE if how is SetUp.STATIC else None)
    ana.obtains_member_id()
    if how is SetUp.PENDING:
        return Member(member_id=ana.member_id, generation_id=_ANY_GENERATION)
    _says(ana, ask.join_group())
    member = Member(
        member_id=ana.member_id, generation_id=ana.generation_id, group_instance_id=ana.group_instance_id
    )
    if how is not SetUp.COMPLETING:
        ana.syncs_as_leader([ana])
        _leave_behind(ana, member, how)
    return member


def _set_up_consumers(ana: Actor, how: SetUp) -> Member:
    """Bring a group of consumers into a state; the ids of its topics are known from then on."""
    _says(ana, ask.metadata((_TOPIC,)))
    match how:
        case SetUp.CONSUMER:
            _says(ana, _consumer_join(ana))
            epoch = Ref(ana.name, "member_epoch")
            return Member(member_id=_consumer_id(ana), generation_id=epoch, is_consumer=True)
        case SetUp.CLASSIC_CONSUMER:
            _says(ana, _join_as_classic_consumer())
            mine = (ana.member_id, ask.assignment_of(_PARTITIONS, version=1))
            _says(ana, ask.sync_group(assignments=(mine,)))
            return Member(member_id=ana.member_id, generation_id=ana.generation_id)
        case _:
            return NOBODY


def _leave_behind(ana: Actor, member: Member, how: SetUp) -> None:
    if how is not SetUp.LEFT:
        _says(ana, _commit(member, offset=_OFFSET_BEFORE))
    if how in (SetUp.LEFT, SetUp.LEFT_WITH_OFFSETS):
        _says(ana, ask.leave_group())


def _as(member: Member, ask_for: Callable[..., Request], **further: object) -> Request:
    """Return a request that says who its sender is."""
    return ask_for(
        generation_id=member.generation_id,
        member_id=member.member_id,
        group_instance_id=member.group_instance_id,
        **further,
    )


def _commit(member: Member, *, offset: int = _OFFSET_OF_MEMBER) -> Request:
    """Return a commit of one offset by a member."""
    return _as(member, ask.offset_commit, topics={"orders": {0: offset}})


class Move(StrEnum):
    """What a rival does."""

    DELETE = "delete"
    HEARTBEAT = "heartbeat"
    JOIN_KNOWN = "join known"
    """JoinGroup with the member's id."""
    JOIN_NEW = "join new"
    """JoinGroup of a new member that joins at once."""
    JOIN_IN_TWO_STEPS = "join in two steps"
    """JoinGroup of a new member that gets an id, and joins with it."""
    JOIN_STATIC = "join static"
    """JoinGroup of a client that claims the member's instance id."""
    SYNC = "sync"
    LEAVE = "leave"
    COMMIT = "commit"
    COMMIT_BY_NOBODY = "commit by nobody"
    COMMIT_AND_FETCH = "commit and fetch"
    """A commit without a member, and then a fetch of it."""
    FETCH = "fetch"
    DESCRIBE = "describe"
    DESCRIBE_TWICE = "describe twice"
    DELETE_OFFSETS = "delete offsets"
    BEAT_AND_DESCRIBE = "beat and describe"
    """A heartbeat, and then a description of the group: two APIs that must not contradict each other."""
    CONSUMER_BEAT = "consumer beat"
    CONSUMER_OWNS = "consumer owns"
    """ConsumerGroupHeartbeat of the member, which owns all partitions."""
    CONSUMER_GIVES_UP = "consumer gives up"
    """ConsumerGroupHeartbeat of the member, which still owns one partition."""
    CONSUMER_JOIN = "consumer join"
    CONSUMER_LEAVE = "consumer leave"
    CONSUMER_COMMIT = "consumer commit"
    CONSUMER_DESCRIBE = "consumer describe"
    JOIN_AS_CLASSIC_CONSUMER = "join as classic consumer"
    """JoinGroup of a consumer with the classic protocol, which joins at once."""


_Speaks: TypeAlias = Callable[[Actor, Member], None]


def speak(conversation: Conversation, name: str, move: Move, member: Member) -> None:
    """Add a rival's move to a conversation."""
    instance = INSTANCE if move is Move.JOIN_STATIC else None
    _MOVES[move](conversation.actor(name, group_instance_id=instance), member)


def look_back(conversation: Conversation, member: Member, how: SetUp) -> None:
    """Read the state of the group, let the set-up's member leave, and read it again, one by one."""
    zoe = conversation.actor("zoe")
    looks = [ask.describe_groups(), ask.offset_fetch(topics={"orders": (0,)})]
    if how.is_of_consumers:
        looks.insert(0, ask.consumer_group_describe())
    _says(zoe, *looks, beat(member))
    if member is not NOBODY:
        _says(zoe, _leave(member))
    _says(zoe, *looks)


def beat(member: Member) -> Request:
    """Return a member's heartbeat."""
    if member.is_consumer:
        return _consumer_beat(member)
    return _as(member, ask.heartbeat)


def _leave(member: Member) -> Request:
    if member.is_consumer:
        return _consumer_leave(member)
    return ask.leave_group(members=((member.member_id, member.group_instance_id),))


def _says(actor: Actor, *requests: Request) -> None:
    for request in requests:
        actor.sends(request)
        actor.receives(pinned(request.api))


def _says_for(*make: Callable[[Member], Request]) -> _Speaks:
    return lambda actor, member: _says(actor, *(each(member) for each in make))


def _join_in_two_steps(actor: Actor, _: Member) -> None:
    _says(actor, ask.join_group(member_id=""))
    _says(actor, ask.join_group(member_id=actor.member_id))


def _join_known(member: Member) -> Request:
    return ask.join_group(member_id=member.member_id, group_instance_id=member.group_instance_id)


def _sync(member: Member) -> Request:
    return _as(member, ask.sync_group, assignments=((member.member_id, b"raced for"),))


def _commit_by_nobody(_: Member) -> Request:
    return _commit(_NO_MEMBER, offset=_OFFSET_OF_NOBODY)


def _fetch(_: Member) -> Request:
    return ask.offset_fetch(topics={"orders": (0,)})


def _describe(_: Member) -> Request:
    return ask.describe_groups()


def _consumer_id(actor: Actor) -> str:
    """Return the member id that a consumer chooses.

    It equals the one in canonical form, since the decisions of assignors depend on the ids.
    """
    return f"member:{actor.name}"


def _consumer_join(actor: Actor) -> Request:
    return ask.consumer_group_heartbeat(
        member_id=_consumer_id(actor),
        member_epoch=JOINS,
        rebalance_timeout_ms=ask.REBALANCE_TIMEOUT_MS,
        subscribed_topic_names=(_TOPIC,),
        topic_partitions={},
    )


def _consumer_beat(member: Member, owned: Mapping[str, Sequence[int]] | None = None) -> Request:
    return ask.consumer_group_heartbeat(
        member_id=member.member_id, member_epoch=member.generation_id, topic_partitions=owned
    )


def _consumer_leave(member: Member) -> Request:
    return ask.consumer_group_heartbeat(member_id=member.member_id, member_epoch=LEAVES)


def _consumer_commit(member: Member) -> Request:
    topics = {"orders": {0: _OFFSET_OF_MEMBER}}
    return _as(member, ask.offset_commit, version=_COMMIT_OF_CONSUMERS, topics=topics)


def _join_as_classic_consumer() -> Request:
    metadata = ask.subscription(_TOPIC, version=1)
    return ask.join_group(version=_UNREBALANCED_JOIN, member_id="", protocols=(("range", metadata),))


_MOVES: Final[Mapping[Move, _Speaks]] = {
    Move.DELETE: _says_for(lambda _: ask.delete_groups()),
    Move.HEARTBEAT: _says_for(beat),
    Move.JOIN_KNOWN: _says_for(_join_known),
    Move.JOIN_NEW: _says_for(lambda _: ask.join_group(version=_UNREBALANCED_JOIN, member_id="")),
    Move.JOIN_IN_TWO_STEPS: _join_in_two_steps,
    Move.JOIN_STATIC: _says_for(lambda _: ask.join_group(member_id="", group_instance_id=INSTANCE)),
    Move.SYNC: _says_for(_sync),
    Move.LEAVE: _says_for(_leave),
    Move.COMMIT: _says_for(_commit),
    Move.COMMIT_BY_NOBODY: _says_for(_commit_by_nobody),
    Move.COMMIT_AND_FETCH: _says_for(_commit_by_nobody, _fetch),
    Move.FETCH: _says_for(_fetch),
    Move.DESCRIBE: _says_for(_describe),
    Move.DESCRIBE_TWICE: _says_for(_describe, _describe),
    Move.DELETE_OFFSETS: _says_for(lambda _: ask.offset_delete(topics={"orders": (0,)})),
    Move.BEAT_AND_DESCRIBE: _says_for(beat, _describe),
    Move.CONSUMER_BEAT: _says_for(_consumer_beat),
    Move.CONSUMER_OWNS: _says_for(lambda member: _consumer_beat(member, _PARTITIONS)),
    Move.CONSUMER_GIVES_UP: _says_for(lambda member: _consumer_beat(member, {_TOPIC: (0,)})),
    Move.CONSUMER_JOIN: lambda actor, _: _says(actor, _consumer_join(actor)),
    Move.CONSUMER_LEAVE: _says_for(_consumer_leave),
    Move.CONSUMER_COMMIT: _says_for(_consumer_commit),
    Move.CONSUMER_DESCRIBE: _says_for(lambda _: ask.consumer_group_describe()),
    Move.JOIN_AS_CLASSIC_CONSUMER: _says_for(lambda _: _join_as_classic_consumer()),
}


class RaceError(Exception):
    """A race cannot be run as requested; the message names the cause and the remedy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Race:
    """Operations that run concurrently on groups in one state."""

    name: str
    title: str
    """A description of the race in one sentence."""
    set_up: SetUp
    always: tuple[Move, ...]
    """Rivals of every round."""
    sometimes: tuple[Move, ...]
    """Further rivals, of which the seed chooses some for each round."""
    sometimes_max: int = 2

    @property
    def deletes(self) -> bool:
        """Whether one DeleteGroups that names many groups is a rival in each of their rounds."""
        return Move.DELETE in self.always


_OF_MEMBER: Final = (
    Move.HEARTBEAT,
    Move.JOIN_KNOWN,
    Move.SYNC,
    Move.LEAVE,
    Move.COMMIT,
)
_OF_ANYBODY: Final = (
    Move.JOIN_NEW,
    Move.JOIN_IN_TWO_STEPS,
    Move.COMMIT_BY_NOBODY,
    Move.COMMIT_AND_FETCH,
    Move.FETCH,
    Move.DESCRIBE,
    Move.DESCRIBE_TWICE,
    Move.DELETE_OFFSETS,
    Move.BEAT_AND_DESCRIBE,
)
_OF_CONSUMERS: Final = (
    Move.CONSUMER_JOIN,
    Move.CONSUMER_COMMIT,
    Move.CONSUMER_DESCRIBE,
    Move.COMMIT_BY_NOBODY,
    Move.FETCH,
)

RACES: Final = (
    Race(
        name="delete-offsets",
        title="A group of nothing but offsets is deleted while somebody uses it.",
        set_up=SetUp.OFFSETS,
        always=(Move.DELETE,),
        sometimes=(Move.HEARTBEAT, Move.JOIN_KNOWN, Move.SYNC, Move.LEAVE, Move.COMMIT, *_OF_ANYBODY),
        sometimes_max=3,
    ),
    Race(
        name="delete-left",
        title="An empty group that remembers a generation is deleted while somebody uses it.",
        set_up=SetUp.LEFT,
        always=(Move.DELETE,),
        sometimes=(*_OF_MEMBER, *_OF_ANYBODY),
        sometimes_max=3,
    ),
    Race(
        name="delete-left-with-offsets",
        title="An empty group with a generation and offsets is deleted while somebody uses it.",
        set_up=SetUp.LEFT_WITH_OFFSETS,
        always=(Move.DELETE,),
        sometimes=(*_OF_MEMBER, *_OF_ANYBODY),
        sometimes_max=3,
    ),
    Race(
        name="delete-pending",
        title="A group that has given out an id is deleted while its bearer comes back.",
        set_up=SetUp.PENDING,
        always=(Move.DELETE, Move.JOIN_KNOWN),
        sometimes=(Move.HEARTBEAT, Move.LEAVE, Move.JOIN_NEW, Move.COMMIT_BY_NOBODY, Move.DESCRIBE),
    ),
    Race(
        name="delete-leave",
        title="A group is deleted while its last member leaves.",
        set_up=SetUp.STABLE,
        always=(Move.DELETE, Move.LEAVE),
        sometimes=(Move.HEARTBEAT, Move.COMMIT, Move.FETCH, Move.DESCRIBE, Move.BEAT_AND_DESCRIBE),
    ),
    Race(
        name="delete-twice",
        title="A group is deleted with others while somebody else deletes it alone.",
        set_up=SetUp.LEFT_WITH_OFFSETS,
        always=(Move.DELETE, Move.DELETE),
        sometimes=(Move.COMMIT_AND_FETCH, Move.DELETE_OFFSETS, Move.DESCRIBE, Move.JOIN_NEW),
    ),
    Race(
        name="commit-leave",
        title="A member commits while it leaves.",
        set_up=SetUp.STABLE,
        always=(Move.COMMIT, Move.LEAVE),
        sometimes=(Move.HEARTBEAT, Move.FETCH, Move.DESCRIBE, Move.COMMIT_BY_NOBODY, Move.DELETE_OFFSETS),
    ),
    Race(
        name="join-sync",
        title="The leader brings the assignment while somebody else joins.",
        set_up=SetUp.COMPLETING,
        always=(Move.SYNC, Move.JOIN_NEW),
        sometimes=(Move.HEARTBEAT, Move.COMMIT, Move.DESCRIBE, Move.LEAVE, Move.JOIN_KNOWN),
    ),
    Race(
        name="join-leave",
        title="Somebody joins while the only member leaves or comes back.",
        set_up=SetUp.STABLE,
        always=(Move.JOIN_NEW, Move.LEAVE),
        sometimes=(Move.JOIN_KNOWN, Move.HEARTBEAT, Move.COMMIT, Move.DESCRIBE, Move.JOIN_IN_TWO_STEPS),
    ),
    Race(
        name="first-joins",
        title="Several are the first to join a group that was not there.",
        set_up=SetUp.NOTHING,
        always=(Move.JOIN_NEW, Move.JOIN_IN_TWO_STEPS),
        sometimes=(Move.JOIN_NEW, Move.COMMIT_BY_NOBODY, Move.DESCRIBE, Move.DELETE),
    ),
    Race(
        name="static-twins",
        title="Two claim the instance id of a member at once.",
        set_up=SetUp.STATIC,
        always=(Move.JOIN_STATIC, Move.JOIN_STATIC),
        sometimes=(Move.HEARTBEAT, Move.COMMIT, Move.SYNC, Move.LEAVE, Move.DESCRIBE),
    ),
    Race(
        name="offset-delete",
        title="Offsets of an empty group are deleted while others commit them and look.",
        set_up=SetUp.LEFT_WITH_OFFSETS,
        always=(Move.DELETE_OFFSETS, Move.COMMIT_AND_FETCH),
        sometimes=(Move.DELETE_OFFSETS, Move.FETCH, Move.DESCRIBE, Move.JOIN_NEW, Move.DELETE),
    ),
    Race(
        name="consumer-first-joins",
        title="Several consumers are the first to join a group that was not there.",
        set_up=SetUp.NO_CONSUMERS,
        always=(Move.CONSUMER_JOIN, Move.CONSUMER_JOIN),
        sometimes=(Move.CONSUMER_JOIN, Move.COMMIT_BY_NOBODY, Move.CONSUMER_DESCRIBE, Move.DELETE),
    ),
    Race(
        name="consumer-beats",
        title="Two heartbeats of one consumer are under way at once, one of which says what it owns.",
        set_up=SetUp.CONSUMER,
        always=(Move.CONSUMER_BEAT, Move.CONSUMER_OWNS),
        sometimes=(*_OF_CONSUMERS, Move.CONSUMER_GIVES_UP),
    ),
    Race(
        name="consumer-handover",
        title="A consumer gives up a partition while another joins.",
        set_up=SetUp.CONSUMER,
        always=(Move.CONSUMER_JOIN, Move.CONSUMER_GIVES_UP),
        sometimes=(*_OF_CONSUMERS, Move.CONSUMER_BEAT),
    ),
    Race(
        name="consumer-beat-leave",
        title="A consumer heartbeats while it leaves.",
        set_up=SetUp.CONSUMER,
        always=(Move.CONSUMER_BEAT, Move.CONSUMER_LEAVE),
        sometimes=_OF_CONSUMERS,
    ),
    Race(
        name="consumer-delete-leave",
        title="A consumer group is deleted while its last member leaves.",
        set_up=SetUp.CONSUMER,
        always=(Move.DELETE, Move.CONSUMER_LEAVE),
        sometimes=(Move.CONSUMER_BEAT, Move.CONSUMER_COMMIT, Move.CONSUMER_DESCRIBE, Move.FETCH),
    ),
    Race(
        name="consumer-downgrade",
        title="A classic consumer joins while the only consumer of its group heartbeats.",
        set_up=SetUp.CONSUMER,
        always=(Move.JOIN_AS_CLASSIC_CONSUMER, Move.CONSUMER_BEAT),
        sometimes=(Move.CONSUMER_LEAVE, Move.CONSUMER_COMMIT, Move.CONSUMER_DESCRIBE, Move.DESCRIBE),
    ),
    Race(
        name="consumer-upgrade",
        title="A consumer joins a classic group while its only member heartbeats.",
        set_up=SetUp.CLASSIC_CONSUMER,
        always=(Move.CONSUMER_JOIN, Move.HEARTBEAT),
        sometimes=(Move.LEAVE, Move.COMMIT, Move.CONSUMER_DESCRIBE, Move.DESCRIBE),
    ),
)


def has_race(name: str, *, consumer_groups: bool) -> bool:
    """Return whether a release has the features that a race needs; a removed race needs none."""
    return consumer_groups or not any(race.name == name and race.set_up.is_of_consumers for race in RACES)


def race_of(group_id: str) -> str:
    """Return the race that a group is of, by its name; the whole name if it is of none."""
    longest_first = sorted((race.name for race in RACES), key=len, reverse=True)
    return next((name for name in longest_first if f"-{name}-" in group_id), group_id)


def select_races(patterns: Sequence[str]) -> tuple[Race, ...]:
    """Choose races by name or glob; no pattern chooses all.

    Raises:
        RaceError: a pattern matches none.
    """
    for pattern in patterns:
        if not any(fnmatchcase(race.name, pattern) for race in RACES):
            names = ", ".join(race.name for race in RACES)
            raise RaceError(f"no race matches {pattern!r}; there is {names}")
    return tuple(
        race for race in RACES if not patterns or any(fnmatchcase(race.name, each) for each in patterns)
    )


@cache
def _entries() -> tuple[Entry, ...]:
    return tuple(each.entry for each in load_expectations([Path(__file__).with_name("known.toml")]))


def why_known(finding: ReplayFinding, signature: str, header: TraceHeader, *, today: date) -> str | None:
    """Return why a finding of a race is known of its target; None if it is not.

    Args:
        finding: the finding.
        signature: its signature.
        header: what the run's folder says of the target.
        today: the date by which expiry is judged.
    """
    info = TargetInfo(
        run_id=header.run_id, target=header.target, spec=header.spec, profile=header.profile, oracle=None
    )
    race = f"races/{race_of(finding.group)}"
    for each in _entries():
        if each.signature == signature and each.concerns(race, info) and not each.has_expired(today):
            return f"{each.reason} [{each.link}]"
    return None

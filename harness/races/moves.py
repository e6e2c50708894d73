"""How a race begins and what its rivals do, in the scenario language.

A set-up is a conversation that brings the group into some state; a move is one or two requests in order.
Every rival has its own connection and name, even if it sends requests of a member of the set-up, since a
member's requests overlap only on different connections.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

from harness.scenario import ask
from harness.scenario.actor import Actor
from harness.scenario.conversation import Conversation
from harness.scenario.heartbeating import JOINS, LEAVES
from harness.scenario.messages import Number, Request, Text, pinned
from harness.scenario.values import Ref

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

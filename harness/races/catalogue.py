"""The catalogue of races: how each begins, what its rivals do, and what is known to show of Kafka itself.

A set-up is a conversation, in the scenario language, that brings the group into some state. Every rival has
its own connection and name, even if it sends requests of a member of the set-up, since a member's requests
overlap only on different connections.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

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
        says(conversation.actor("ana"), _commit(_NO_MEMBER, offset=_OFFSET_BEFORE))
        return NOBODY
    if how.is_of_consumers:
        return _set_up_consumers(conversation.actor("ana"), how)
    ana = conversation.actor("ana", group_instance_id=INSTANCE if how is SetUp.STATIC else None)
    ana.obtains_member_id()
    if how is SetUp.PENDING:
        return Member(member_id=ana.member_id, generation_id=_ANY_GENERATION)
    says(ana, ask.join_group())
    member = Member(
        member_id=ana.member_id, generation_id=ana.generation_id, group_instance_id=ana.group_instance_id
    )
    if how is not SetUp.COMPLETING:
        ana.syncs_as_leader([ana])
        if how is not SetUp.LEFT:
            says(ana, _commit(member, offset=_OFFSET_BEFORE))
        if how in (SetUp.LEFT, SetUp.LEFT_WITH_OFFSETS):
            says(ana, ask.leave_group())
    return member


def _set_up_consumers(ana: Actor, how: SetUp) -> Member:
    """Bring a group of consumers into a state; the ids of its topics are known from then on."""
    says(ana, ask.metadata((_TOPIC,)))
    match how:
        case SetUp.CONSUMER:
            says(ana, _consumer_join(ana))
            epoch = Ref(ana.name, "member_epoch")
            return Member(member_id=_consumer_id(ana), generation_id=epoch, is_consumer=True)
        case SetUp.CLASSIC_CONSUMER:
            says(ana, _join_as_classic_consumer())
            mine = (ana.member_id, ask.assignment_of(_PARTITIONS, version=1))
            says(ana, ask.sync_group(assignments=(mine,)))
            return Member(member_id=ana.member_id, generation_id=ana.generation_id)
        case _:
            return NOBODY


def _as(member: Member, ask_for: Callable[..., Request], **further: object) -> Request:
    """Return a request that says who its sender is."""
    return ask_for(
        generation_id=member.generation_id,
        member_id=member.member_id,
        group_instance_id=member.group_instance_id,
        **further,
    )


def _commit(member: Member, *, offset: int = _OFFSET_OF_MEMBER, **further: object) -> Request:
    """Return a commit of one offset by a member."""
    return _as(member, ask.offset_commit, topics={"orders": {0: offset}}, **further)


def look_back(conversation: Conversation, member: Member, how: SetUp) -> None:
    """Read the state of the group, let the set-up's member leave, and read it again, one by one."""
    zoe = conversation.actor("zoe")
    looks = [ask.describe_groups(), ask.offset_fetch(topics={"orders": (0,)})]
    if how.is_of_consumers:
        looks.insert(0, ask.consumer_group_describe())
    says(zoe, *looks, beat(member))
    if member is not NOBODY:
        says(zoe, _leave(member))
    says(zoe, *looks)


def beat(member: Member) -> Request:
    """Return a member's heartbeat."""
    if member.is_consumer:
        return _consumer_beat(member)
    return _as(member, ask.heartbeat)


def _leave(member: Member) -> Request:
    if member.is_consumer:
        return ask.consumer_group_heartbeat(member_id=member.member_id, member_epoch=LEAVES)
    return ask.leave_group(members=((member.member_id, member.group_instance_id),))


def says(actor: Actor, *requests: Request) -> None:
    """Have an actor send requests one by one, and await the answer to each."""
    for request in requests:
        actor.sends(request)
        actor.receives(pinned(request.api))


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


def _join_as_classic_consumer() -> Request:
    metadata = ask.subscription(_TOPIC, version=1)
    return ask.join_group(version=_UNREBALANCED_JOIN, member_id="", protocols=(("range", metadata),))


Move: TypeAlias = tuple[Callable[[Actor, Member], Request], ...]
"""What a rival does: one or two requests in order, each made for the rival and the member of the set-up."""

DELETE: Final[Move] = (lambda _, __: ask.delete_groups(),)
HEARTBEAT: Final[Move] = (lambda _, member: beat(member),)
JOIN_KNOWN: Final[Move] = (
    lambda _, member: ask.join_group(member_id=member.member_id, group_instance_id=member.group_instance_id),
)
JOIN_NEW: Final[Move] = (lambda _, __: ask.join_group(version=_UNREBALANCED_JOIN, member_id=""),)
JOIN_IN_TWO_STEPS: Final[Move] = (
    lambda _, __: ask.join_group(member_id=""),
    lambda rival, _: ask.join_group(member_id=rival.member_id),
)
JOIN_STATIC: Final[Move] = (lambda _, __: ask.join_group(member_id="", group_instance_id=INSTANCE),)
SYNC: Final[Move] = (
    lambda _, member: _as(member, ask.sync_group, assignments=((member.member_id, b"raced for"),)),
)
LEAVE: Final[Move] = (lambda _, member: _leave(member),)
COMMIT: Final[Move] = (lambda _, member: _commit(member),)
COMMIT_BY_NOBODY: Final[Move] = (lambda _, __: _commit(_NO_MEMBER, offset=_OFFSET_OF_NOBODY),)
FETCH: Final[Move] = (lambda _, __: ask.offset_fetch(topics={"orders": (0,)}),)
COMMIT_AND_FETCH: Final[Move] = COMMIT_BY_NOBODY + FETCH
DESCRIBE: Final[Move] = (lambda _, __: ask.describe_groups(),)
DESCRIBE_TWICE: Final[Move] = DESCRIBE + DESCRIBE
DELETE_OFFSETS: Final[Move] = (lambda _, __: ask.offset_delete(topics={"orders": (0,)}),)
BEAT_AND_DESCRIBE: Final[Move] = HEARTBEAT + DESCRIBE
"""Two APIs that must not contradict each other."""
CONSUMER_OWNS: Final[Move] = (lambda _, member: _consumer_beat(member, _PARTITIONS),)
"""A heartbeat of the member, which owns all partitions."""
CONSUMER_GIVES_UP: Final[Move] = (lambda _, member: _consumer_beat(member, {_TOPIC: (0,)}),)
"""A heartbeat of the member, which still owns one partition."""
CONSUMER_JOIN: Final[Move] = (lambda rival, _: _consumer_join(rival),)
CONSUMER_COMMIT: Final[Move] = (lambda _, member: _commit(member, version=_COMMIT_OF_CONSUMERS),)
CONSUMER_DESCRIBE: Final[Move] = (lambda _, __: ask.consumer_group_describe(),)
JOIN_AS_CLASSIC_CONSUMER: Final[Move] = (lambda _, __: _join_as_classic_consumer(),)


class RaceError(Exception):
    """A race cannot be run as requested; the message names the cause and the remedy."""


class Race(NamedTuple):
    """Operations that run concurrently on groups in one state."""

    name: str
    set_up: SetUp
    always: tuple[Move, ...]
    """Rivals of every round."""
    sometimes: tuple[Move, ...]
    """Further rivals, of which the seed chooses some for each round."""
    sometimes_max: int = 2

    @property
    def deletes(self) -> bool:
        """Whether one DeleteGroups that names many groups is a rival in each of their rounds."""
        return DELETE in self.always


_OF_MEMBER: Final = (HEARTBEAT, JOIN_KNOWN, SYNC, LEAVE, COMMIT)
_OF_ANYBODY: Final = (
    JOIN_NEW,
    JOIN_IN_TWO_STEPS,
    COMMIT_BY_NOBODY,
    COMMIT_AND_FETCH,
    FETCH,
    DESCRIBE,
    DESCRIBE_TWICE,
    DELETE_OFFSETS,
    BEAT_AND_DESCRIBE,
)
_OF_CONSUMERS: Final = (CONSUMER_JOIN, CONSUMER_COMMIT, CONSUMER_DESCRIBE, COMMIT_BY_NOBODY, FETCH)

RACES: Final = (
    Race("delete-offsets", SetUp.OFFSETS, (DELETE,), (*_OF_MEMBER, *_OF_ANYBODY), 3),
    Race("delete-left", SetUp.LEFT, (DELETE,), (*_OF_MEMBER, *_OF_ANYBODY), 3),
    Race("delete-left-with-offsets", SetUp.LEFT_WITH_OFFSETS, (DELETE,), (*_OF_MEMBER, *_OF_ANYBODY), 3),
    Race(
        "delete-pending",
        SetUp.PENDING,
        (DELETE, JOIN_KNOWN),
        (HEARTBEAT, LEAVE, JOIN_NEW, COMMIT_BY_NOBODY, DESCRIBE),
    ),
    Race(
        "delete-leave", SetUp.STABLE, (DELETE, LEAVE), (HEARTBEAT, COMMIT, FETCH, DESCRIBE, BEAT_AND_DESCRIBE)
    ),
    Race(
        "delete-twice",
        SetUp.LEFT_WITH_OFFSETS,
        (DELETE, DELETE),
        (COMMIT_AND_FETCH, DELETE_OFFSETS, DESCRIBE, JOIN_NEW),
    ),
    Race(
        "commit-leave",
        SetUp.STABLE,
        (COMMIT, LEAVE),
        (HEARTBEAT, FETCH, DESCRIBE, COMMIT_BY_NOBODY, DELETE_OFFSETS),
    ),
    Race("join-sync", SetUp.COMPLETING, (SYNC, JOIN_NEW), (HEARTBEAT, COMMIT, DESCRIBE, LEAVE, JOIN_KNOWN)),
    Race(
        "join-leave",
        SetUp.STABLE,
        (JOIN_NEW, LEAVE),
        (JOIN_KNOWN, HEARTBEAT, COMMIT, DESCRIBE, JOIN_IN_TWO_STEPS),
    ),
    Race(
        "first-joins",
        SetUp.NOTHING,
        (JOIN_NEW, JOIN_IN_TWO_STEPS),
        (JOIN_NEW, COMMIT_BY_NOBODY, DESCRIBE, DELETE),
    ),
    Race(
        "static-twins", SetUp.STATIC, (JOIN_STATIC, JOIN_STATIC), (HEARTBEAT, COMMIT, SYNC, LEAVE, DESCRIBE)
    ),
    Race(
        "offset-delete",
        SetUp.LEFT_WITH_OFFSETS,
        (DELETE_OFFSETS, COMMIT_AND_FETCH),
        (DELETE_OFFSETS, FETCH, DESCRIBE, JOIN_NEW, DELETE),
    ),
    Race(
        "consumer-first-joins",
        SetUp.NO_CONSUMERS,
        (CONSUMER_JOIN, CONSUMER_JOIN),
        (CONSUMER_JOIN, COMMIT_BY_NOBODY, CONSUMER_DESCRIBE, DELETE),
    ),
    Race("consumer-beats", SetUp.CONSUMER, (HEARTBEAT, CONSUMER_OWNS), (*_OF_CONSUMERS, CONSUMER_GIVES_UP)),
    Race(
        "consumer-handover", SetUp.CONSUMER, (CONSUMER_JOIN, CONSUMER_GIVES_UP), (*_OF_CONSUMERS, HEARTBEAT)
    ),
    Race("consumer-beat-leave", SetUp.CONSUMER, (HEARTBEAT, LEAVE), _OF_CONSUMERS),
    Race(
        "consumer-delete-leave",
        SetUp.CONSUMER,
        (DELETE, LEAVE),
        (HEARTBEAT, CONSUMER_COMMIT, CONSUMER_DESCRIBE, FETCH),
    ),
    Race(
        "consumer-downgrade",
        SetUp.CONSUMER,
        (JOIN_AS_CLASSIC_CONSUMER, HEARTBEAT),
        (LEAVE, CONSUMER_COMMIT, CONSUMER_DESCRIBE, DESCRIBE),
    ),
    Race(
        "consumer-upgrade",
        SetUp.CLASSIC_CONSUMER,
        (CONSUMER_JOIN, HEARTBEAT),
        (LEAVE, COMMIT, CONSUMER_DESCRIBE, DESCRIBE),
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
    """Return why a finding of a race is known of its target today; None if it is not."""
    info = TargetInfo(
        run_id=header.run_id, target=header.target, spec=header.spec, profile=header.profile, oracle=None
    )
    race = f"races/{race_of(finding.group)}"
    for each in _entries():
        if each.signature == signature and each.concerns(race, info) and not each.has_expired(today):
            return f"{each.reason} [{each.link}]"
    return None

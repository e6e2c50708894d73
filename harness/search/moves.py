"""The moves of a made conversation, which become steps in the same way as the lines of a scenario.

A script's steps refer to each other by their numbers. Moves do not, so that any of them can be left out.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final, TypeAlias

from harness.scenario import Capability, Conversation, ask, expect, streams
from harness.scenario.actor import Actor, open_requests
from harness.scenario.errors import ScenarioError
from harness.scenario.log_records import group_record, group_tombstone, offset_record, offset_tombstone
from harness.scenario.messages import Request, pinned
from harness.scenario.script import (
    ASIDE,
    MAIN,
    ActorSheet,
    Append,
    DoToBroker,
    Script,
    Send,
    Step,
)
from harness.scenario.values import GroupRef

BUILDERS: Final[Mapping[str, Callable[..., Request]]] = {
    "JoinGroup": ask.join_group,
    "SyncGroup": ask.sync_group,
    "Heartbeat": ask.heartbeat,
    "LeaveGroup": ask.leave_group,
    "OffsetCommit": ask.offset_commit,
    "OffsetFetch": ask.offset_fetch,
    "OffsetDelete": ask.offset_delete,
    "DescribeGroups": ask.describe_groups,
    "ListGroups": ask.list_groups,
    "DeleteGroups": ask.delete_groups,
    "FindCoordinator": ask.find_coordinator,
    "ConsumerGroupHeartbeat": ask.consumer_group_heartbeat,
    "ConsumerGroupDescribe": ask.consumer_group_describe,
    "ShareGroupHeartbeat": ask.share_group_heartbeat,
    "ShareGroupDescribe": ask.share_group_describe,
    "DescribeShareGroupOffsets": ask.describe_share_group_offsets,
    "AlterShareGroupOffsets": ask.alter_share_group_offsets,
    "DeleteShareGroupOffsets": ask.delete_share_group_offsets,
    "ShareFetch": ask.share_fetch,
    "ShareAcknowledge": ask.share_acknowledge,
    "Produce": ask.produce,
    "Metadata": ask.metadata,
    "StreamsGroupHeartbeat": streams.ask_heartbeat,
    "StreamsGroupDescribe": streams.ask_describe,
    "InitProducerId": ask.init_producer_id,
    "AddOffsetsToTxn": ask.add_offsets_to_txn,
    "TxnOffsetCommit": ask.txn_offset_commit,
    "EndTxn": ask.end_txn,
}
"""The functions with which a scenario builds requests, by API."""
GROUPS: Final = ("main", "other", ask.TRANSACTION.name)
"""The groups of a made conversation, and its transactional id."""
OTHER_GROUP: Final = GroupRef("other")
_HEARD_WITHIN_MS: Final = 5_000


class GroupType(StrEnum):
    """The types of groups. Source: Group.GroupType (4.3.1)."""

    CLASSIC = "classic"
    CONSUMER = "consumer"
    SHARE = "share"
    STREAMS = "streams"


BRINGS_IN: Final[Mapping[GroupType, tuple[str, str]]] = {
    GroupType.CLASSIC: ("actor", "group_instance_id"),
    GroupType.CONSUMER: ("member", "instance_id"),
    GroupType.SHARE: ("share_member", ""),
    GroupType.STREAMS: ("streams_member", "instance_id"),
}
"""By group type: the conversation's method that adds an actor, and its argument for the instance id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Speaker:
    """An actor that may take part in a conversation."""

    name: str
    instance_id: str | None = None
    group_type: GroupType = GroupType.CLASSIC
    """The group type whose protocol the actor uses."""


CAST: Final = (
    Speaker(name="ana"),
    Speaker(name="bob"),
    Speaker(name="cat"),
    Speaker(name="dan", instance_id="seat-1"),
    Speaker(name="eve", instance_id="seat-1"),
    Speaker(name="fay", instance_id="seat-2"),
    Speaker(name="mia", group_type=GroupType.CONSUMER),
    Speaker(name="noa", group_type=GroupType.CONSUMER),
    Speaker(name="oda", group_type=GroupType.CONSUMER, instance_id="seat-1"),
    Speaker(name="pia", group_type=GroupType.CONSUMER, instance_id="seat-1"),
    Speaker(name="sam", group_type=GroupType.SHARE),
    Speaker(name="sue", group_type=GroupType.SHARE),
    Speaker(name="tia", group_type=GroupType.STREAMS),
    Speaker(name="tom", group_type=GroupType.STREAMS, instance_id="seat-1"),
    Speaker(name="ulf", group_type=GroupType.STREAMS, instance_id="seat-1"),
)
"""All possible actors: dynamic, static and fenced members of all protocols."""
CASTS: Final[Mapping[GroupType, Sequence[tuple[str, ...]]]] = {
    GroupType.CLASSIC: (
        ("ana", "bob"),
        ("ana", "bob", "cat"),
        ("ana", "dan", "eve"),
        ("dan", "eve", "fay"),
        ("ana", "bob", "dan"),
    ),
    GroupType.CONSUMER: (("mia", "noa"), ("mia", "oda", "pia"), ("oda", "pia"), ("ana", "mia", "noa")),
    GroupType.SHARE: (("sam", "sue"), ("sam", "sue"), ("sam", "mia"), ("ana", "sam")),
    GroupType.STREAMS: (("tia", "tom"), ("tia", "tom", "ulf"), ("mia", "tia"), ("ana", "tia")),
}
"""Casts of a conversation, by the group type that most of the actors use."""
_CAST_BY_NAME: Final = {each.name: each for each in CAST}
ALL_SHEETS: Final = tuple(
    ActorSheet(name=each.name, client_id=each.name, group_instance_id=each.instance_id) for each in CAST
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """An actor sends a request, and may receive the answer at once."""

    actor: str
    api: str
    arguments: Mapping[str, object] = field(default_factory=dict)
    """Arguments of the API's request builder; those left out get the actor's own or the usual value."""
    is_aside: bool = False
    is_answered: bool = True
    is_repeated: bool = False
    """Whether it is repeated until it succeeds: a broker may have to make an internal topic for it first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hear:
    """An actor receives the answer to its oldest unanswered request."""

    actor: str
    is_aside: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Stay:
    """An actor's oldest unanswered request stays parked for a while."""

    actor: str
    for_ms: int
    is_aside: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """Time passes."""

    duration_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """An action on the broker or its log; no actor awaits an answer any more."""

    action: str
    """A key of `ACTIONS`."""


Move: TypeAlias = Ask | Hear | Stay | Wait | Act


_OFFSET: Final = offset_record("orders", 0, 5)
ACTIONS: Final[Mapping[str, Callable[[Conversation], None]]] = {
    "restarts_coordinator()": Conversation.restarts_coordinator,
    "kills_coordinator()": Conversation.kills_coordinator,
    'appends(offset_record("orders", 0, 5))': lambda conversation: conversation.appends(_OFFSET),
    'appends(offset_tombstone("orders", 0))': lambda conversation: conversation.appends(
        offset_tombstone("orders", 0)
    ),
    "appends(group_record(generation=7))": lambda conversation: conversation.appends(
        group_record(generation=7)
    ),
    "appends(group_tombstone())": lambda conversation: conversation.appends(group_tombstone()),
}
"""Actions on a broker, by the code that a scenario has for them."""


def speaker_of(name: str) -> Speaker:
    """Return the actor with a name."""
    return _CAST_BY_NAME[name]


class Draft:
    """A conversation that is being made from moves."""

    def __init__(self) -> None:
        self.conversation = Conversation()
        self._actors: dict[str, Actor] = {}

    def actor(self, name: str, *, is_aside: bool = False) -> Actor:
        """Return an actor on one of its connections; it is added when it is first named."""
        if name not in self._actors:
            speaker = speaker_of(name)
            maker, keyword = BRINGS_IN[speaker.group_type]
            seat = {keyword: speaker.instance_id} if keyword else {}
            self._actors[name] = getattr(self.conversation, maker)(name, **seat)
        found = self._actors[name]
        return found.aside if is_aside else found

    def take(self, move: Move) -> None:
        """Add a move to the conversation.

        Raises:
            ScenarioError: the move is not possible.
        """
        match move:
            case Wait():
                self.conversation.elapses(move.duration_ms)
            case Stay():
                self._awaiting(move).stays_parked(for_ms=move.for_ms)
            case Hear():
                actor = self._awaiting(move)
                actor.receives(pinned(self._open(move)[0].api), within_ms=_HEARD_WITHIN_MS)
            case Ask():
                self._ask(move)
            case Act():
                self._act(move)

    def _act(self, move: Act) -> None:
        """Add an action on the broker, after disconnecting all actors that await an answer."""
        for name, connection in sorted({(step.actor, step.connection) for step in self._unheard()}):
            self.actor(name, is_aside=connection == ASIDE).disconnects()
        ACTIONS[move.action](self.conversation)

    def _ask(self, move: Ask) -> None:
        actor = self.actor(move.actor, is_aside=move.is_aside)
        try:
            request = BUILDERS[move.api](**move.arguments)
        except TypeError as error:
            raise ScenarioError(str(error)) from error
        if move.is_repeated:
            actor.repeats(request, until=expect.response(move.api, error_code="NONE"))
        elif move.is_answered:
            actor.asks(request, expect.response(move.api))
        else:
            actor.sends(request)

    def _awaiting(self, move: Hear | Stay) -> Actor:
        if not self._open(move):
            raise ScenarioError(f"{move.actor} awaits no answer")
        return self.actor(move.actor, is_aside=move.is_aside)

    def _open(self, move: Hear | Stay) -> list[Send]:
        connection = ASIDE if move.is_aside else MAIN
        return [step for step in self._unheard() if (step.actor, step.connection) == (move.actor, connection)]

    def _unheard(self) -> list[Send]:
        """Return the unanswered requests."""
        return [*open_requests(self.conversation.steps).values()]


def joined(moves: Sequence[Move]) -> list[Move]:
    """Merge each request with the answer to it if that is the next move."""
    made: list[Move] = []
    for move in moves:
        asked = made[-1] if made else None
        if (
            isinstance(move, Hear)
            and isinstance(asked, Ask)
            and (asked.actor, asked.is_aside, asked.is_answered) == (move.actor, move.is_aside, False)
        ):
            made[-1] = replace(asked, is_answered=True)
        else:
            made.append(move)
    return made


def script_of(moves: Sequence[Move], *, script_id: str, broker_config: Mapping[str, str]) -> Script:
    """Return the script of some moves.

    Raises:
        ScenarioError: a move is not possible at its position.
    """
    draft = Draft()
    for move in moves:
        draft.take(move)
    return draft_script(draft, script_id=script_id, broker_config=broker_config)


def draft_script(draft: Draft, *, script_id: str, broker_config: Mapping[str, str]) -> Script:
    """Return the script of the moves so far."""
    conversation = draft.conversation
    return Script(
        id=script_id,
        title="Made by search.",
        source="",
        clauses=(),
        needs=needs_of(conversation.steps),
        broker_config=broker_config,
        actors=tuple(conversation.sheets.values()),
        steps=tuple(conversation.steps),
    )


def needs_of(steps: Sequence[Step]) -> tuple[str, ...]:
    """Return the capabilities that a target needs for some steps."""
    needs = {
        step.lever if isinstance(step, DoToBroker) else Capability.WRITE_LOG.value
        for step in steps
        if isinstance(step, DoToBroker | Append)
    }
    return tuple(sorted(needs))

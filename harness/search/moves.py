"""The moves of a made conversation, which become steps in the same way as the lines of a scenario.

A script's steps refer to each other by their numbers. Moves do not, so that any of them can be left out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final, TypeAlias

from harness.scenario import Capability, Conversation, ask, expect
from harness.scenario.actor import Actor, open_requests
from harness.scenario.errors import ScenarioError
from harness.scenario.messages import pinned
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
from harness.search.actions import ACTIONS
from harness.search.by_field import request_of
from harness.targets.base.interface import BrokerAction

GROUPS: Final = ("main", "other", ask.TRANSACTION.name)
"""The groups of a made conversation, and its transactional id."""
OTHER_GROUP: Final = GroupRef("other")
MADE_TOPIC: Final = "made"
"""The name of a topic that some conversations make."""
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
    principal: str | None = None
    """The principal that the actor connects as, where an authorizer decides on its rights."""
    client_id: str | None = ""
    """Its client id, which others may have too; None for none. By default it is the name."""

    @property
    def sheet(self) -> ActorSheet:
        """What a broker may learn of the actor."""
        return ActorSheet(
            name=self.name,
            client_id=self.name if self.client_id == "" else self.client_id,
            group_instance_id=self.instance_id,
            principal=self.principal,
        )


CAST: Final = (
    Speaker(name="ana"),
    Speaker(name="bob"),
    Speaker(name="cat"),
    Speaker(name="dan", instance_id="seat-1"),
    Speaker(name="eve", instance_id="seat-1"),
    Speaker(name="fay", instance_id="seat-2", client_id=None),
    Speaker(name="gil", client_id="ana"),
    Speaker(name="mia", group_type=GroupType.CONSUMER),
    Speaker(name="noa", group_type=GroupType.CONSUMER, client_id="replica"),
    Speaker(name="oda", group_type=GroupType.CONSUMER, instance_id="seat-1"),
    Speaker(name="pia", group_type=GroupType.CONSUMER, instance_id="seat-1"),
    Speaker(name="rea", group_type=GroupType.CONSUMER, client_id="replica"),
    Speaker(name="sam", group_type=GroupType.SHARE, client_id="replica"),
    Speaker(name="sue", group_type=GroupType.SHARE, client_id="replica"),
    Speaker(name="tia", group_type=GroupType.STREAMS, client_id=None),
    Speaker(name="tom", group_type=GroupType.STREAMS, instance_id="seat-1"),
    Speaker(name="ulf", group_type=GroupType.STREAMS, instance_id="seat-1"),
)
"""All possible actors: dynamic, static and fenced members of all protocols. Some share a client id."""
CASTS: Final[Mapping[GroupType, Sequence[tuple[str, ...]]]] = {
    GroupType.CLASSIC: (
        ("ana", "bob"),
        ("ana", "gil"),
        ("ana", "bob", "gil"),
        ("ana", "bob", "cat"),
        ("ana", "dan", "eve"),
        ("dan", "eve", "fay"),
        ("ana", "bob", "dan"),
    ),
    GroupType.CONSUMER: (
        ("mia", "noa"),
        ("mia", "oda", "pia"),
        ("oda", "pia"),
        ("ana", "mia", "noa"),
        ("ana", "bob", "mia"),
        ("mia", "noa", "oda", "rea"),
    ),
    GroupType.SHARE: (*(("sam", "sue"),) * 5, ("sam", "mia"), ("ana", "sam")),
    GroupType.STREAMS: (("tia", "tom"), ("tia", "tom", "ulf"), ("mia", "tia"), ("ana", "tia")),
}
"""Casts of a conversation, by the group type that most of the actors use."""
PRINCIPALS: Final = ("carol", "dora")
"""The principals that may lack rights."""
GUESTS: Final = (
    Speaker(name="ole", principal="dora"),
    Speaker(name="kim", principal="carol"),
    Speaker(name="lea", group_type=GroupType.CONSUMER, principal="carol"),
    Speaker(name="max", group_type=GroupType.SHARE, principal="carol"),
    Speaker(name="ned", group_type=GroupType.STREAMS, principal="carol"),
)
"""Actors with principals; whoever has none may do everything."""
CASTS_WITH_GUESTS: Final[Mapping[GroupType, Sequence[tuple[str, ...]]]] = {
    GroupType.CLASSIC: (("ana", "kim"), ("ana", "ole", "kim")),
    GroupType.CONSUMER: (("mia", "lea"), ("mia", "ole", "lea")),
    GroupType.SHARE: (("sam", "max"), ("sam", "ole", "max")),
    GroupType.STREAMS: (("tia", "ned"), ("tia", "ole", "ned")),
}
"""Casts in which rights matter, likewise. The first of each may do everything."""
EVERYBODY: Final = (*CAST, *GUESTS)
_CAST_BY_NAME: Final = {each.name: each for each in EVERYBODY}
ALL_SHEETS: Final = tuple(each.sheet for each in CAST)
"""The data of all actors that may talk to a broker that is shared."""
SHEETS_WITH_GUESTS: Final = (*ALL_SHEETS, *(each.sheet for each in GUESTS))


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


@dataclass(frozen=True, slots=True, kw_only=True)
class HangUp:
    """An actor closes a connection, and opens another one with its next request."""

    actor: str
    is_aside: bool = False


Move: TypeAlias = Ask | Hear | Stay | Wait | Act | HangUp


def speaker_of(name: str) -> Speaker:
    """Return the actor with a name."""
    return _CAST_BY_NAME[name]


def client_id_of(name: str) -> str | None:
    """Return the client id of an actor of a search; others have their names."""
    speaker = _CAST_BY_NAME.get(name)
    return name if speaker is None else speaker.sheet.client_id


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
            self._actors[name] = getattr(self.conversation, maker)(
                name, client_id=speaker.client_id, principal=speaker.principal, **seat
            )
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
            case HangUp():
                self.actor(move.actor, is_aside=move.is_aside).disconnects()

    def _act(self, move: Act) -> None:
        """Add an action on the broker, after disconnecting all actors that await an answer."""
        for name, connection in sorted({(step.actor, step.connection) for step in self._unheard()}):
            self.actor(name, is_aside=connection == ASIDE).disconnects()
        ACTIONS[move.action](self.conversation)

    def _ask(self, move: Ask) -> None:
        actor = self.actor(move.actor, is_aside=move.is_aside)
        try:
            request = request_of(move.api, move.arguments)
        except (AttributeError, TypeError, ValueError) as error:
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
        needs=needs_of(
            conversation.steps, has_principals=any(each.principal for each in conversation.sheets.values())
        ),
        broker_config=broker_config,
        actors=tuple(conversation.sheets.values()),
        steps=tuple(conversation.steps),
    )


def needs_of(steps: Sequence[Step], *, has_principals: bool = False) -> tuple[str, ...]:
    """Return the capabilities that a target needs for some steps."""
    needs = {
        BrokerAction(step.lever).needs.value if isinstance(step, DoToBroker) else Capability.WRITE_LOG.value
        for step in steps
        if isinstance(step, DoToBroker | Append)
    }
    return tuple(sorted(needs | {Capability.PRINCIPALS.value} if has_principals else needs))

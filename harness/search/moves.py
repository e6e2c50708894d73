"""What a made conversation consists of: moves, which are said as a scenario says its steps.

A script's steps refer to each other by their numbers. Moves do not, so that any of them can be left out.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from harness.scenario import Conversation, ask, expect
from harness.scenario.actor import Actor
from harness.scenario.errors import ScenarioError
from harness.scenario.messages import Request, pinned
from harness.scenario.script import ASIDE, MAIN, ActorSheet, Receive, Script, Send
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
}
"""By API, how a scenario asks."""
GROUPS: Final = ("main", "other")
"""The groups of a made conversation."""
OTHER_GROUP: Final = GroupRef("other")
_HEARD_WITHIN_MS: Final = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Speaker:
    """Who may take part in a conversation."""

    name: str
    instance_id: str | None = None
    is_consumer: bool = False
    """Whether it speaks the protocol of consumer groups."""


CAST: Final = (
    Speaker(name="ana"),
    Speaker(name="bob"),
    Speaker(name="cat"),
    Speaker(name="dan", instance_id="seat-1"),
    Speaker(name="eve", instance_id="seat-1"),
    Speaker(name="fay", instance_id="seat-2"),
    Speaker(name="mia", is_consumer=True),
    Speaker(name="noa", is_consumer=True),
    Speaker(name="oda", is_consumer=True, instance_id="seat-1"),
    Speaker(name="pia", is_consumer=True, instance_id="seat-1"),
)
"""Who may take part: dynamic, static and fenced members of either protocol."""
_CAST_BY_NAME: Final = {each.name: each for each in CAST}
ALL_SHEETS: Final = tuple(
    ActorSheet(name=each.name, client_id=each.name, group_instance_id=each.instance_id) for each in CAST
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """Somebody asks, and may receive the answer at once."""

    actor: str
    api: str
    arguments: Mapping[str, object] = field(default_factory=dict)
    """Of the builder of the API's requests; what is left out is the actor's own, or usual."""
    is_aside: bool = False
    is_answered: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Hear:
    """Somebody receives the answer to the oldest request that awaits one."""

    actor: str
    is_aside: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Stay:
    """Somebody's oldest request stays parked for a while."""

    actor: str
    for_ms: int
    is_aside: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """Time passes."""

    duration_ms: int


Move: TypeAlias = Ask | Hear | Stay | Wait


def speaker_of(name: str) -> Speaker:
    """Return who bears a name."""
    return _CAST_BY_NAME[name]


class Draft:
    """A conversation that is being made of moves."""

    def __init__(self) -> None:
        self.conversation = Conversation()
        self._actors: dict[str, Actor] = {}

    def actor(self, name: str, *, is_aside: bool = False) -> Actor:
        """Return an actor on one of its connections; it is brought in when it is first named."""
        if name not in self._actors:
            speaker = speaker_of(name)
            conversation = self.conversation
            self._actors[name] = (
                conversation.member(name, instance_id=speaker.instance_id)
                if speaker.is_consumer
                else conversation.actor(name, group_instance_id=speaker.instance_id)
            )
        found = self._actors[name]
        return found.aside if is_aside else found

    def take(self, move: Move) -> None:
        """Say a move.

        Raises:
            ScenarioError: nobody could.
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

    def _ask(self, move: Ask) -> None:
        actor = self.actor(move.actor, is_aside=move.is_aside)
        try:
            request = BUILDERS[move.api](**move.arguments)
        except TypeError as error:
            raise ScenarioError(str(error)) from error
        if move.is_answered:
            actor.asks(request, expect.response(move.api))
        else:
            actor.sends(request)

    def _awaiting(self, move: Hear | Stay) -> Actor:
        if not self._open(move):
            raise ScenarioError(f"{move.actor} awaits no answer")
        return self.actor(move.actor, is_aside=move.is_aside)

    def _open(self, move: Hear | Stay) -> list[Send]:
        connection = ASIDE if move.is_aside else MAIN
        steps = self.conversation.steps
        heard = {step.sent_at for step in steps if isinstance(step, Receive)}
        return [
            step
            for index, step in enumerate(steps)
            if isinstance(step, Send)
            and (step.actor, step.connection) == (move.actor, connection)
            and index not in heard
        ]


def joined(moves: Sequence[Move]) -> list[Move]:
    """Make one move of each request whose answer is the next thing that its actor receives there."""
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
    """Return the script that some moves make.

    Raises:
        ScenarioError: a move cannot be made where it stands.
    """
    draft = Draft()
    for move in moves:
        draft.take(move)
    return draft_script(draft, script_id=script_id, broker_config=broker_config)


def draft_script(draft: Draft, *, script_id: str, broker_config: Mapping[str, str]) -> Script:
    """Return the script as far as it is made."""
    conversation = draft.conversation
    return Script(
        id=script_id,
        title="Made by search.",
        source="",
        clauses=(),
        needs=(),
        broker_config=broker_config,
        actors=tuple(conversation.sheets.values()),
        steps=tuple(conversation.steps),
    )

"""The situation in which an actor sends a request, and random choices of wrong arguments for it."""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from random import Random
from typing import Final, TypeAlias

from harness.scenario.ask import UNKNOWN_TOPIC_ID
from harness.scenario.messages import OWN
from harness.scenario.values import Ref, TopicId
from harness.search.by_field import request_of, usual_version
from harness.search.moves import OTHER_GROUP, GroupType, Speaker
from harness.search.tempo import VIRTUAL, Tempo
from harness.search.theme import Theme
from harness.wire.schema import request_shape

_REJOINS_SHARE: Final = 0.06
MISSING_TOPIC: Final = "nowhere"
"""The name of a topic that does not exist."""
Arguments: TypeAlias = dict[str, object]
"""Arguments of a request builder, by name."""


Acquired: TypeAlias = tuple[str, int, int, int, int]
"""Acquired records: topic, partition, first and last offset, delivery count."""


class Membership(StrEnum):
    """An actor's membership in its group, as far as its answers show."""

    OUTSIDE = "outside"
    NAMED = "named"
    """The actor has an id, and has to join."""
    JOINED = "joined"
    """The actor has to request its assignment."""
    SYNCED = "synced"


@dataclass(slots=True)
class Situation:
    """The situation in which an actor sends a request, with the arguments chosen so far."""

    rng: Random
    speaker: Speaker
    membership: Membership
    is_leader: bool
    others: Sequence[Speaker]
    """The other actors of the cast."""
    named: Sequence[Speaker]
    """The actors of the cast that have received or chosen an id."""
    versions: Mapping[str, Sequence[int]]
    """The versions that both sides serve, by API."""
    tempo: Tempo = VIRTUAL
    """How long timeouts may be."""
    theme: Theme | None = None
    """What the conversation is about beside its groups."""
    state: str | None = None
    """The state of the main group; None if it does not exist."""
    favour: Callable[[str], float] = lambda _api: 1.0
    """Returns the weight of a request; 1 is usual."""
    session_epoch: int = 0
    """The epoch of the actor's share session."""
    acquired: Sequence[Acquired] = ()
    """What the actor's last ShareFetch acquired."""
    next_in_transaction: str | None = None
    """The next request in the actor's transaction; None if it is not a producer."""
    arguments: Arguments = field(default_factory=dict)

    def wants_to_join(self) -> bool:
        """Choose whether a member of a newer group joins: if it is outside, and now and then once more."""
        return self.membership is Membership.OUTSIDE or self.chance(_REJOINS_SHARE)

    def chance(self, share: float) -> bool:
        """Return True with a probability."""
        return self.rng.random() < share

    def puts(self, share: float, name: str, *values: object) -> None:
        """With a probability, set an argument to one of some values."""
        if self.chance(share):
            self.arguments[name] = self.rng.choice(values)

    def id_of(self, speaker: Speaker) -> str | Ref:
        """Return the member id of an actor."""
        is_classic = speaker.group_type is GroupType.CLASSIC
        return Ref(speaker.name, "member_id") if is_classic else f"member-{speaker.name}"

    def puts_wrong_id(self, share: float) -> None:
        """With a probability, set a member id that is not the actor's own."""
        strangers: list[object] = [
            "",
            "nobody",
            *(self.id_of(each) for each in self.named if each != self.speaker),
        ]
        self.puts(share, "member_id", *strangers)

    def puts_wrong_generation(self, share: float, name: str = "generation_id") -> None:
        """With a probability, set a past generation, a future one, or none."""
        own = self.own_generation
        self.puts(share, name, own - 1, own + 1, -1, 0)

    @property
    def own_generation(self) -> Ref:
        """The generation or epoch that the actor received last."""
        is_classic = self.speaker.group_type is GroupType.CLASSIC
        return Ref(self.speaker.name, "generation_id" if is_classic else "member_epoch")

    def puts_wrong_instance(self, share: float) -> None:
        """With a probability, set another instance id, or none."""
        seats = [each.instance_id for each in self.others if each.instance_id]
        self.puts(share, "group_instance_id", None, "nowhere", *seats)

    def puts_other_group(self, share: float) -> None:
        """With a probability, set another group, or a group with an empty name."""
        self.puts(share, "group_id", OTHER_GROUP, *self.nameless)

    @property
    def nameless(self) -> Sequence[str]:
        """The empty group name; none on a shared broker, where all conversations would share that group."""
        return () if self.tempo.shares_broker else ("",)

    @property
    def other_groups(self) -> Sequence[object]:
        """What may be named instead of the group; on a shared broker, only the conversation's own."""
        return (OTHER_GROUP,) if self.tempo.shares_broker else (OTHER_GROUP, "", "nowhere")

    def puts_version(self, api: str, share: float = 0.25) -> None:
        """With a probability, set a random version; always if the usual one is not served."""
        served = self.versions[api]
        usual = usual_version(api)
        if usual not in served or self.chance(share):
            # The oldest and the newest version have rules of their own more often than those between.
            self.arguments["version"] = self.rng.choice((served[0], self.rng.choice(served), served[-1]))

    def version(self, api: str) -> int:
        """Return the version in which the request is sent."""
        named = self.arguments.get("version")
        return named if isinstance(named, int) else usual_version(api)

    def names_topics_by_id(self, api: str, since: int) -> None:
        """Replace topic names by topic ids if the version has no names; nobody knows a missing topic's id."""
        topics = self.arguments.get("topics")
        if isinstance(topics, Mapping) and self.version(api) >= since:
            self.arguments["topics"] = {
                UNKNOWN_TOPIC_ID if name == MISSING_TOPIC else TopicId(name): offsets
                for name, offsets in topics.items()
            }

    def keeps_to_version(self, api: str) -> None:
        """Leave out the arguments for fields that the version of the request lacks."""
        unknown = _unknown_fields(api, self.arguments)
        for name in [*self.arguments] if unknown else ():
            others = {each: value for each, value in self.arguments.items() if each != name}
            with suppress(TypeError):
                if unknown - _unknown_fields(api, others):
                    self.arguments = others


def _unknown_fields(api: str, arguments: Arguments) -> AbstractSet[str]:
    """Return the fields of a request that its version lacks; raises TypeError if it needs more arguments."""
    request = request_of(api, arguments)
    written = {name for name, value in request.fields.items() if value is not OWN}
    return written - request_shape(api, request.version).fields.keys()

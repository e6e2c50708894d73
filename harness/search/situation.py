"""What an actor knows when it asks, and how it names what is wrong for so many of all times."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from inspect import signature
from random import Random
from typing import TypeAlias

from harness.scenario.values import Ref, TopicId
from harness.search.moves import BUILDERS, OTHER_GROUP, GroupType, Speaker
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
    favour: Callable[[str], float] = lambda _api: 1.0
    """How much more often than usual something is asked."""
    session_epoch: int = 0
    """Of the actor's share session."""
    next_in_transaction: str | None = None
    """What comes next in the actor's transaction; None if it is no producer."""
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
        is_classic = speaker.group_type is GroupType.CLASSIC
        return Ref(speaker.name, "member_id") if is_classic else f"member-{speaker.name}"

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
        own = self.own_generation
        self.puts(share, name, own - 1, own + 1, -1, 0)

    @property
    def own_generation(self) -> Ref:
        """The generation or epoch that the actor was told last."""
        is_classic = self.speaker.group_type is GroupType.CLASSIC
        return Ref(self.speaker.name, "generation_id" if is_classic else "member_epoch")

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
        usual = usual_version(api)
        if usual not in served or self.chance(share):
            self.arguments["version"] = self.rng.choice(served)

    def version(self, api: str) -> int:
        """Return the version that is asked in."""
        named = self.arguments.get("version")
        return named if isinstance(named, int) else usual_version(api)

    def names_topics_by_id(self, api: str, since: int) -> None:
        """Name topics by their ids, where a version has no names."""
        topics = self.arguments.get("topics")
        if isinstance(topics, Mapping) and self.version(api) >= since:
            self.arguments["topics"] = {TopicId(name): offsets for name, offsets in topics.items()}


@cache
def usual_version(api: str) -> int:
    """Return the version that scenarios ask in unless they name one."""
    found = signature(BUILDERS[api]).parameters.get("version")
    return 0 if found is None else int(found.default)

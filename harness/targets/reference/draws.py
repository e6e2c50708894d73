"""Random choices of a broker, which are passed to the reference so that it makes the same ones."""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from typing_extensions import override

from reference_coordinator.broker.cluster import Cluster
from reference_coordinator.broker.cluster_state import Node
from reference_coordinator.core.choices import DeterministicChoices
from reference_coordinator.core.ids import MemberId, TopicId
from reference_coordinator.profile.config import GroupCoordinatorConfig
from reference_coordinator.profile.profiles import Profile

_HOST: Final = "127.0.0.1"
_FIRST_PORT: Final = 9091
_NODES: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Draws:
    """Random choices of a broker; the reference makes all others as usual."""

    topic_ids: Mapping[str, str] = field(default_factory=dict)
    """Topic ids, by the name of a topic."""
    member_ids: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Ids of members that sent JoinGroup by client id or instance id, in the order of assignment."""
    in_order: Sequence[str] = ()
    """All member ids in the order in which they were assigned: these, and those of ConsumerGroupHeartbeat."""
    leaders: Sequence[str] = ()
    """The leaders of classic groups that answers named, in the order of the answers."""
    salt: str = ""
    """A salt that changes all other member ids."""


class DrawnChoices(DeterministicChoices):
    """The reference's choices, except for known member ids and leaders."""

    def __init__(self, draws: Draws, *, seed: int) -> None:
        super().__init__(seed=seed)
        self._by_prefix = draws.member_ids
        self._given: set[str] = set()
        self._in_order = draws.in_order
        self._leaders = list(draws.leaders)

    @override
    def member_id(self, prefix: str) -> MemberId:
        """Return the next known id with this prefix, or else one of the reference's own."""
        found = self._first(self._by_prefix.get(prefix, ()))
        return super().member_id(prefix) if found is None else found

    @override
    def uuid(self) -> MemberId:
        """Return the next known id, or else one of the reference's own."""
        found = self._first(self._in_order)
        return super().uuid() if found is None else found

    def _first(self, known: Sequence[str]) -> MemberId | None:
        """Return the first id that was not given yet."""
        found = next((each for each in known if each not in self._given), None)
        if found is None:
            return None
        self._given.add(found)
        return MemberId(found)

    @override
    def leader(self, candidates: Sequence[MemberId]) -> MemberId:
        """Return the candidate that is named next as a leader, or else the one that joined first."""
        place = next((index for index, each in enumerate(self._leaders) if each in candidates), None)
        if place is None:
            return super().leader(candidates)
        # Leaders that were named before may be named again.
        self._leaders = [*self._leaders[place:], *self._leaders[:place]]
        return MemberId(self._leaders[0])


def cluster_with(profile: Profile, config: GroupCoordinatorConfig, scenario_id: str, draws: Draws) -> Cluster:
    """Return a new cluster, whose own random choices depend on the scenario."""
    cluster = Cluster(
        profile=profile,
        config=config,
        choices=DrawnChoices(draws, seed=zlib.crc32(f"{scenario_id}{draws.salt}".encode())),
        nodes=[Node(node_id=each, host=_HOST, port=_FIRST_PORT + each) for each in range(1, _NODES + 1)],
    )
    drawn = {name: TopicId(topic_id) for name, topic_id in draws.topic_ids.items()}
    cluster.state.topics.drawn_ids.update(drawn)
    return cluster

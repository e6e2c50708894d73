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
    """Random ids of a broker; the reference makes all others as usual."""

    topic_ids: Mapping[str, str] = field(default_factory=dict)
    """Topic ids, by the name of a topic."""
    member_ids: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Classic members' ids by client id or instance id, in the order in which they were assigned."""
    salt: str = ""
    """A salt that changes all other member ids."""


class DrawnChoices(DeterministicChoices):
    """The reference's choices, except for known member ids."""

    def __init__(self, member_ids: Mapping[str, Sequence[str]], *, seed: int) -> None:
        super().__init__(seed=seed)
        self._left = {prefix: list(each) for prefix, each in member_ids.items()}

    @override
    def member_id(self, prefix: str) -> MemberId:
        """Return the next known id with this prefix, or else one of the reference's own."""
        left = self._left.get(prefix)
        return MemberId(left.pop(0)) if left else super().member_id(prefix)


def cluster_with(profile: Profile, config: GroupCoordinatorConfig, scenario_id: str, draws: Draws) -> Cluster:
    """Return a new cluster, whose own random choices depend on the scenario."""
    cluster = Cluster(
        profile=profile,
        config=config,
        choices=DrawnChoices(draws.member_ids, seed=zlib.crc32(f"{scenario_id}{draws.salt}".encode())),
        nodes=[Node(node_id=each, host=_HOST, port=_FIRST_PORT + each) for each in range(1, _NODES + 1)],
    )
    drawn = {name: TopicId(topic_id) for name, topic_id in draws.topic_ids.items()}
    cluster.state.topics.drawn_ids.update(drawn)
    return cluster

"""What a broker draws by lot, given to the reference so that it has the same."""

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
    """Ids that a broker drew; what is left out the reference makes as ever."""

    topic_ids: Mapping[str, str] = field(default_factory=dict)
    """By the name of a topic."""
    member_ids: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """By client id or instance id, those of classic members in the order in which they were drawn."""
    salt: str = ""
    """Makes all other member ids other ones."""


class DrawnChoices(DeterministicChoices):
    """The reference's choices, but for member ids that are known."""

    def __init__(self, member_ids: Mapping[str, Sequence[str]], *, seed: int) -> None:
        super().__init__(seed=seed)
        self._left = {prefix: list(each) for prefix, each in member_ids.items()}

    @override
    def member_id(self, prefix: str) -> MemberId:
        """The next one that is known of this prefix, or one of its own."""
        left = self._left.get(prefix)
        return MemberId(left.pop(0)) if left else super().member_id(prefix)


def cluster_with(profile: Profile, config: GroupCoordinatorConfig, scenario_id: str, draws: Draws) -> Cluster:
    """Return new brokers, whose own draws hang on the scenario."""
    cluster = Cluster(
        profile=profile,
        config=config,
        choices=DrawnChoices(draws.member_ids, seed=zlib.crc32(f"{scenario_id}{draws.salt}".encode())),
        nodes=[Node(node_id=each, host=_HOST, port=_FIRST_PORT + each) for each in range(1, _NODES + 1)],
    )
    drawn = {name: TopicId(topic_id) for name, topic_id in draws.topic_ids.items()}
    cluster.state.topics.drawn_ids.update(drawn)
    return cluster

"""`reference[:PROFILE]`: the reference coordinator in this process, in virtual time.

Each session has its own cluster, with coordinators, a log, topics and a clock: scenarios share nothing, and
time only passes during waits. Ids are seeded by the scenario, so that the same scenario gives the same bytes
whatever ran before. One broker coordinates; the coordinator can be moved to the others.
"""

from collections.abc import Callable, Sequence
from typing import Final, Unpack

from typing_extensions import override

from harness.targets.base.interface import (
    Broker,
    BrokerDescription,
    BrokerSession,
    Capability,
    Launch,
    Target,
    TargetError,
)
from harness.targets.base.measured import MeasuredProcess
from harness.targets.reference.capabilities import USUAL_CONFIG, reference_capabilities
from harness.targets.reference.draws import Draws, cluster_with
from harness.targets.reference.session import Preparation, ReferenceSession
from reference_coordinator.profile.config import ConfigError, GroupCoordinatorConfig
from reference_coordinator.profile.profiles import Profile, UnknownProfileError, profile_for

DEFAULT_PROFILE: Final = "4.4"
"""The newest release in the reference's table."""
NEWEST_RELEASE: Final = (4, 4)
"""The same release as numbers."""
PREPARATION: Final = "preparation"
"""The conversation in which a broker is prepared for all others, in place of a scenario's id."""


class ReferenceTarget(Target):
    """The reference coordinator, in process, in one profile.

    Attributes:
        draws: the random choices of its brokers, where they are fixed.
    """

    def __init__(self, profile: str | None = None, *, profile_in_spec: bool = False) -> None:
        self._session: type[ReferenceSession] = ReferenceSession
        self.draws = Draws()
        self._profile = reference_profile(profile or DEFAULT_PROFILE)
        self._suffix = f":{self._profile.name}" if profile_in_spec else ""

    def profile_in(self, scenario_id: str) -> Profile:
        """Return the profile that the cluster of a conversation has, as it begins."""
        del scenario_id
        return self._profile

    @property
    @override
    def spec(self) -> str:
        return f"reference{self._suffix}"

    @property
    @override
    def name(self) -> str:
        return f"reference{self._suffix.replace(':', '-')}"

    @property
    @override
    def capabilities(self) -> frozenset[Capability]:
        return reference_capabilities(self._profile)

    @property
    @override
    def foreseen_profile(self) -> str | None:
        return self._profile.name

    @property
    @override
    def process_count(self) -> int:
        return 0

    @override
    async def start(self, **launch: Unpack[Launch]) -> Broker:
        properties = {**USUAL_CONFIG, **launch["broker_config"]}
        try:
            config = GroupCoordinatorConfig.from_properties(properties)
        except ConfigError as error:
            raise TargetError(f"{self.spec}: {error}") from error
        cluster = cluster_with(self.profile_in(PREPARATION), config, PREPARATION, Draws())
        session = ReferenceSession(cluster, properties)
        preparation = await session.prepared()
        await session.close()
        description = BrokerDescription(
            spec=self.spec,
            profile=self._profile.name,
            implementation=f"reference coordinator, profile {self._profile.name}",
            bootstrap="in process",
            broker_config=properties,
            api_ranges=preparation.prepared.api_ranges,
        )
        made = ReferenceBroker(description, self.profile_in, config, self._session, self.draws)
        made.preparation = preparation
        return made


def reference_profile(name: str) -> Profile:
    """Return a profile of the reference; raise `TargetError` if there is none with that name."""
    try:
        return profile_for(name)
    except UnknownProfileError as error:
        raise TargetError(str(error)) from error


class ReferenceBroker(Broker):
    """Creates a coordinator for each broker session; has no state of its own.

    Attributes:
        preparation: the start of each of its sessions; if None, each session prepares itself.
    """

    def __init__(
        self,
        description: BrokerDescription,
        profile_in: Callable[[str], Profile],
        config: GroupCoordinatorConfig,
        session: "type[ReferenceSession]",
        draws: Draws,
    ) -> None:
        self._description = description
        self._profile_in = profile_in
        self._config = config
        self._session = session
        self._draws = draws
        self.preparation: Preparation | None = None

    @property
    @override
    def description(self) -> BrokerDescription:
        return self._description

    @property
    @override
    def shares_coordinator(self) -> bool:
        return False

    @override
    def open_session(self, scenario_id: str, draws: Draws | None = None) -> BrokerSession:
        profile, drawn = self._profile_in(scenario_id), self._draws if draws is None else draws
        cluster = cluster_with(profile, self._config, scenario_id, drawn)
        return self._session(cluster, self._description.broker_config, self.preparation)

    @override
    def measured(self) -> Sequence[MeasuredProcess] | None:
        return None

    @override
    def failure(self) -> str | None:
        return None

    @override
    async def stop(self) -> None:
        return

"""What has to be minded on a broker that others use."""

from collections.abc import Callable
from dataclasses import dataclass

from harness.targets.base.layout import Layout
from harness.targets.external.guard import Guard
from harness.targets.external.namespace import Namespace, TopicNames
from harness.targets.secured.security import PLAINTEXT, Security


@dataclass(frozen=True, slots=True, kw_only=True)
class RunNamespace:
    """A run's names on a broker of others, and what guards the rest.

    Attributes:
        namespace: of all that the run makes.
        guard: of every request to it.
        layout: which broker coordinates what.
        topics: names of topics within requests and responses.
        security: of every connection to the broker.
    """

    namespace: Namespace
    guard: Guard
    layout: Layout
    topics: TopicNames
    security: Security = PLAINTEXT

    def at_home(self, scenario_id: str) -> Callable[[str], bool]:
        """Return what tells whether a name is coordinated by the broker on which a scenario is run."""
        home = self.layout.home_of(scenario_id).node_id
        return lambda name: self.layout.is_coordinated_by(home, name)

"""What a run needs on a broker that others use: its names, guard and layout."""

from collections.abc import Callable, Collection
from dataclasses import dataclass

from harness.targets.base.layout import Coordinated, Layout
from harness.targets.external.guard import Guard
from harness.targets.external.namespace import Namespace, TopicNames
from harness.targets.secured.security import PLAINTEXT, Security


@dataclass(frozen=True, slots=True, kw_only=True)
class RunNamespace:
    """A run's names on an external broker, and the guard for everything else.

    Attributes:
        namespace: the names of everything that the run makes.
        guard: checks every request to the broker.
        layout: which broker coordinates what.
        topics: translates topic names in requests and responses.
        security: the security settings of every connection to the broker.
    """

    namespace: Namespace
    guard: Guard
    layout: Layout
    topics: TopicNames
    security: Security = PLAINTEXT

    def at_home(self, scenario_id: str) -> Callable[[Collection[Coordinated], str], bool]:
        """Return a function that checks whether a scenario's broker coordinates a name as some kinds."""
        home = self.layout.home_of(scenario_id).node_id
        return lambda kinds, name: self.layout.is_coordinated_by(home, name, kinds)

"""The ids that expectation files and policies may name."""

from harness.clients.collect import collect_client_scripts
from harness.scenario.registry import collect


def known_ids(suites: str) -> frozenset[str]:
    """Return the ids of all scenarios and client scripts of a suites package.

    Raises:
        ScenarioError: one of them has a fault.
    """
    return frozenset((*collect(suites), *collect_client_scripts(suites)))

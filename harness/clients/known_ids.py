"""The ids that expectation files and policies may name."""

from harness.clients.collect import collect_client_scripts
from harness.results.client_results import SOAK
from harness.scenario.registry import Catalogue


def known_ids(suites: str) -> frozenset[str]:
    """Return the ids of all scenarios and client scripts of a suites package, and that of a soak.

    Raises:
        ScenarioError: a module of the package fails, or a client script has a fault.
    """
    return frozenset((*Catalogue(suites), *collect_client_scripts(suites), SOAK))

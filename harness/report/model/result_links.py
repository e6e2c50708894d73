"""Where a site tells of a result that a trend's tables have: of a scenario, or of a client script.

In these tables a target with a library stands in a target's place (`harness.spark.trend_mart`).
"""

from collections.abc import Mapping
from typing import Final

from harness.report.model.clients_page import column_key, script_page
from harness.report.model.names import scenario_page, target_anchor
from harness.results.client_judgements import column_name, first_remark
from harness.results.client_results import ClientsRun

_OF_CLIENTS: Final = "clients/"
"""How the ids of client scripts begin, and no scenario's does."""


def is_of_clients(scenario_id: str, target: str) -> bool:
    """Tell whether a result is that of a client script with a library."""
    return scenario_id.startswith(_OF_CLIENTS) and ", " in target


def result_href(scenario_id: str, target: str) -> str:
    """Return where the site has what a scenario, or a client script, came to with a target."""
    if not is_of_clients(scenario_id, target):
        return f"{scenario_page(scenario_id)}#{target_anchor(target)}"
    name, _, library = target.rpartition(", ")
    return f"{script_page(scenario_id)}#{target_anchor(column_key(name, library))}"


def links_of_clients(run: ClientsRun) -> Mapping[tuple[str, str], str]:
    """Say what first is not as it should be with each result of client scripts, by the trend's names."""
    return {
        (column_name(run.name_of(each), each.library), each.script_id): ": ".join(
            part for part in first_remark(each) if part
        )
        for each in run.results
    }

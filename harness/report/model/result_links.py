"""Links to the pages of results in a trend's tables, of scenarios or of client scripts.

For client scripts, a target in these tables includes the library (`harness.spark.trend_mart`).
"""

from collections.abc import Mapping
from typing import Final

from harness.report.model.clients_page import column_key, script_page
from harness.report.model.names import scenario_page, target_anchor
from harness.results.client_judgements import column_name, first_remark
from harness.results.client_results import ClientsRun

_OF_CLIENTS: Final = "clients/"
"""The prefix of client scripts' ids, which no scenario's id has."""


def is_of_clients(scenario_id: str, target: str) -> bool:
    """Return whether a result is of a client script."""
    return scenario_id.startswith(_OF_CLIENTS) and ", " in target


def result_href(scenario_id: str, target: str) -> str:
    """Return the link to the result of a scenario or client script on a target."""
    if not is_of_clients(scenario_id, target):
        return f"{scenario_page(scenario_id)}#{target_anchor(target)}"
    name, _, library = target.rpartition(", ")
    return f"{script_page(scenario_id)}#{target_anchor(column_key(name, library))}"


def links_of_clients(run: ClientsRun) -> Mapping[tuple[str, str], str]:
    """Return the first departure of each client script's result, by its names in the trend."""
    return {
        (column_name(run.name_of(each), each.library), each.script_id): ": ".join(
            part for part in first_remark(each) if part
        )
        for each in run.results
    }

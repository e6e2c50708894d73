"""The properties of the brokers that a scenario was run with, which may be more than it asked for."""

from collections.abc import Mapping
from typing import TypeAlias

from harness.trace.files import RunFolder

AddedProperties: TypeAlias = Mapping[tuple[str, str], Mapping[str, str]]
"""By target and scenario id: properties that the broker had and the scenario did not ask for; never empty."""


def added_properties(folder: RunFolder, scripts: Mapping[str, object] | None = None) -> AddedProperties:
    """Return the broker properties that scenarios were run with but did not ask for.

    Only covers targets whose brokers the run configured, and runs that stored the configurations.

    Args:
        folder: the run's folder.
        scripts: the run's scripts by scenario id, if they have been read already.

    Raises:
        TraceError: the run's scripts are missing or damaged.
    """
    configs = folder.read_broker_configs()
    if scripts is None:
        scripts = folder.read_scripts() if configs else {}
    found: dict[tuple[str, str], Mapping[str, str]] = {}
    for target, of_target in configs.items():
        for scenario_id, config in of_target.items():
            asked = _asked(scripts.get(scenario_id))
            added = {name: value for name, value in config.items() if name not in asked}
            if added:
                found[target, scenario_id] = added
    return found


def _asked(script: object) -> Mapping[str, object]:
    asked: Mapping[str, object] = script.get("broker_config", {}) if isinstance(script, dict) else {}
    return asked

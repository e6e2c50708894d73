"""What a scenario was run with: its brokers' properties, which may be more than it asked for."""

from collections.abc import Mapping
from typing import TypeAlias

from harness.trace.files import RunFolder

AddedProperties: TypeAlias = Mapping[tuple[str, str], Mapping[str, str]]
"""By target and scenario id: what its broker had and it did not ask for; only where that is anything."""


def added_properties(folder: RunFolder, scripts: Mapping[str, object] | None = None) -> AddedProperties:
    """Return what scenarios were run with beyond what they asked for.

    Only for targets whose brokers the run configured, and runs that keep it.

    Args:
        folder: of the run.
        scripts: the run's, by scenario id, where they are read already.

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

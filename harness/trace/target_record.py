"""The record of a target whose conversations are not traces of scenarios."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetRecord:
    """A description of a run's target, and of what it was compared with."""

    spec: str
    name: str
    implementation: str
    profile: str
    broker_config: Mapping[str, str]

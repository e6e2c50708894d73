"""The configuration that references have where nothing else is asked for."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from harness.targets.base.conformance import CONFORMANCE_CONFIG, QUICK_CONSUMER_GROUPS

USUAL_CONFIG: Final[Mapping[str, str]] = MappingProxyType({**CONFORMANCE_CONFIG, **QUICK_CONSUMER_GROUPS})
"""What brokers that we start are told, so that each and its oracle are told the same."""

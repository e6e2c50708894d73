"""The default configuration of references."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from harness.targets.base.conformance import CONFORMANCE_CONFIG, QUICK_CONSUMER_GROUPS

USUAL_CONFIG: Final[Mapping[str, str]] = MappingProxyType({**CONFORMANCE_CONFIG, **QUICK_CONSUMER_GROUPS})
"""The properties of all brokers that the harness starts, so that a broker and its oracle have the same."""

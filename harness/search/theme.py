"""Themes: what only some conversations are about, so that the others stay as they are."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class Theme(StrEnum):
    """What a conversation is about beside its groups."""

    ACCESS = "access"
    """Who may do what, with an authorizer and several principals."""
    CONFIGS = "configs"
    """The configurations of groups, topics and brokers."""
    STATES = "states"
    """The states of share partitions."""
    LOGS = "logs"
    """The logs of topics."""
    TOPICS = "topics"
    """Topics that come, grow and go."""
    TRANSACTIONS = "transactions"
    """Transactions that write records, and those that look at them."""
    CLUSTER = "cluster"
    """The cluster and its brokers."""
    EXPIRY = "expiry"
    """Offsets that expire, some with a retention time of their own."""


USUAL: Final = 9
"""How often a conversation has no theme, compared with the numbers below."""
SHARES: Final[Mapping[Theme, int]] = {
    Theme.ACCESS: 3,
    Theme.CONFIGS: 3,
    Theme.STATES: 1,
    Theme.LOGS: 1,
    Theme.TOPICS: 2,
    Theme.TRANSACTIONS: 2,
    Theme.CLUSTER: 1,
    Theme.EXPIRY: 2,
}
"""How often a conversation has each theme."""

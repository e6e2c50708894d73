"""Which broker of a cluster coordinates which names."""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count

from harness.targets.base.java_hash import partition_of


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Endpoint:
    """The address that a broker advertises."""

    node_id: int
    host: str
    port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The leaders of the coordinators' partitions, as a cluster reported them at the beginning of a run.

    Attributes:
        nodes: the brokers by id.
        offsets: leaders of the partitions of `__consumer_offsets`; empty where it was not reported.
        transactions: leaders of the partitions of `__transaction_state`; likewise.
    """

    nodes: Mapping[int, Endpoint]
    offsets: tuple[int, ...] = field(default=())
    transactions: tuple[int, ...] = field(default=())

    @property
    def homes(self) -> tuple[int, ...]:
        """Brokers that coordinate groups and, if possible, also transactions."""
        leading = set(self.offsets) & self.nodes.keys()
        both = leading & set(self.transactions)
        return tuple(sorted(both or leading or self.nodes))

    def home_of(self, scenario_id: str) -> Endpoint:
        """Return the broker on which a scenario is run; scenarios are distributed by their ids."""
        homes = self.homes
        return self.nodes[homes[zlib.crc32(scenario_id.encode()) % len(homes)]]

    def name_at(self, node_id: int, name: str) -> str:
        """Return a name that a broker coordinates, with a number appended if needed."""
        numbered = (f"{name}.{number}" for number in count())
        return next(each for each in numbered if self.is_coordinated_by(node_id, each))

    def is_coordinated_by(self, node_id: int, name: str) -> bool:
        """Return whether a broker coordinates the name of a group or producer."""
        if len(self.nodes) == 1:
            return True
        return all(
            not leaders or leaders[partition_of(name, len(leaders))] == node_id
            for leaders in (self.offsets, self.transactions)
        )

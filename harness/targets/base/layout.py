"""Which broker of a cluster coordinates which names."""

import math
import zlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from itertools import count, islice
from typing import Final

from harness.targets.base.interface import TargetError
from harness.targets.base.java_hash import partition_of

_TRIES_A_PARTITION: Final = 200
"""A name that fits is found long before, if there is one at all."""


class Coordinated(Enum):
    """What a name belongs to; each kind has a topic whose partitions decide on the coordinators."""

    GROUP = auto()
    PRODUCER = auto()


GROUP_ALONE: Final = frozenset({Coordinated.GROUP})


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Endpoint:
    """The address that a broker advertises."""

    node_id: int
    host: str
    port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The leaders of the coordinators' partitions, as a cluster reported them.

    Attributes:
        nodes: the brokers by id.
        offsets: leaders of the partitions of `__consumer_offsets`; empty where it was not reported.
        transactions: leaders of the partitions of `__transaction_state`; likewise.
        epochs: the leader epochs of either, which each election increases; empty where not reported.
    """

    nodes: Mapping[int, Endpoint]
    offsets: tuple[int, ...] = field(default=())
    transactions: tuple[int, ...] = field(default=())
    epochs: Mapping[Coordinated, tuple[int, ...]] = field(default_factory=dict)

    @property
    def homes(self) -> tuple[int, ...]:
        """Brokers that coordinate groups and, if possible, also producers."""
        leading = set(self.offsets) & self.nodes.keys()
        both = leading & set(self.transactions)
        return tuple(sorted(both or leading or self.nodes))

    def home_of(self, scenario_id: str) -> Endpoint:
        """Return the broker on which a scenario is run; scenarios are distributed by their ids."""
        homes = self.homes
        return self.nodes[homes[zlib.crc32(scenario_id.encode()) % len(homes)]]

    def name_at(self, node_id: int, name: str, kinds: Collection[Coordinated] = GROUP_ALONE) -> str:
        """Return a name that a broker coordinates, with a number appended if needed.

        Raises:
            TargetError: the broker coordinates no such name.
        """
        if self.can_coordinate(node_id, kinds):
            limit = _TRIES_A_PARTITION * math.lcm(*map(len, self._led(kinds)))
            for candidate in islice((f"{name}.{number}" for number in count()), limit):
                if self.is_coordinated_by(node_id, candidate, kinds):
                    return candidate
        raise TargetError(f"broker {node_id} coordinates no {_either(kinds)}")

    def can_coordinate(self, node_id: int, kinds: Collection[Coordinated]) -> bool:
        """Return whether a broker can coordinate one name as every one of some kinds."""
        tables = list(self._led(kinds))
        hashes = range(math.lcm(*map(len, tables)))
        return any(all(table[each % len(table)] == node_id for table in tables) for each in hashes)

    def is_coordinated_by(
        self, node_id: int, name: str, kinds: Collection[Coordinated] = GROUP_ALONE
    ) -> bool:
        """Return whether a broker coordinates a name as every one of some kinds."""
        return all(table[partition_of(name, len(table))] == node_id for table in self._led(kinds))

    def has_moved(self, later: "Layout", names: Mapping[str, Collection[Coordinated]]) -> bool:
        """Return whether the coordinator of a name was elected anew between this layout and a later one."""
        return any(
            self._terms(name, kinds) != later._terms(name, kinds)  # noqa: SLF001 - of its own class
            for name, kinds in names.items()
        )

    def _terms(self, name: str, kinds: Collection[Coordinated]) -> list[tuple[int, ...]]:
        """Return the leaders and epochs of the partitions of a name."""
        return [
            tuple(
                table[partition_of(name, len(table))]
                for table in (leaders, self.epochs.get(kind, ()))
                if table
            )
            for kind, leaders in (
                (Coordinated.GROUP, self.offsets),
                (Coordinated.PRODUCER, self.transactions),
            )
            if kind in kinds
        ]

    def _led(self, kinds: Collection[Coordinated]) -> Iterator[tuple[int, ...]]:
        """Yield the leaders by partition for some kinds; a single broker leads them all."""
        if len(self.nodes) == 1:
            return
        if self.offsets and Coordinated.GROUP in kinds:
            yield self.offsets
        if self.transactions and Coordinated.PRODUCER in kinds:
            yield self.transactions


def _either(kinds: Collection[Coordinated]) -> str:
    return " that is also a ".join(each.name.lower() for each in Coordinated if each in kinds)

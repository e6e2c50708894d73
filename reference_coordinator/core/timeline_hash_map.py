"""Kafka's map with snapshots, for decisions of the coordinator that depend on its iteration order.

A group stores its members and their targets in such maps. Their order matters if a `java.util.HashMap` is
filled from one of them: keys in the same bucket of the HashMap are in the order of insertion.
"""

from collections.abc import Iterator, MutableMapping
from itertools import chain
from typing import Final, Generic, Self, TypeVar

from reference_coordinator.core.java import as_int
from reference_coordinator.core.java_hash_map import HashCode

_SMALLEST_TABLE: Final = 2
"""Source: BaseHashTable.MIN_CAPACITY (4.3.1)."""
_FIBONACCI: Final = -7046029254386353131 & 0xFFFFFFFFFFFFFFFF
_LONG_MASK: Final = 0xFFFFFFFFFFFFFFFF
_LONG_BITS: Final = 64

KeyT = TypeVar("KeyT")
ValueT = TypeVar("ValueT")


class TimelineHashMap(MutableMapping[KeyT, ValueT], Generic[KeyT, ValueT]):
    """A `TimelineHashMap` with the default initial size and without its snapshots.

    In Kafka, reverting to a snapshot adds and removes keys, which may change their order in a slot. Here, a
    copy keeps the earlier order. Source: BaseHashTable (4.3.1).
    """

    __slots__ = ("_elements", "_hash_code", "_values")

    def __init__(self, hash_code: HashCode[KeyT]) -> None:
        self._hash_code = hash_code
        self._elements: list[tuple[KeyT, ...]] = [()] * _SMALLEST_TABLE
        self._values: dict[KeyT, ValueT] = {}

    def __getitem__(self, key: KeyT) -> ValueT:
        return self._values[key]

    def __setitem__(self, key: KeyT, value: ValueT) -> None:
        """Set a key's value. A new key is added last in its slot. The table may grow even for a known key.

        Source: BaseHashTable#baseAddOrReplace (4.3.1).
        """
        if (len(self._values) + 1) * 3 > len(self._elements) * 4:
            self._rehash()
        if key not in self._values:
            self._elements[self._find_slot(key)] += (key,)
        self._values[key] = value

    def __delitem__(self, key: KeyT) -> None:
        del self._values[key]
        slot = self._find_slot(key)
        self._elements[slot] = tuple(each for each in self._elements[slot] if each != key)

    def __iter__(self) -> Iterator[KeyT]:
        """Iterate over all keys, in each slot from the last to the first.

        Source: SnapshottableHashTable.CurrentIterator#next (4.3.1), which takes ready items from the end.
        """
        return chain.from_iterable(map(reversed, self._elements))

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"TimelineHashMap({dict(self.items())!r})"

    def copy(self) -> Self:
        """Return an independent map with the same keys and values in the same order."""
        copied = type(self)(self._hash_code)
        copied._elements = list(self._elements)  # noqa: SLF001 - of the same class
        copied._values = dict(self._values)  # noqa: SLF001 - likewise
        return copied

    def _rehash(self) -> None:
        keys = list(chain.from_iterable(self._elements))
        self._elements = [()] * (2 * len(self._elements))
        for key in keys:
            self._elements[self._find_slot(key)] += (key,)

    def _find_slot(self, key: KeyT) -> int:
        """Source: BaseHashTable#findSlot (4.3.1): the highest bits of the multiplied hash."""
        product = as_int(self._hash_code(key)) * _FIBONACCI & _LONG_MASK
        return product >> (_LONG_BITS - len(self._elements).bit_length() + 1)

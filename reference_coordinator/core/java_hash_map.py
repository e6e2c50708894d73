"""The JVM's hash maps and sets, for what Kafka decides by the order in which they iterate.

A map's order depends on all that was ever put into it and removed from it: a table grows and never shrinks.
So these keep the table itself.
"""

from collections.abc import Callable, Collection, Iterator, MutableMapping, MutableSet
from itertools import chain
from typing import Final, Generic, Self, TypeVar

_DEFAULT_CAPACITY: Final = 16
_BIN_IS_LONG: Final = 8
"""Source: HashMap.TREEIFY_THRESHOLD."""
_SMALLEST_TABLE_WITH_TREES: Final = 64
"""Source: HashMap.MIN_TREEIFY_CAPACITY."""

KeyT = TypeVar("KeyT")
ValueT = TypeVar("ValueT")
HashCode = Callable[[KeyT], int]
"""What `hashCode` gives for a key, as an unsigned number of 32 bits."""


class JavaHashMap(MutableMapping[KeyT, ValueT], Generic[KeyT, ValueT]):
    """A `java.util.HashMap`.

    One thing differs. Where eight keys or more share a bucket of a table of 64 or more, Java puts them into a
    tree, whose order this does not follow. Only keys that are chosen for it do that.
    """

    __slots__ = ("_hash_code", "_table", "_values")

    def __init__(self, hash_code: HashCode[KeyT], *, capacity: int = _DEFAULT_CAPACITY) -> None:
        self._hash_code = hash_code
        self._table: list[list[KeyT]] = [[] for _ in range(_table_size_for(capacity))]
        self._values: dict[KeyT, ValueT] = {}

    def __getitem__(self, key: KeyT) -> ValueT:
        return self._values[key]

    def __setitem__(self, key: KeyT, value: ValueT) -> None:
        """Put a value, a new key last in its bucket. Source: HashMap#putVal."""
        if key not in self._values:
            bucket = self._bucket(key)
            bucket.append(key)
            self._values[key] = value
            if len(bucket) > _BIN_IS_LONG:
                self._resize_if_small()
            if len(self._values) > self._threshold:
                self._resize()
        self._values[key] = value

    def __delitem__(self, key: KeyT) -> None:
        del self._values[key]
        self._bucket(key).remove(key)

    def __iter__(self) -> Iterator[KeyT]:
        return chain.from_iterable(self._table)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"JavaHashMap({dict(self.items())!r})"

    def compute_if_absent(self, key: KeyT, make: Callable[[], ValueT]) -> ValueT:
        """The key's value, or one that is made and put first in its bucket.

        The table grows first, even for a key that is there, if it was too small already.

        Source: HashMap#computeIfAbsent.
        """
        if len(self._values) > self._threshold:
            self._resize()
        if key not in self._values:
            bucket = self._bucket(key)
            bucket.insert(0, key)
            self._values[key] = make()
            if len(bucket) >= _BIN_IS_LONG:
                self._resize_if_small()
        return self._values[key]

    @property
    def _threshold(self) -> int:
        return len(self._table) * 3 // 4

    def _bucket(self, key: KeyT) -> list[KeyT]:
        code = self._hash_code(key)
        return self._table[(code ^ (code >> 16)) & (len(self._table) - 1)]

    def _resize_if_small(self) -> None:
        """Decided in: HashMap#treeifyBin, which makes a tree only in a large table."""
        if len(self._table) < _SMALLEST_TABLE_WITH_TREES:
            self._resize()

    def _resize(self) -> None:
        keys = list(self)
        self._table = [[] for _ in range(2 * len(self._table))]
        for key in keys:
            self._bucket(key).append(key)


class JavaHashSet(MutableSet[KeyT], Generic[KeyT]):
    """A `java.util.HashSet`."""

    __slots__ = ("_map",)

    def __init__(self, hash_code: HashCode[KeyT], *, capacity: int = _DEFAULT_CAPACITY) -> None:
        self._map: JavaHashMap[KeyT, None] = JavaHashMap(hash_code, capacity=capacity)

    @classmethod
    def copy_of(cls, items: Collection[KeyT], hash_code: HashCode[KeyT], *, size: int | None = None) -> Self:
        """A set of what a collection has, which may claim to have more. Source: HashSet#HashSet."""
        claimed = len(items) if size is None else size
        copied = cls(hash_code, capacity=max(capacity_for(claimed), _DEFAULT_CAPACITY))
        for item in items:
            copied.add(item)
        return copied

    def __contains__(self, item: object) -> bool:
        return item in self._map

    def __iter__(self) -> Iterator[KeyT]:
        return iter(self._map)

    def __len__(self) -> int:
        return len(self._map)

    def __repr__(self) -> str:
        return f"JavaHashSet({list(self)!r})"

    def add(self, value: KeyT) -> None:
        """Put an item last in its bucket, unless it is there."""
        self._map[value] = None

    def discard(self, value: KeyT) -> None:
        """Take an item away, if it is there."""
        self._map.pop(value, None)


def capacity_for(size: int) -> int:
    """The capacity of a map that is to have so many keys, as programs have it: (int) (size / 0.75f) + 1."""
    return size * 4 // 3 + 1


def _table_size_for(capacity: int) -> int:
    return 1 << max(capacity - 1, 0).bit_length()

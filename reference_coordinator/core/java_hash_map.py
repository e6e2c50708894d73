"""Java's hash maps and sets, for decisions of Kafka that depend on their iteration order.

A map's order depends on all insertions and removals in its history, because a table grows and never shrinks.
Therefore these classes keep the table itself.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, MutableMapping, MutableSet
from collections.abc import Set as AbstractSet
from itertools import chain
from typing import Final, Generic, Self, TypeVar

_DEFAULT_CAPACITY: Final = 16
_BIN_IS_LONG: Final = 8
"""Source: HashMap.TREEIFY_THRESHOLD."""
_SMALLEST_TABLE_WITH_TREES: Final = 64
"""Source: HashMap.MIN_TREEIFY_CAPACITY."""

KeyT = TypeVar("KeyT")
ValueT = TypeVar("ValueT")
OtherT = TypeVar("OtherT")
HashCode = Callable[[KeyT], int]
"""A function that returns a key's Java hash code, as an unsigned 32-bit integer."""


class JavaHashMap(MutableMapping[KeyT, ValueT], Generic[KeyT, ValueT]):
    """A `java.util.HashMap`.

    There is one difference. If eight or more keys share a bucket of a table of 64 or more, Java puts them
    in a tree, whose order this class does not reproduce. That happens only with specially chosen keys.
    """

    __slots__ = ("_hash_code", "_table", "_values")

    def __init__(self, hash_code: HashCode[KeyT], *, capacity: int = _DEFAULT_CAPACITY) -> None:
        self._hash_code = hash_code
        self._table: list[list[KeyT]] = [[] for _ in range(_table_size_for(capacity))]
        self._values: dict[KeyT, ValueT] = {}

    def __getitem__(self, key: KeyT) -> ValueT:
        return self._values[key]

    def __setitem__(self, key: KeyT, value: ValueT) -> None:
        """Set a key's value. A new key is added last in its bucket. Source: HashMap#putVal."""
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
        """Return the key's value. A new key is added first in its bucket, with a value from `make`.

        If the table was already too small, it grows first, even for an existing key.

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
        """Decided in: HashMap#treeifyBin, which creates a tree only in a large table."""
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
        """Copy a collection, which may report a larger size. Source: HashSet#HashSet."""
        claimed = len(items) if size is None else size
        copied = cls(hash_code, capacity=max(capacity_for(claimed), _DEFAULT_CAPACITY))
        for item in items:
            copied.add(item)
        return copied

    @classmethod
    def _from_iterable(cls, it: Iterable[OtherT]) -> AbstractSet[OtherT]:
        """Return what Python makes of two sets. It has no order that Kafka would have."""
        return frozenset(it)

    def __contains__(self, item: object) -> bool:
        return item in self._map

    def __iter__(self) -> Iterator[KeyT]:
        return iter(self._map)

    def __len__(self) -> int:
        return len(self._map)

    def __repr__(self) -> str:
        return f"JavaHashSet({list(self)!r})"

    def add(self, value: KeyT) -> None:
        """Add an item last in its bucket, unless it is already in the set."""
        self._map[value] = None

    def discard(self, value: KeyT) -> None:
        """Remove an item, if it is in the set."""
        self._map.pop(value, None)


def capacity_for(size: int) -> int:
    """Return the usual Java capacity for a map with this number of keys: (int) (size / 0.75f) + 1."""
    return size * 4 // 3 + 1


def _table_size_for(capacity: int) -> int:
    return 1 << max(capacity - 1, 0).bit_length()

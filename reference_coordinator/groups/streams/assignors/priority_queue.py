"""Java's priority queue, for decisions of Kafka that depend on its order of equal items."""

from collections.abc import Callable
from typing import Generic, TypeVar

ItemT = TypeVar("ItemT")


class JavaPriorityQueue(Generic[ItemT]):
    """A `java.util.PriorityQueue`. The priority of an item may change while it is not in the queue."""

    __slots__ = ("_items", "_priority")

    def __init__(self, priority: Callable[[ItemT], float]) -> None:
        self._priority = priority
        self._items: list[ItemT] = []

    def __len__(self) -> int:
        return len(self._items)

    def add(self, item: ItemT) -> None:
        """Add an item. Decided in: PriorityQueue#siftUp."""
        items, position = self._items, len(self._items)
        items.append(item)
        while position > 0:
            parent = (position - 1) // 2
            if self._priority(item) >= self._priority(items[parent]):
                break
            items[position] = items[parent]
            position = parent
        items[position] = item

    def poll(self) -> ItemT:
        """Remove and return the smallest item. Decided in: PriorityQueue#siftDown."""
        items = self._items
        least, last = items[0], items.pop()
        if not items:
            return least
        position, half = 0, len(items) // 2
        while position < half:
            child = 2 * position + 1
            other = child + 1
            if other < len(items) and self._priority(items[child]) > self._priority(items[other]):
                child = other
            if self._priority(last) <= self._priority(items[child]):
                break
            items[position] = items[child]
            position = child
        items[position] = last
        return least

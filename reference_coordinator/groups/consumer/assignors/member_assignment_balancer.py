"""Selection of the members that `uniform` moves partitions of a topic between.

The subscribers are sorted by their number of partitions. Two ranges grow towards each other: the least loaded
members at the front and the most loaded ones at the end. All members of a range are equally loaded.
"""

from collections.abc import Sequence
from typing import Final


class MemberAssignmentBalancer:
    """The balance between one topic's subscribers.

    Source: UniformHeterogeneousAssignmentBuilder.MemberAssignmentBalancer (4.3.1).
    """

    def __init__(self, members: Sequence[int], target_assignment_sizes: Sequence[int]) -> None:
        self._sizes: Final = target_assignment_sizes
        self._sorted_members: Final = sorted(members, key=lambda member: (self._sizes[member], member))
        least, most = self._size_at(0), self._size_at(-1)
        self.imbalance: Final = most - least
        """The difference between the highest and the lowest load of a member. Decided in: #initialize."""
        self._least_loaded_range_end = 0
        self._least_loaded_range_partition_count = least - 1
        self._next_least_loaded_member = 0
        self._most_loaded_range_start = len(self._sorted_members)
        self._most_loaded_range_end = len(self._sorted_members)
        self._most_loaded_range_partition_count = most + 1
        self._next_most_loaded_member = len(self._sorted_members) - 1

    def next_least_loaded_member(self) -> int:
        """Return the member that receives the next partition.

        Source: MemberAssignmentBalancer#nextLeastLoadedMember (4.3.1).
        """
        if self._next_least_loaded_member >= self._least_loaded_range_end:
            self._least_loaded_range_partition_count += 1
            while (
                self._least_loaded_range_end < len(self._sorted_members)
                and self._size_at(self._least_loaded_range_end) == self._least_loaded_range_partition_count
            ):
                self._least_loaded_range_end += 1
            self._next_least_loaded_member = 0
        member = self._sorted_members[self._next_least_loaded_member]
        self._next_least_loaded_member += 1
        return member

    def next_most_loaded_member(self) -> int | None:
        """Return the member that loses the next partition, or None if no member has one left.

        Source: MemberAssignmentBalancer#nextMostLoadedMember (4.3.1).
        """
        start = self._most_loaded_range_start
        if self._next_most_loaded_member < start:
            if self._most_loaded_range_end <= start and start > 0:
                # All members of the range were excluded: continue with the member before it.
                self._most_loaded_range_partition_count = self._size_at(start - 1)
            else:
                self._most_loaded_range_partition_count -= 1
            while start > 0 and self._size_at(start - 1) == self._most_loaded_range_partition_count:
                start -= 1
            self._most_loaded_range_start = start
            self._next_most_loaded_member = self._most_loaded_range_end - 1
        if self._next_most_loaded_member < 0:
            return None
        member = self._sorted_members[self._next_most_loaded_member]
        self._next_most_loaded_member -= 1
        return member

    def exclude_most_loaded_member(self) -> None:
        """Remove the member that was returned last from the range: it has no partition of this topic.

        Source: MemberAssignmentBalancer#excludeMostLoadedMember (4.3.1).
        """
        excluded, last = self._next_most_loaded_member + 1, self._most_loaded_range_end - 1
        members = self._sorted_members
        members[excluded], members[last] = members[last], members[excluded]
        self._most_loaded_range_end -= 1

    def is_balanced(self) -> bool:
        """Return whether the loads of the two ranges differ by at most one partition.

        Source: MemberAssignmentBalancer#isBalanced (4.3.1).
        """
        return self._most_loaded_range_partition_count - self._least_loaded_range_partition_count <= 1

    def _size_at(self, place: int) -> int:
        return self._sizes[self._sorted_members[place]]

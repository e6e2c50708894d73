"""A search for an order of operations and inner steps in which the reference gives each recorded answer.

The algorithm is Wing and Gong's. It goes depth first, tries the likeliest move first, and remembers dead ends
by the operations that took effect and by the machine's state.
"""

from dataclasses import dataclass
from math import inf

from harness.replay.course import Course, Misfit, Move, Skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Stuck:
    """The furthest point of a search in which no order leads to the end."""

    path: tuple[Move, ...]
    over: int
    misfit: Misfit
    now_ms: float


@dataclass(slots=True, kw_only=True)
class _Node:
    """A node of the search: the possible next moves, and how many of them were tried."""

    moves: tuple[Move, ...]
    decided_ms: float
    """When the first of these moves would be made."""
    digest: str | None
    tried: int = 0


class Search:
    """A search from the current position of a course, which takes back no earlier move."""

    def __init__(self, course: Course, *, moves_max: int, look_back_ms: float = inf) -> None:
        """Begin.

        Args:
            course: where to begin; the search leaves it at the search's last position.
            moves_max: the number of moves without progress after which the search is given up.
            look_back_ms: decisions made more than this before the furthest point are not taken back.
        """
        self._course = course
        self._floor = len(course.path)
        self._moves_max = self._moves_left = moves_max
        self._most_over = course.over_count
        self._look_back_ms = look_back_ms
        self._furthest: Stuck | None = None
        self._failed: set[str] = set()
        self._reached = len(course.path)
        """The most moves so far. Digests are computed only for positions that are not new ground."""
        self._nodes: list[_Node] = []
        self._is_done = False
        """Whether the last move led to the end."""

    def run(self) -> Stuck | None:
        """Search to the end; return None, or the furthest point if the end cannot be reached."""
        self._enter()
        while not self._is_done:
            node = self._nodes[-1]
            if node.tried == len(node.moves):
                if not self._leave(node):
                    break
                continue
            move = node.moves[node.tried]
            node.tried += 1
            self._moves_left -= 1
            misfit = self._course.take(move)
            if misfit is None:
                self._enter()
                continue
            self._note(misfit, path=tuple(self._course.path[:-1]))
            self._turn_back()
            if self.is_given_up:
                break
        else:
            return None
        assert self._furthest is not None, "a search gets on or is stuck somewhere"
        return self._furthest

    @property
    def is_given_up(self) -> bool:
        """Whether it ended before all orders had been tried."""
        return self._moves_left <= 0

    def _enter(self) -> None:
        course = self._course
        self._is_done = course.is_done
        if course.over_count > self._most_over:
            self._most_over, self._moves_left = course.over_count, self._moves_max
        length = len(course.path)
        digest = course.digest() if length <= self._reached else None
        self._reached = max(length, self._reached)
        is_known = digest is not None and digest in self._failed
        moves = () if is_known or self._is_done else course.next_moves(course)
        if not moves and not is_known and not self._is_done:
            blocked = course.blocked()
            assert blocked is not None, "something is left to be answered"
            self._note(blocked, path=tuple(course.path))
        decided_ms = float(course.machine.now_ms)
        if moves:
            decided_ms = max(decided_ms, _made_ms(moves[0]))
        self._nodes.append(_Node(moves=moves, decided_ms=decided_ms, digest=digest))

    def _leave(self, node: _Node) -> bool:
        """Turn back from a node whose moves were all tried; return whether there is a node to turn to."""
        if node.digest is not None:
            self._failed.add(node.digest)
        self._nodes.pop()
        if not self._nodes or self.is_given_up or self._furthest is None:
            return False
        if self._nodes[-1].decided_ms < self._furthest.now_ms - self._look_back_ms:
            return False
        self._turn_back()
        return True

    def _turn_back(self) -> None:
        node = self._nodes[-1]
        if node.tried < len(node.moves):
            self._course.go_to(self._course.path[: self._floor + len(self._nodes) - 1])

    def _note(self, misfit: Misfit, *, path: tuple[Move, ...]) -> None:
        over = self._course.over_count
        if self._furthest is None or over > self._furthest.over:
            now_ms = self._course.machine.now_ms
            self._furthest = Stuck(path=path, over=over, misfit=misfit, now_ms=now_ms)


def _made_ms(move: Move) -> float:
    return -inf if isinstance(move, Skip) else move.at_ms

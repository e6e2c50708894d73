"""Known cases in which no order of operations explains Kafka's answers, with the methods responsible."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from harness.races.history import History
from harness.races.outcomes import outcome_of

_Answer = tuple[str, str]
"""An API, and the outcome of its operation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownFinding:
    """A case in which Kafka is not atomic, and the answers that identify it."""

    name: str
    meaning: str
    source: str
    families: frozenset[str]
    """The coordinators that have it."""
    answers: frozenset[_Answer]
    """The answers that must all be among those that contradict each other."""


KNOWN: Final = (
    KnownFinding(
        name="dead-group-comes-back-while-looked-at",
        meaning=(
            "Who finds a group Dead asks again whether it exists. If somebody has made it anew meanwhile, "
            "DeleteGroups is answered NOT_COORDINATOR by the group's coordinator."
        ),
        source="GroupCoordinator#handleDeleteGroups, GroupMetadataManager#groupNotExists (2.8.2, 3.9.2)",
        families=frozenset(("scala",)),
        answers=frozenset((("DeleteGroups", "NOT_COORDINATOR"),)),
    ),
    KnownFinding(
        name="dead-group-comes-back-while-offsets-are-deleted",
        meaning="As before, of OffsetDelete.",
        source="GroupCoordinator#handleDeleteOffsets, GroupMetadataManager#groupNotExists (2.8.2, 3.9.2)",
        families=frozenset(("scala",)),
        answers=frozenset((("OffsetDelete", "NOT_COORDINATOR"),)),
    ),
    KnownFinding(
        name="offsets-deleted-of-a-group-deleted-meanwhile",
        meaning=(
            "OffsetDelete takes the group's lock to look at its state, and again to remove offsets. A "
            "DeleteGroups may come between, and both say NONE, though whichever is first leaves no group to "
            "the other."
        ),
        source=(
            "GroupCoordinator#handleDeleteOffsets, GroupMetadataManager#cleanupGroupMetadata (2.8.2, 3.9.2)"
        ),
        families=frozenset(("scala",)),
        answers=frozenset((("OffsetDelete", "NONE"), ("DeleteGroups", "NONE"))),
    ),
)


def known_finding(history: History, core: Iterable[int], family: str) -> KnownFinding | None:
    """Return the known finding that explains a contradiction, if there is one."""
    reported = {(history.operations[each].api, outcome_of(history.operations[each])) for each in core}
    return next((each for each in KNOWN if family in each.families and each.answers <= reported), None)

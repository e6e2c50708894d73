"""The first requests of a made conversation, without which later ones would be impossible or refused."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from harness.scenario import TRANSACTION
from harness.search.moves import Ask, Move
from harness.search.situation import usual_version

_TRANSACTION: Final = 1
"""Source: CoordinatorType.TRANSACTION."""
_FINDS_ONE: Final = 3
"""The last version of FindCoordinator with an error code for the whole answer."""


def producer_made(name: str, versions: Mapping[str, Sequence[int]]) -> Iterator[Ask]:
    """Yield what makes an actor a producer; the coordinator has to make the topic of transactions first."""
    version = min(versions["FindCoordinator"][-1], _FINDS_ONE)
    arguments = {"key": TRANSACTION, "key_type": _TRANSACTION, "version": version}
    yield Ask(actor=name, api="FindCoordinator", arguments=arguments, is_repeated=True)
    yield Ask(actor=name, api="InitProducerId", is_repeated=True)


def makes_producer(moves: Sequence[Move]) -> bool:
    """Return whether moves look for the coordinator of transactions before anything needs it."""
    return any(isinstance(each, Ask) and each.is_repeated and each.api == "FindCoordinator" for each in moves)


def topic_ids_asked(name: str, versions: Mapping[str, Sequence[int]]) -> Ask:
    """Return the request that tells an actor the ids of topics."""
    version = min(versions["Metadata"][-1], usual_version("Metadata"))
    return Ask(actor=name, api="Metadata", arguments={"topics": ("orders", "payments"), "version": version})

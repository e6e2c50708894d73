"""The first requests of a made conversation, without which later ones would be impossible or refused."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from harness.scenario import TRANSACTION
from harness.scenario.values import GroupRef
from harness.search.by_field import usual_version
from harness.search.moves import GROUPS, Ask, Move

_TRANSACTION: Final = 1
"""Source: CoordinatorType.TRANSACTION."""
_GROUP: Final = 32
"""Source: ConfigResource.Type."""
_FINDS_ONE: Final = 3
"""The last version of FindCoordinator with an error code for the whole answer."""


def producer_made(name: str, versions: Mapping[str, Sequence[int]]) -> Iterator[Ask]:
    """Yield what makes an actor a producer; the coordinator has to make the topic of transactions first."""
    version = min(versions["FindCoordinator"][-1], _FINDS_ONE)
    arguments = {"key": TRANSACTION, "key_type": _TRANSACTION, "version": version}
    yield Ask(actor=name, api="FindCoordinator", arguments=arguments, is_repeated=True)
    yield Ask(actor=name, api="InitProducerId", is_repeated=True)


def earliest_configured(name: str) -> Ask:
    """Return the request with which a share group reads records that were there before it."""
    configs = ({"name": "share.auto.offset.reset", "config_operation": 0, "value": "earliest"},)
    resource = {"resource_type": _GROUP, "resource_name": GroupRef(GROUPS[0]), "configs": configs}
    return Ask(actor=name, api="IncrementalAlterConfigs", arguments={"resources": (resource,)})


def makes_producer(moves: Sequence[Move]) -> bool:
    """Return whether moves look for the coordinator of transactions before anything needs it."""
    return any(isinstance(each, Ask) and each.is_repeated and each.api == "FindCoordinator" for each in moves)


def topic_ids_asked(name: str, versions: Mapping[str, Sequence[int]]) -> Ask:
    """Return the request that tells an actor the ids of topics."""
    version = min(versions["Metadata"][-1], usual_version("Metadata"))
    return Ask(actor=name, api="Metadata", arguments={"topics": ("orders", "payments"), "version": version})

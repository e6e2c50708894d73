"""The first requests of a made conversation, without which later ones would be impossible or refused."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from harness.scenario import TRANSACTION
from harness.scenario.values import GroupRef, TopicId
from harness.search.by_field import usual_version
from harness.search.moves import GROUPS, MADE_TOPIC, Ask, Move, Wait

_TRANSACTION: Final = 1
"""Source: CoordinatorType.TRANSACTION."""
_SHARE: Final = 2
"""Source: CoordinatorType.SHARE."""
_SHARE_KEY: Final = "any:AAAAAAAAAAAAAAAAAAAAAA:0"
_GROUP: Final = 32
"""Source: ConfigResource.Type."""
DEAD_LETTERS: Final = "dlq.made"
"""The name of a share group's topic of dead letters."""
_FINDS_ONE: Final = 3
"""The last version of FindCoordinator with an error code for the whole answer."""


def producer_made(name: str, versions: Mapping[str, Sequence[int]]) -> Iterator[Ask]:
    """Yield what makes an actor a producer; the coordinator has to make the topic of transactions first."""
    version = min(versions["FindCoordinator"][-1], _FINDS_ONE)
    arguments = {"key": TRANSACTION, "key_type": _TRANSACTION, "version": version}
    yield Ask(actor=name, api="FindCoordinator", arguments=arguments, is_repeated=True)
    yield Ask(actor=name, api="InitProducerId", is_repeated=True)


def share_states_made(name: str, version: int) -> Iterator[Move]:
    """Yield what lets a share group read the topic `orders` from its beginning.

    The share coordinator has to make its topic first, which takes a moment.
    """
    arguments = {"version": version, "key": _SHARE_KEY, "key_type": _SHARE}
    yield Ask(actor=name, api="FindCoordinator", arguments=arguments)
    yield Wait(duration_ms=1_000)
    topic = {"topic_id": TopicId("orders"), "partitions": ({"partition": 0, "start_offset": 0},)}
    fields = {"group_id": GroupRef(GROUPS[0]), "topics": (topic,)}
    yield Ask(actor=name, api="InitializeShareGroupState", arguments=fields)
    yield Ask(actor=name, api="Produce", arguments={"topic": "orders", "size": 3})


def share_group_configured(name: str, more: Mapping[str, str]) -> Ask:
    """Return the request with which a share group reads records that were there before it.

    Args:
        name: the actor who sends it.
        more: more configurations of the group.
    """
    wanted = {"share.auto.offset.reset": "earliest", **more}
    configs = tuple({"name": key, "config_operation": 0, "value": value} for key, value in wanted.items())
    resource = {"resource_type": _GROUP, "resource_name": GroupRef(GROUPS[0]), "configs": configs}
    return Ask(actor=name, api="IncrementalAlterConfigs", arguments={"resources": (resource,)})


def shares_looked_at(name: str, versions: Mapping[str, Sequence[int]]) -> Iterator[Ask]:
    """Yield requests that show how far a share group has come, and its topic of dead letters."""
    if "DescribeShareGroupOffsets" in versions:
        arguments: Mapping[str, object] = {"version": versions["DescribeShareGroupOffsets"][-1]}
        yield Ask(actor=name, api="DescribeShareGroupOffsets", arguments=arguments, is_answered=False)
    if "Metadata" in versions:
        version = min(versions["Metadata"][-1], usual_version("Metadata"))
        arguments = {"topics": ("orders", DEAD_LETTERS), "version": version}
        yield Ask(actor=name, api="Metadata", arguments=arguments, is_answered=False)


def topic_made(name: str, num_partitions: int) -> Ask:
    """Return the request that makes another topic to subscribe to."""
    topic = {"name": MADE_TOPIC, "num_partitions": num_partitions, "replication_factor": 1}
    return Ask(actor=name, api="CreateTopics", arguments={"topics": (topic,), "timeout_ms": 1_000})


OPENING: Final = ("CreateTopics", "IncrementalAlterConfigs", "InitializeShareGroupState")
"""Requests that may open a conversation whatever it is about."""


def makes_producer(moves: Sequence[Move]) -> bool:
    """Return whether moves look for the coordinator of transactions before anything needs it."""
    return any(isinstance(each, Ask) and each.is_repeated and each.api == "FindCoordinator" for each in moves)


def topic_ids_asked(name: str, versions: Mapping[str, Sequence[int]]) -> Ask:
    """Return the request that tells an actor the ids of topics."""
    version = min(versions["Metadata"][-1], usual_version("Metadata"))
    return Ask(actor=name, api="Metadata", arguments={"topics": ("orders", "payments"), "version": version})

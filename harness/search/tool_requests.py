"""Choose the arguments of requests of tools: about the cluster, its topics, and their logs.

Each has some usual forms, of which one value is now and then another one.
"""

from collections.abc import Callable
from typing import Final, TypeAlias

from harness.scenario.values import GroupRef, TopicId
from harness.search.by_field import usual_version
from harness.search.moves import GROUPS
from harness.search.situation import Arguments, Situation
from harness.search.variation import varied

Form: TypeAlias = Callable[[Situation], Arguments]
"""Returns the fields of a request."""
VARIED_SHARE: Final = 0.4
_ORDERS: Final = "orders"
_PAYMENTS: Final = "payments"
_OFFSETS_TOPIC: Final = "__consumer_offsets"
MAIN: Final = GroupRef(GROUPS[0])


def of_forms(api: str, *forms: Form) -> Callable[[Situation], None]:
    """Return a function that chooses one of some forms of a request, and now and then varies a value."""

    def chosen(at: Situation) -> None:
        at.puts_version(api, 0.5)
        fields = at.rng.choice(forms)(at)
        if at.chance(VARIED_SHARE):
            changed = varied(fields, at.rng, at.other_groups)
            assert isinstance(changed, dict), "a request stays one"
            fields = changed
        at.arguments.setdefault("version", usual_version(api))
        at.arguments.update(fields)

    return chosen


def form(**fields: object) -> Form:
    """Return a form of a request that is always the same."""
    return lambda _: dict(fields)


def topic_of(at: Situation) -> str:
    """Choose a topic."""
    return at.rng.choice((_ORDERS, _ORDERS, _PAYMENTS))


def _in_topic(at: Situation, **partition: object) -> tuple[object, ...]:
    """Return a topic, named in all ways that versions know, with one of its partitions."""
    name = topic_of(at)
    index = at.rng.choice((0, 0, 1, 9))
    return (
        {
            "topic": name,
            "name": name,
            "topic_id": TopicId(name),
            "partitions": ({"partition": index, "partition_index": index, **partition},),
        },
    )


def _fetched(at: Situation) -> Arguments:
    wanted = {
        "current_leader_epoch": at.rng.choice((-1, -1, 0)),
        "fetch_offset": at.rng.choice((0, 0, 1, 3)),
        "partition_max_bytes": at.rng.choice((1_000_000, 1)),
    }
    return {
        "max_wait_ms": at.rng.choice((0, 500)),
        "min_bytes": at.rng.choice((0, 1)),
        "isolation_level": at.rng.choice((0, 1)),
        "topics": _in_topic(at, **wanted),
    }


def _listed_offsets(at: Situation) -> Arguments:
    wanted = {
        "current_leader_epoch": at.rng.choice((-1, -1, 0)),
        "timestamp": at.rng.choice((-1, -2, -3, 0, 1)),
    }
    return {
        "replica_id": -1,
        "isolation_level": at.rng.choice((0, 1)),
        "topics": _in_topic(at, **wanted),
        "timeout_ms": 1_000,
    }


def _epochs(at: Situation) -> Arguments:
    wanted = {"current_leader_epoch": at.rng.choice((-1, 0)), "leader_epoch": at.rng.choice((0, 0, 1))}
    return {"replica_id": -1, "topics": _in_topic(at, **wanted)}


def _deleted_records(at: Situation) -> Arguments:
    return {"topics": _in_topic(at, offset=at.rng.choice((-1, 0, 1, 2))), "timeout_ms": 1_000}


def _log_dirs(at: Situation) -> Arguments:
    return {"topics": ({"topic": topic_of(at), "partitions": (0, 1)},)}


fetch: Final = of_forms("Fetch", _fetched)
list_offsets: Final = of_forms("ListOffsets", _listed_offsets)
offset_for_leader_epoch: Final = of_forms("OffsetForLeaderEpoch", _epochs)
delete_records: Final = of_forms("DeleteRecords", _deleted_records)
describe_log_dirs: Final = of_forms("DescribeLogDirs", _log_dirs, form(topics=None))


def _created(at: Situation) -> Arguments:
    name = at.rng.choice(("made", "made-too", "dlq.made", _ORDERS, _PAYMENTS))
    some = (("errors.deadletterqueue.group.enable", "true"), ("max.message.bytes", "200"))
    configs = tuple({"name": key, "value": value} for key, value in some[: at.rng.choice((0, 0, 1, 2))])
    partitions = at.rng.choice((1, 2, -1))
    topic = {"name": name, "num_partitions": partitions, "replication_factor": 1, "configs": configs}
    return {"topics": (topic,), "timeout_ms": 1_000}


def _deleted(at: Situation) -> Arguments:
    name = at.rng.choice(("made", "made-too", _ORDERS, _PAYMENTS, _OFFSETS_TOPIC))
    # The first versions have a list of names, the later ones names or ids.
    return {"topic_names": (name,), "topics": ({"name": name},), "timeout_ms": 1_000}


def _grown(at: Situation) -> Arguments:
    name, count = at.rng.choice(("made", _ORDERS, _PAYMENTS)), at.rng.choice((3, 4, 5))
    return {"topics": ({"name": name, "count": count, "assignments": None},), "timeout_ms": 1_000}


create_topics: Final = of_forms("CreateTopics", _created)
delete_topics: Final = of_forms("DeleteTopics", _deleted)
create_partitions: Final = of_forms("CreatePartitions", _grown)
describe_topic_partitions: Final = of_forms(
    "DescribeTopicPartitions",
    form(topics=()),
    form(topics=({"name": _ORDERS}, {"name": _PAYMENTS})),
    form(topics=({"name": _PAYMENTS}, {"name": _ORDERS}, {"name": "nowhere"}), response_partition_limit=2),
    form(topics=(), response_partition_limit=3, cursor={"topic_name": _ORDERS, "partition_index": 1}),
)

api_versions: Final = of_forms(
    "ApiVersions",
    form(),
    form(client_software_name="a client", client_software_version="1"),
    form(client_software_name="client", client_software_version="-"),
    form(client_software_name="client", client_software_version="1.0", cluster_id="another", node_id=1),
)
describe_cluster: Final = of_forms(
    "DescribeCluster",
    form(),
    form(include_cluster_authorized_operations=True, endpoint_type=1, include_fenced_brokers=True),
    form(endpoint_type=2),
)
describe_quorum: Final = of_forms(
    "DescribeQuorum",
    form(topics=({"topic_name": "__cluster_metadata", "partitions": ({"partition_index": 0},)},)),
    form(topics=({"topic_name": _ORDERS, "partitions": ({"partition_index": 0},)},)),
)
list_config_resources: Final = of_forms(
    "ListConfigResources",
    form(resource_types=()),
    form(resource_types=(32,)),
    form(resource_types=(2, 4)),
    form(resource_types=(32, 16, 2)),
)

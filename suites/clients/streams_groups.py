"""Streams groups (KIP-1071): Kafka Streams applications whose tasks the broker assigns."""

from collections.abc import Mapping, Sequence

from harness.clients.language import Play, TestClient, Topic, client_script

_FREE = "which tasks an application has hangs on ids that are random"
_SEEN_LATE = "an application looks for its tasks itself, and may learn late that it gave one up"


def _numbered(*values: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """Return what the result topic must contain of some records: each with its number."""
    written = (value for each in values for part in each.values() for value in part)
    return {"results-0": tuple(f"{value}={int(value.partition('#')[2]) + 1}" for value in written)}


def _topics(play: Play, partitions: int) -> tuple[Topic, Topic]:
    return play.topic("orders", partitions=partitions), play.topic("results", partitions=1)


def _reader(play: Play) -> TestClient:
    return play.client("reader", group=None, auto_offset_reset="earliest")


@client_script(
    "clients/processing/counts-into-a-store", streams_source="TaskAssignor#assign (StickyTaskAssignor)"
)
def counts_into_a_store(play: Play) -> None:
    """A single application gets all tasks, numbers the records of each partition, and commits."""
    orders, results = _topics(play, 2)
    writer, eve, reader = play.client("writer", group=None), play.client("eve", group=None), _reader(play)
    ana = play.client("ana")

    ana.streams(orders, to=results)
    play.settles({ana: orders.partitions})
    writer.produces(orders, each=3)
    reader.assigns("results-0")
    play.delivers([reader], _numbered(orders.values()), in_order=False)

    eve.sees_streams_group(
        "group", state="STABLE", tasks={ana: (2, 0, 0)}, offsets={"orders-0": 3, "orders-1": 3}
    )


@client_script(
    "clients/processing/through-a-repartition-topic", streams_source="InternalTopicManager#configureTopics"
)
def through_a_repartition_topic(play: Play) -> None:
    """The broker creates the internal topics of a topology, whose records are regrouped on the way."""
    orders, results = _topics(play, 2)
    writer, reader = play.client("writer", group=None), _reader(play)
    ana = play.client("ana")

    ana.streams(orders, to=results, regroups=True)
    play.settles({ana: orders.partitions})
    writer.produces(orders, each=3)
    reader.assigns("results-0")

    play.delivers([reader], _numbered(orders.values()), in_order=False)


@client_script("clients/rebalance/second-application", streams_source="StickyTaskAssignor#assign")
def second_application(play: Play) -> None:
    """A second application takes over half of the tasks with their stores; they move back when it closes."""
    orders, results = _topics(play, 4)
    writer, reader = play.client("writer", group=None), _reader(play)
    ana, bob = play.client("ana"), play.client("bob")
    play.allows_two_owners(_SEEN_LATE)

    ana.streams(orders, to=results)
    play.settles({ana: orders.partitions})
    writer.produces(orders, each=2)
    reader.assigns("results-0")
    play.delivers([reader], _numbered(orders.values()), in_order=False)
    bob.streams(orders, to=results)
    play.settles_evenly([ana, bob], orders, because=_FREE, moved=2)
    writer.produces(orders, each=2)
    play.delivers([reader], _numbered(orders.values(since=2)), in_order=False)
    bob.closes()
    play.settles({ana: orders.partitions})
    writer.produces(orders, each=2)

    play.delivers([reader], _numbered(orders.values(since=4)), in_order=False)


@client_script(
    "clients/rebalance/application-is-killed",
    streams_source="GroupMetadataManager#scheduleStreamsGroupSessionTimeout",
)
def application_is_killed(play: Play) -> None:
    """When the session of a killed application times out, another continues its tasks from its commits."""
    orders, results = _topics(play, 2)
    writer, eve, reader = play.client("writer", group=None), play.client("eve", group=None), _reader(play)
    ana = play.client("ana", session_timeout_ms=10_000)
    bob = play.client("bob", session_timeout_ms=10_000)
    play.allows_two_owners(_SEEN_LATE)

    ana.streams(orders, to=results)
    bob.streams(orders, to=results)
    play.settles_evenly([ana, bob], orders, because=_FREE)
    writer.produces(orders, each=3)
    reader.assigns("results-0")
    play.delivers([reader], _numbered(orders.values()), in_order=False)
    both = {ana: (1, 0, 0), bob: (1, 0, 0)}
    eve.sees_streams_group("group", state="STABLE", tasks=both, offsets={"orders-0": 3, "orders-1": 3})
    bob.crashes()
    play.settles({ana: orders.partitions})
    writer.produces(orders, each=2)

    play.delivers([reader], _numbered(orders.values(since=3)), in_order=False)


@client_script(
    "clients/delivery/exactly-once", streams_source="StreamsGroup#validateOffsetCommit (KIP-1071, KIP-447)"
)
def exactly_once(play: Play) -> None:
    """With exactly-once processing, each record is numbered once although an application is killed."""
    orders, results = _topics(play, 2)
    writer = play.client("writer", group=None)
    reader = play.client("reader", group=None, auto_offset_reset="earliest", isolation_level="read_committed")
    ana, bob = (
        play.client(name, processing_guarantee="exactly_once_v2", session_timeout_ms=10_000)
        for name in ("ana", "bob")
    )
    play.allows_two_owners(_SEEN_LATE)

    ana.streams(orders, to=results)
    play.settles({ana: orders.partitions})
    writer.produces(orders, each=3)
    ana.crashes()
    bob.streams(orders, to=results)
    play.settles({bob: orders.partitions})
    writer.produces(orders, each=2)
    reader.assigns("results-0")

    play.delivers([reader], _numbered(orders.values()), in_order=False)


@client_script("clients/tasks/standby", streams_source="StickyTaskAssignor#assignStandby")
def standby(play: Play) -> None:
    """With standby replicas configured, each stateful task has a standby in the other application."""
    play.configures("group", streams_num_standby_replicas=1)
    orders, results = _topics(play, 2)
    eve = play.client("eve", group=None)
    ana, bob = play.client("ana"), play.client("bob")
    play.allows_two_owners(_SEEN_LATE)

    ana.streams(orders, to=results)
    play.settles({ana: orders.partitions})
    eve.sees_streams_group("group", state="STABLE", tasks={ana: (2, 0, 0)}, offsets={})
    bob.streams(orders, to=results)
    play.settles_evenly([ana, bob], orders, because=_FREE, moved=1)

    eve.sees_streams_group("group", state="STABLE", tasks={ana: (1, 1, 0), bob: (1, 1, 0)}, offsets={})


@client_script("clients/admin/deletes", streams_source="GroupCoordinatorService#deleteGroups")
def deletes(play: Play) -> None:
    """A streams group with members is not deleted; an empty one is, together with its offsets."""
    orders, results = _topics(play, 1)
    writer, eve, reader = play.client("writer", group=None), play.client("eve", group=None), _reader(play)
    ana, bob = play.client("ana"), play.client("bob")

    writer.produces(orders, each=2)
    ana.streams(orders, to=results)
    reader.assigns("results-0")
    play.delivers([reader], _numbered(orders.values()))
    eve.sees_streams_group("group", state="STABLE", tasks={ana: (1, 0, 0)}, offsets={"orders-0": 2})
    eve.deletes_streams_group("group", refused_as=["NON_EMPTY_GROUP"])
    ana.closes()
    eve.sees_streams_group("group", state="EMPTY", tasks={}, offsets={"orders-0": 2})
    eve.deletes_streams_group("group")
    bob.streams(orders, to=results)

    # The changelog topic is not deleted with the group.
    play.delivers([reader], {"results-0": ("orders-0#0=3", "orders-0#1=4")})


@client_script("clients/coordinator/restarts", streams_source="StreamsGroup (records of types 17 to 23)")
def restarts(play: Play) -> None:
    """An application continues after a broker restart with the tasks and offsets that it had."""
    orders, results = _topics(play, 2)
    writer, reader = play.client("writer", group=None), _reader(play)
    ana = play.client("ana")
    play.allows_extra_callbacks("a broker that was away may take longer to be back than a session lasts")

    ana.streams(orders, to=results)
    play.settles({ana: orders.partitions})
    writer.produces(orders, each=2)
    reader.assigns("results-0")
    play.delivers([reader], _numbered(orders.values()), in_order=False)
    play.restarts_broker()
    writer.produces(orders, each=2)

    play.delivers([reader], _numbered(orders.values(since=2)), in_order=False)

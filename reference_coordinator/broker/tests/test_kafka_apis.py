"""What the broker does before its coordinator is asked, and to what the coordinator says."""

from typing import Any
from uuid import UUID

import pytest

from reference_coordinator.core.errors import Errors
from reference_coordinator.tests.wire_broker import PORT, WireBroker, WireClient, connected, elected

INVALID_REQUEST_TEXT = "This most likely occurs because of a request being malformed"


@pytest.fixture(name="broker")
def elected_broker() -> WireBroker:
    return elected()


@pytest.fixture(name="client")
def client_of_the_broker(broker: WireBroker) -> WireClient:
    return broker.connect()


def commit(
    client: WireClient, version: int, *topics: dict[str, Any], generation_id: int = -1
) -> list[tuple[object, int, int]]:
    response = client.ask(
        "offset_commit",
        version,
        group_id="g",
        generation_id_or_member_epoch=generation_id,
        topics=tuple(
            topic
            | {
                "partitions": tuple(
                    {"partition_index": index, "committed_offset": 5, "committed_metadata": ""}
                    for index in topic["partitions"]
                )
            }
            for topic in topics
        ),
    )
    return [
        (topic.name if version < 10 else topic.topic_id, each.partition_index, each.error_code)
        for topic in response.topics
        for each in topic.partitions
    ]


@pytest.mark.parametrize("version", range(4))
def test_the_first_find_coordinator_creates_the_log_and_gets_no_answer(version: int) -> None:
    client = WireBroker().connect()
    assert client.ask("heartbeat", 0, group_id="g").error_code == Errors.NOT_COORDINATOR

    refused = client.ask("find_coordinator", version, key="g")
    found = client.ask("find_coordinator", version, key="g")

    assert (refused.error_code, refused.node_id, refused.host, refused.port) == (15, -1, "", -1)
    assert (found.error_code, found.node_id, found.host, found.port) == (0, 1, "localhost", PORT)
    if version >= 1:
        assert (refused.error_message, found.error_message) == ("The coordinator is not available.", "NONE")
    assert client.ask("heartbeat", 0, group_id="g").error_code == Errors.UNKNOWN_MEMBER_ID


def test_a_batch_of_keys_is_answered_in_order_with_duplicates_and_without_texts(broker: WireBroker) -> None:
    found = broker.connect().ask("find_coordinator", 4, coordinator_keys=("g", "g", ""))

    assert [(each.key, each.node_id, each.error_message) for each in found.coordinators] == [
        ("g", 1, ""),
        ("g", 1, ""),
        ("", 1, ""),
    ]


def test_every_key_of_the_first_batch_goes_without_an_answer() -> None:
    found = WireBroker().connect().ask("find_coordinator", 4, coordinator_keys=("a", "b"))

    assert [each.error_code for each in found.coordinators] == [15, 15]


def test_an_empty_batch_creates_nothing() -> None:
    client = WireBroker().connect()

    assert client.ask("find_coordinator", 4, coordinator_keys=()).coordinators == ()
    assert client.ask("heartbeat", 0, group_id="g").error_code == Errors.NOT_COORDINATOR


@pytest.mark.parametrize(
    ("profile", "key_type", "error"),
    [
        ("2.7", 9, Errors.UNKNOWN_SERVER_ERROR),
        ("2.8", 9, Errors.INVALID_REQUEST),
        ("2.7", 2, Errors.UNKNOWN_SERVER_ERROR),
        ("3.9", 2, Errors.INVALID_REQUEST),
        ("4.4", 2, Errors.INVALID_REQUEST),
    ],
)
def test_a_type_that_is_unknown_or_too_new_is_refused(profile: str, key_type: int, error: Errors) -> None:
    refused = connected(profile).ask("find_coordinator", 3, key="g", key_type=key_type)

    assert (refused.error_code, refused.node_id) == (error, -1)
    assert refused.error_message


def test_an_unknown_type_has_a_text_even_in_a_batch(client: WireClient) -> None:
    unknown = client.ask("find_coordinator", 4, key_type=9, coordinator_keys=("a", "b")).coordinators
    too_new = client.ask("find_coordinator", 4, key_type=2, coordinator_keys=("a",)).coordinators

    assert [(each.key, each.error_code) for each in unknown] == [("a", 42), ("b", 42)]
    assert unknown[0].error_message.startswith(INVALID_REQUEST_TEXT)
    assert [(each.error_code, each.error_message) for each in too_new] == [(42, "")]


@pytest.mark.parametrize(
    ("profile", "key", "error"),
    [
        ("3.9", "a", 15),
        ("4.0", "a:AAAAAAAAAAAAAAAAAAAAAQ:0", 42),
        ("4.1", "a:AAAAAAAAAAAAAAAAAAAAAQ:0", 15),
        ("4.4", "a", 42),
    ],
)
def test_nobody_coordinates_share_groups(profile: str, key: str, error: int) -> None:
    (share,) = connected(profile).ask("find_coordinator", 6, key_type=2, coordinator_keys=(key,)).coordinators

    assert (share.error_code, share.error_message, share.node_id) == (error, "", -1)


def test_api_versions_advertises_the_profile(client: WireClient) -> None:
    for version in (0, 3):
        software = {"client_software_name": "x", "client_software_version": "1"} if version >= 3 else {}
        advertised = client.ask("api_versions", version, **software)
        assert advertised.error_code == 0
        keys = {each.api_key: (each.min_version, each.max_version) for each in advertised.api_keys}
        assert (keys[11], keys[8]) == ((0, 9), (0, 9))
        assert list(keys) == sorted(keys)


def test_api_versions_in_an_unknown_version_names_its_own_range_only(client: WireClient) -> None:
    client.send_frame(b"\x00\x12\x00\x63\x00\x00\x00\x07\x00\x01p\x00")

    assert client.frames() == [bytes.fromhex("00000007 0023 00000001 0012 0000 0004")]


def test_api_versions_refuses_a_client_software_name_that_is_none(broker: WireBroker) -> None:
    refused = broker.connect().ask("api_versions", 3, client_software_name="", client_software_version="1")

    assert (refused.error_code, refused.api_keys) == (Errors.INVALID_REQUEST, ())


def test_metadata_shows_topics_and_this_broker(client: WireClient) -> None:
    everything = client.ask("metadata", 1, topics=None)
    nothing = client.ask("metadata", 1, topics=())

    assert [(each.node_id, each.host, each.port) for each in everything.brokers] == [(1, "localhost", PORT)]
    assert {each.name: (each.is_internal, len(each.partitions)) for each in everything.topics} == {
        "orders": (False, 3),
        "__consumer_offsets": (True, 50),
    }
    assert (nothing.topics, nothing.controller_id) == ((), 1)


def test_metadata_of_an_unknown_topic_says_so_and_may_create_it(client: WireClient) -> None:
    def errors(name: str, *, create: bool) -> list[int]:
        topics = client.ask("metadata", 9, topics=({"name": name},), allow_auto_topic_creation=create).topics
        return [each.error_code for each in topics]

    assert errors("new", create=False) == [3]
    assert errors("new", create=False) == [3]
    assert errors("new", create=True) == [3]
    assert errors("new", create=False) == [0]
    assert errors("no good", create=True) == [17]


def test_metadata_finds_a_topic_by_its_id(client: WireClient) -> None:
    topic_id = client.topic_id()

    (known,) = client.ask("metadata", 12, topics=({"name": None, "topic_id": topic_id},)).topics
    (unknown,) = client.ask("metadata", 12, topics=({"name": None, "topic_id": UUID(int=1)},)).topics
    (too_old,) = client.ask("metadata", 10, topics=({"name": None, "topic_id": topic_id},)).topics

    assert (known.error_code, known.name) == (0, "orders")
    assert (unknown.error_code, unknown.name) == (100, None)
    assert too_old.error_code == Errors.INVALID_REQUEST


@pytest.mark.parametrize(
    ("topic", "error"),
    [
        ({"name": "new", "num_partitions": 2, "replication_factor": 1}, 0),
        ({"name": "new", "num_partitions": -1, "replication_factor": -1}, 0),
        ({"name": "orders", "num_partitions": 1, "replication_factor": 1}, 36),
        ({"name": "no good", "num_partitions": 1, "replication_factor": 1}, 17),
        ({"name": "new", "num_partitions": 0, "replication_factor": 1}, 37),
        ({"name": "new", "num_partitions": 1, "replication_factor": 2}, 38),
    ],
)
def test_create_topics_creates_or_says_why_not(client: WireClient, topic: dict[str, Any], error: int) -> None:
    (tried,) = client.ask("create_topics", 7, topics=(topic,), validate_only=True).topics
    (done,) = client.ask("create_topics", 7, topics=(topic,)).topics

    assert (tried.error_code, done.error_code) == (error, error)


def test_create_topics_refuses_a_name_given_twice(broker: WireBroker) -> None:
    topic = {"name": "new", "num_partitions": 1, "replication_factor": 1}

    results = broker.connect().ask("create_topics", 2, topics=(topic, topic)).topics

    assert [each.error_code for each in results] == [42, 42]


def test_an_offset_commit_to_unknown_topics_only_never_asks_the_coordinator() -> None:
    client = WireBroker().connect()

    assert commit(client, 5, {"name": "nope", "partitions": (0, 1)}, generation_id=5) == [
        ("nope", 0, 3),
        ("nope", 1, 3),
    ]
    assert commit(client, 5) == []
    assert commit(client, 5, {"name": "orders", "partitions": (0,)}, generation_id=5) == [("orders", 0, 16)]


def test_an_offset_commit_mixes_refused_and_judged_partitions_topic_by_topic(broker: WireBroker) -> None:
    committed = commit(
        broker.connect(),
        5,
        {"name": "orders", "partitions": (99, 0)},
        {"name": "nope", "partitions": (0,)},
        generation_id=5,
    )

    assert committed == [("orders", 99, 3), ("orders", 0, 22), ("nope", 0, 3)]


def test_an_offset_commit_by_topic_id_is_judged_by_name_and_answered_by_id() -> None:
    client = connected("4.2")
    topic_id = client.topic_id()
    unknown_id = UUID(int=1)

    committed = commit(
        client,
        10,
        {"topic_id": unknown_id, "partitions": (0,)},
        {"topic_id": topic_id, "partitions": (1, 99)},
        {"topic_id": None, "partitions": (0,)},
    )

    assert committed == [(unknown_id, 0, 100), (topic_id, 99, 3), (topic_id, 1, 0), (None, 0, 100)]


def test_an_offset_fetch_by_topic_id_is_answered_by_id() -> None:
    client = connected("4.2")
    topic_id = client.topic_id()
    commit(client, 10, {"topic_id": topic_id, "partitions": (1,)})

    def fetched(topics: object) -> list[tuple[UUID, int, int, int]]:
        (group,) = client.ask("offset_fetch", 10, groups=({"group_id": "g", "topics": topics},)).groups
        return [
            (topic.topic_id, each.partition_index, each.committed_offset, each.error_code)
            for topic in group.topics
            for each in topic.partitions
        ]

    by_id = {"topic_id": topic_id, "partition_indexes": (1,)}
    unknown = {"topic_id": None, "partition_indexes": (0,)}
    assert fetched((unknown, by_id)) == [(topic_id, 1, 5, 0), (None, 0, -1, 100)]
    assert fetched(None) == [(topic_id, 1, 5, 0)]


@pytest.mark.parametrize(
    ("profile", "answer"),
    [
        ("3.4", [16]),
        ("3.5", []),
        ("3.9.1", []),
        ("3.9.2", [16]),
        ("4.0.1", []),
        ("4.0.2", [16]),
        ("4.1", [16]),
    ],
)
def test_a_groups_error_is_lost_on_offset_fetch_v1_of_some_releases(profile: str, answer: list[int]) -> None:
    client = WireBroker(profile).connect()
    topics = ({"name": "orders", "partition_indexes": (0,)},)

    v1 = client.ask("offset_fetch", 1, group_id="g", topics=topics)
    v2 = client.ask("offset_fetch", 2, group_id="g", topics=topics)

    assert [each.error_code for topic in v1.topics for each in topic.partitions] == answer
    assert (v2.error_code, v2.topics) == (16, ())


@pytest.mark.parametrize(("profile", "answered"), [("3.4", ["a", "b"]), ("3.5", ["a", "b", "a"])])
def test_a_group_fetched_twice_is_answered_once_before_3_5(profile: str, answered: list[str]) -> None:
    groups = tuple({"group_id": group_id, "topics": None} for group_id in ("a", "b", "a"))

    response = connected(profile).ask("offset_fetch", 8, groups=groups)

    assert [each.group_id for each in response.groups] == answered


def offset_delete(client: WireClient) -> tuple[int, list[tuple[str, list[tuple[int, int]]]]]:
    deleted = client.ask(
        "offset_delete",
        0,
        group_id="g",
        topics=(
            {"name": "nope", "partitions": ({"partition_index": 0},)},
            {"name": "orders", "partitions": ({"partition_index": 0}, {"partition_index": 99})},
        ),
    )
    return deleted.error_code, [
        (topic.name, [(each.partition_index, each.error_code) for each in topic.partitions])
        for topic in deleted.topics
    ]


def test_an_offset_delete_always_asks_the_coordinator_whose_error_drops_the_topics(
    broker: WireBroker,
) -> None:
    assert offset_delete(broker.connect()) == (Errors.GROUP_ID_NOT_FOUND, [])


@pytest.mark.parametrize(("profile", "answered"), [("3.4", 1), ("3.5", 2)])
def test_a_partition_that_does_not_exist_is_answered_as_often_as_named_since_3_5(
    profile: str, answered: int
) -> None:
    client = connected(profile)
    pieces = ({"name": "orders", "partitions": (99,)}, {"name": "orders", "partitions": (99, 0)})

    reported = commit(client, 5, *pieces)

    assert sorted(reported) == [("orders", 0, 0), *[("orders", 99, 3)] * answered]


@pytest.mark.parametrize(("profile", "repeats"), [("2.5", 2), ("2.6", 1)])
def test_an_offset_delete_merges_what_was_refused(profile: str, repeats: int) -> None:
    client = connected(profile)
    commit(client, 5, {"name": "orders", "partitions": (0,)})

    assert offset_delete(client) == (
        0,
        [("nope", [(0, 3)])] + [("orders", [(99, 3), (0, 0)])] * repeats,
    )


@pytest.mark.parametrize("missing", ["protocol_type", "protocol_name"])
def test_a_sync_without_its_protocol_is_refused_since_v5(missing: str) -> None:
    client = WireBroker().connect()
    protocol: dict[str, Any] = {"protocol_type": "consumer", "protocol_name": "range"} | {missing: None}

    refused = client.ask("sync_group", 5, group_id="", **protocol)

    assert (refused.error_code, refused.assignment, refused.protocol_type) == (23, b"", None)
    assert client.ask("sync_group", 4, group_id="g").error_code == Errors.NOT_COORDINATOR


def test_a_group_deleted_twice_in_one_request_is_answered_once(broker: WireBroker) -> None:
    deleted = broker.connect().ask("delete_groups", 1, groups_names=("g", "h", "g"))

    assert sorted(each.group_id for each in deleted.results) == ["g", "h"]

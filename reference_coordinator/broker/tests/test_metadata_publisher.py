"""What the coordinator gets to know of topics, and when."""

from collections.abc import Iterator

import pytest

from reference_coordinator.broker_messages import CreatableTopic, CreateTopicsRequest
from reference_coordinator.coordinator.coordinator import GroupCoordinator
from reference_coordinator.core.effects import Effect, Respond
from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import Millis, ResponseToken
from reference_coordinator.core.metadata_image import MetadataImage
from reference_coordinator.messages import RequestContext
from reference_coordinator.tests.wire_broker import WireBroker, WireClient, connected, elected
from reference_coordinator.tests.wire_cluster import WireCluster
from reference_coordinator.tests.wire_tools import create

CONTEXT = RequestContext(api_version=7, client_id="client", client_host="/127.0.0.1")
Heard = list[tuple[GroupCoordinator, MetadataImage, frozenset[str]]]


@pytest.fixture(name="heard")
def what_coordinators_hear(monkeypatch: pytest.MonkeyPatch) -> Iterator[Heard]:
    heard: Heard = []

    def on_metadata_update(
        self: GroupCoordinator, image: MetadataImage, changed_topics: frozenset[str], *, now_ms: Millis
    ) -> tuple[Effect, ...]:
        assert now_ms >= 0
        heard.append((self, image, changed_topics))
        return ()

    monkeypatch.setattr(GroupCoordinator, "on_metadata_update", on_metadata_update)
    yield heard
    versions: dict[int, int] = {}
    for coordinator, image, _ in heard:
        assert image.version > versions.get(id(coordinator), 0), "an image's version grows"
        versions[id(coordinator)] = image.version


@pytest.fixture(name="client")
def client_of_a_broker() -> WireClient:
    return connected("4.4.0")


def partitions(image: MetadataImage) -> dict[str, int]:
    return {name: topic.num_partitions for name, topic in image.topics.items() if not name.startswith("__")}


def add_partitions(client: WireClient, name: str, count: int, *, validate_only: bool = False) -> Errors:
    topic = {"name": name, "count": count, "assignments": None}
    answer = client.ask("create_partitions", 3, topics=(topic,), timeout=1000, validate_only=validate_only)
    return Errors(answer.results[0].error_code.value)


def test_the_coordinator_begins_with_all_topics(heard: Heard) -> None:
    WireBroker("4.4.0").connect().ask("metadata", 9, topics=None)

    ((_, image, changed),) = heard
    assert partitions(image) == {"orders": 3}
    assert changed == {"orders"}


def test_who_creates_a_topic_is_answered_first(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = elected("4.4.0")
    token = ResponseToken(77)

    def on_metadata_update(*_: object, **__: object) -> tuple[Effect, ...]:
        return (Respond(token=token, response="of the coordinator"),)

    apis = broker.listener.apis
    monkeypatch.setattr(apis.coordinator, "on_metadata_update", on_metadata_update)
    monkeypatch.setattr(apis, "_finish", lambda effect: effect)
    request = CreateTopicsRequest(
        topics=(CreatableTopic(name="new", num_partitions=1, replication_factor=1),), timeout_ms=Millis(1000)
    )

    answers = apis.handle(request, CONTEXT, ResponseToken(1), now_ms=Millis(0))

    assert [each.token for each in answers] == [ResponseToken(1), token]


def test_every_broker_hears_of_a_topic(heard: Heard) -> None:
    cluster = WireCluster("4.4.0")
    clients = [cluster.client(node_id) for node_id in (1, 2, 3)]
    for client in clients:
        client.ask("metadata", 9, topics=None)
    heard.clear()

    topic = {"name": "new", "num_partitions": 1, "replication_factor": 1}
    clients[0].ask("create_topics", 7, topics=(topic,))

    assert [changed for _, _, changed in heard] == [{"new"}] * 3
    assert len({id(coordinator) for coordinator, _, _ in heard}) == 3


def test_a_broker_that_starts_anew_hears_of_all_topics(heard: Heard) -> None:
    broker = elected("4.4.0")
    create(broker.connect(), "new")
    heard.clear()

    broker.restart()

    (_, image, changed) = heard[-1]
    assert {"new", "orders"} <= changed
    assert partitions(image) == {"orders": 3, "new": 1}

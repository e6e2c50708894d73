"""Clients that name no id, and topics of which no partition is named."""

import pytest

from reference_coordinator.core.errors import Errors
from reference_coordinator.tests.kit import INITIAL_DELAY_MS, Broker
from reference_coordinator.tests.requests import join, sync
from reference_coordinator.tests.wire_broker import connected

NAMELESS = {"group_id": "g", "member_id": "", "generation_id_or_member_epoch": -1}


@pytest.mark.parametrize(
    ("profile", "error"),
    [("2.8", Errors.UNKNOWN_SERVER_ERROR), ("3.0", Errors.UNKNOWN_SERVER_ERROR), ("3.1", Errors.NONE)],
)
def test_a_null_client_id_can_neither_be_described_nor_written_before_3_1(
    profile: str, error: Errors
) -> None:
    broker = Broker(profile)
    call = broker.send(join(), version=3, client_id=None)
    broker.elapse(INITIAL_DELAY_MS)
    eve = call.join.member_id

    stored = broker.send(sync(eve, assignments={eve: b"part"}), client_id=None)

    assert stored.error is error
    assert broker.describe().members[0].client_id == (None if error is Errors.UNKNOWN_SERVER_ERROR else "")


@pytest.mark.parametrize(("version", "is_answered"), [(3, True), (4, False)])
def test_in_2_4_a_sync_v4_that_fails_is_never_answered(version: int, *, is_answered: bool) -> None:
    broker = Broker("2.4")
    call = broker.send(join(), version=3, client_id=None)
    broker.elapse(INITIAL_DELAY_MS)
    eve = call.join.member_id

    stored = broker.send(sync(eve, assignments={eve: b"part"}), version=version, client_id=None)

    assert stored.is_parked is not is_answered
    assert broker.heartbeat(eve).error is Errors.REBALANCE_IN_PROGRESS


@pytest.mark.parametrize(("profile", "names"), [("3.4", []), ("3.5", ["nope"]), ("4.4", ["nope"])])
@pytest.mark.parametrize("api", ["offset_commit", "offset_delete"])
def test_an_unknown_topic_without_partitions_is_answered_since_3_5(
    profile: str, names: list[str], api: str
) -> None:
    client = connected(profile)
    of_group = {"group_id": "g"} if api == "offset_delete" else NAMELESS
    if api == "offset_delete":
        asked = ({"name": "orders", "partitions": ({"partition_index": 0, "committed_offset": 7},)},)
        client.ask("offset_commit", 8, **NAMELESS, topics=asked)

    answer = client.ask(
        api, 8 if api == "offset_commit" else 0, **of_group, topics=({"name": "nope", "partitions": ()},)
    )

    assert [each.name for each in answer.topics] == names


@pytest.mark.parametrize(("profile", "names"), [("3.9", []), ("3.9-java", ["orders"]), ("4.4", ["orders"])])
def test_a_topic_without_partitions_is_fetched_by_java(profile: str, names: list[str]) -> None:
    client = connected(profile)

    answer = client.ask(
        "offset_fetch", 6, group_id="g", topics=({"name": "orders", "partition_indexes": ()},)
    )

    assert [each.name for each in answer.topics] == names

"""Which listed members a replay gives to requests that were never answered."""

from math import inf

import pytest

from harness.invariants.exchange import Exchange, Fields
from harness.replay.machine import SeenChoices
from harness.replay.selecting import strays_of
from harness.trace.canonical import Json


def operation(actor: str, api: str, request: Fields, answer: Fields | None) -> Exchange:
    return Exchange(
        actor=actor,
        api=api,
        api_version=1,
        request=request,
        asked_ms=0.0,
        answered_ms=inf if answer is None else 1.0,
        answer=answer,
        connection=actor,
        asked_at=0,
        groups=("g",),
    )


def joins(actor: str, member_id: str | None, *listed: str) -> Exchange:
    """Return a join, answered with this id and a list of others, or not at all."""
    members: Json = [{"member_id": each} for each in (member_id, *listed)]
    answer = None if member_id is None else {"member_id": member_id, "members": members}
    return operation(actor, "JoinGroup", {"member_id": ""}, answer)


@pytest.mark.parametrize(
    ("ana", "listed", "strays"),
    [
        ("ana-1", ("bob-2",), {"bob": ("bob-2",)}),
        ("ana-1", ("eve-2",), {}),
        ("1", ("2",), {"bob": ("2",)}),
        ("7f", ("bo",), {"bob": ("bo",)}),
    ],
    ids=["of its client", "of another client", "a number", "a part of its client's name"],
)
def test_a_leaders_list_shows_whose_request_was_not_answered(
    ana: str, listed: tuple[str, ...], strays: dict[str, tuple[str, ...]]
) -> None:
    assert strays_of([joins("bob", None), joins("ana", ana, *listed)], "g") == strays


def test_what_is_beside_an_id_decides_and_a_consumer_group_gives_it_to_its_sender() -> None:
    heartbeat = operation("bob", "ConsumerGroupHeartbeat", {"group_id": "g", "member_id": ""}, None)
    members: Json = [{"member_id": "x", "client_id": "bob"}, {"member_id": "bob-y", "client_id": "eve"}]
    groups: Json = [{"group_id": "g", "members": members}]
    described = operation("ana", "ConsumerGroupDescribe", {"group_ids": ["g"]}, {"groups": groups})

    strays = strays_of([heartbeat, described], "g")

    assert strays == {"bob": ("x",)}
    assert SeenChoices([], strays, current=heartbeat).uuid() == "x"

"""How often records were accepted, as a recording shows it."""

import json
from collections.abc import Mapping
from dataclasses import replace

from harness.clients.soak_wire import Accepted
from harness.tests.made_events import BARE
from harness.trace.events import Event, EventKind

ACKNOWLEDGE, FETCH = "ShareAcknowledge", "ShareFetch"


def event(kind: EventKind, api: str, correlation_id: int, fields: Mapping[str, object]) -> Event:
    asked = replace(BARE, api=api, api_version=1, sequence=correlation_id, correlation_id=correlation_id)
    return replace(asked, kind=kind, fields=json.dumps(fields))


def request(correlation_id: int, *batches: tuple[int, int, list[int]], api: str = ACKNOWLEDGE) -> Event:
    said = [
        {"first_offset": first, "last_offset": last, "acknowledge_types": types}
        for first, last, types in batches
    ]
    partition = {"partition_index": 0, "acknowledgement_batches": said}
    return event(EventKind.REQUEST, api, correlation_id, {"topics": [{"partitions": [partition]}]})


def answer(correlation_id: int, error: str = "NONE", *, whole: str = "NONE", api: str = ACKNOWLEDGE) -> Event:
    name = "error_code" if api == ACKNOWLEDGE else "acknowledge_error_code"
    partition = {"partition_index": 0, "error_code": "NONE", name: error}
    fields = {"error_code": whole, "responses": [{"partitions": [partition]}]}
    return event(EventKind.RESPONSE, api, correlation_id, fields)


def wrong(count: int, *events: Event) -> list[str]:
    accepted = Accepted()
    for each in events:
        accepted.take(each)
    return [*accepted.wrong({0: count})]


def test_each_record_is_accepted_once_by_either_api() -> None:
    by_commit = (request(1, (0, 1, [1])), answer(1))
    by_fetch = (request(2, (2, 3, [1, 2]), api=FETCH), answer(2, api=FETCH))
    after_release = (request(3, (3, 3, [1])), answer(3))

    assert wrong(4, *by_commit, *by_fetch, *after_release) == []


def test_a_record_that_is_accepted_twice_is_wrong() -> None:
    twice = (request(1, (0, 1, [1])), answer(1), request(2, (1, 1, [1])), answer(2))

    assert wrong(2, *twice) == ["on the wire, 1 records were accepted more than once, the first is 0#1"]


def test_what_was_released_or_refused_or_never_sent_is_not_accepted() -> None:
    released = (request(1, (0, 0, [2])), answer(1))
    refused = (request(2, (1, 1, [1])), answer(2, "INVALID_RECORD_STATE"))
    refused_whole = (request(3, (2, 2, [1])), answer(3, whole="INVALID_SHARE_SESSION_EPOCH"))

    assert wrong(4, *released, *refused, *refused_whole) == [
        "on the wire, 4 records were not accepted, the first is 0#0"
    ]


def test_what_was_sent_and_not_answered_may_have_been_accepted() -> None:
    assert wrong(1, request(1, (0, 0, [1]))) == []

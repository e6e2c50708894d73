"""Expected answers to members of share groups: acquired records, and results of acknowledgements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from harness.scenario.ask_shares import state_api, topic_id
from harness.scenario.messages import ANY, Group, PinNumber, PinText, Response, pinned
from harness.scenario.values import GroupRef, InAnyOrder, Pattern

Acquired: TypeAlias = Sequence[tuple[int, int, int]]
"""First offset, last offset, delivery count."""
Fetched: TypeAlias = (
    "Mapping[GroupRef, Mapping[int, Acquired | str]] | Mapping[Group, Mapping[int, Acquired | str]]"
    "| Mapping[GroupRef, Mapping[int, Acquired]] | Mapping[str, Mapping[int, str]]"
)
"""Topic to partition to its acquired records, or to its error."""
Shown: TypeAlias = Mapping[str, Pattern]
Results: TypeAlias = "Mapping[GroupRef, Mapping[int, str]] | Mapping[Group, Mapping[int, str]]"
"""Topic to partition to error."""


def share_fetch(
    *,
    error_code: PinText = "NONE",
    acquired: Fetched | None = None,
    acknowledged: Results | None = None,
    lock_timeout_ms: PinNumber = ANY,
) -> Response:
    """Expect an answer to ShareFetch with these partitions and no others.

    Args:
        error_code: the error of the whole response.
        acquired: topic to partition to acquired records, or to the partition's error.
        acknowledged: topic to partition to the error of its acknowledgements.
        lock_timeout_ms: how long records stay acquired.
    """
    fields = dict(pinned("", error_code=error_code, acquisition_lock_timeout_ms=lock_timeout_ms).fields)
    if acquired is not None:
        fields["responses"] = _topics(acquired, _partition)
    elif acknowledged is not None:
        fields["responses"] = _topics(acknowledged, _acknowledgement)
    return Response(api="ShareFetch", fields=fields)


def share_acknowledge(*, error_code: PinText = "NONE", results: Results | None = None) -> Response:
    """Expect an answer to ShareAcknowledge: topic to partition to error."""
    fields = dict(pinned("", error_code=error_code).fields)
    if results is not None:
        fields["responses"] = _topics(results, _result)
    return Response(api="ShareAcknowledge", fields=fields)


def share_state(verb: str, error_code: str, **fields: Pattern) -> Response:
    """Expect an answer of the share coordinator about the state of one partition."""
    partition: Pattern = {"error_code": error_code, **fields}
    return Response(api=state_api(verb), fields={"results": ({"partitions": (partition,)},)})


def _topics(topics: Fetched | Results, part: Callable[[object], Shown]) -> InAnyOrder:
    return InAnyOrder(
        tuple(
            {
                "topic_id": topic_id(topic),
                "partitions": InAnyOrder(
                    tuple({"partition_index": index, **part(said)} for index, said in partitions.items())
                ),
            }
            for topic, partitions in topics.items()
        )
    )


def _partition(said: object) -> Shown:
    if isinstance(said, str):
        return {"error_code": said, "acquired_records": ()}
    assert isinstance(said, Sequence)
    acquired: Pattern = tuple(
        {"first_offset": first, "last_offset": last, "delivery_count": count} for first, last, count in said
    )
    return {"error_code": "NONE", "acquired_records": acquired}


def _acknowledgement(said: object) -> Shown:
    assert isinstance(said, str)
    return {"acknowledge_error_code": said}


def _result(said: object) -> Shown:
    assert isinstance(said, str)
    return {"error_code": said}

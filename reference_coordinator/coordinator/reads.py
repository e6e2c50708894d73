"""Reads of committed groups are answered with all values that Kafka may answer."""

from collections.abc import Callable, Iterable
from itertools import chain, islice
from typing import Final, TypeAlias

from reference_coordinator.coordinator.admin import described_in_any_order
from reference_coordinator.core.effects import Permitted
from reference_coordinator.core.ids import ResponseToken
from reference_coordinator.core.parts import is_in_parts
from reference_coordinator.groups.classic.answers import MOST_ORDERS, ORDER_REASON
from reference_coordinator.messages import (
    ConsumerGroupDescribeResponse,
    DescribeGroupsResponse,
    ListGroupsResponse,
    OffsetFetchResponse,
    StreamsGroupDescribeResponse,
)
from reference_coordinator.messages.share_groups import ShareGroupDescribeResponse
from reference_coordinator.offsets.shard import CoordinatorShard

_UNWRITTEN_REASON: Final = (
    "a refused request changed a group and wrote nothing: it shows once another group of the partition writes"
)
ReadResponse: TypeAlias = (
    DescribeGroupsResponse
    | ListGroupsResponse
    | ConsumerGroupDescribeResponse
    | ShareGroupDescribeResponse
    | StreamsGroupDescribeResponse
    | OffsetFetchResponse
)


def answer_read(shard: CoordinatorShard, token: ResponseToken, read: Callable[[], ReadResponse]) -> None:
    """Answer a read at once, despite writes in progress, with the other permitted values of its groups.

    Decided in: CoordinatorRuntime#scheduleReadOperation (4.3.1).
    """
    if is_in_parts():
        # Nobody compares such an answer, and the state changes between its parts.
        shard.respond(token, read())
        return
    answers = shard.answers_of(read)
    reason = _UNWRITTEN_REASON if len(answers) > 1 else ORDER_REASON
    most = MOST_ORDERS // len(answers)
    values = tuple(chain.from_iterable(islice(_values(shard, each), most) for each in answers))
    permitted = (Permitted(field="groups", any_of=values, reason=reason),) if len(values) > 1 else ()
    shard.respond(token, answers[0], permitted)


def _values(shard: CoordinatorShard, response: ReadResponse) -> Iterable[object]:
    if isinstance(response, DescribeGroupsResponse):
        return described_in_any_order(shard, response.groups)
    return (response.groups,)

"""The operations that concern a group, that a coordinator can have received, and what may be missing."""

from bisect import bisect
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from math import inf
from typing import Final, NamedTuple

from harness.invariants.exchange import (
    DESCRIPTIONS,
    MEMBERSHIP,
    NO_ERROR,
    OF_TRANSACTIONS,
    Exchange,
    Fields,
    instance_of,
    text,
)
from harness.replay.history import members_of
from harness.replay.topics import TopicChange

_DESCRIBED: Final = DESCRIPTIONS | {"DescribeGroups"}
UNANSWERED_MS: Final = 5_000.0
"""How long before a coordinator ended a request may have come that stayed unanswered for that reason."""


def belongs_before(operation: Exchange, end_ms: float) -> bool:
    """Return whether a coordinator that ended at that time can have received, or even answered, a request.

    It can have learned of a change of a topic that had begun.
    """
    if operation.answer is None or isinstance(operation, TopicChange):
        return operation.asked_ms < end_ms
    return operation.answered_ms < end_ms


def is_under_way(operation: Exchange, at_ms: float) -> bool:
    """Return whether a request was in flight then, or was sent shortly before and never answered."""
    if operation.answer is None:
        return at_ms - UNANSWERED_MS <= operation.asked_ms <= at_ms
    return operation.asked_ms <= at_ms <= operation.answered_ms


def transactional_ids(operations: Iterable[Exchange], group_id: str) -> frozenset[str]:
    """Return the transactional ids of the producers that commit to a group."""
    of_group = (each for each in operations if group_id in each.groups)
    return frozenset(each.transactional_id for each in of_group if each.transactional_id)


def about(operations: Sequence[Exchange], group_id: str, transactional: Collection[str]) -> list[Exchange]:
    """Return the operations that a group's state depends on, and those that show it."""
    return [
        each
        for each in operations
        if (group_id in each.groups and each.api not in OF_TRANSACTIONS)
        or each.api == "ListGroups"
        or (each.api in OF_TRANSACTIONS and each.transactional_id in transactional)
    ]


def heard_of(operations: Sequence[Exchange]) -> frozenset[str]:
    """Return the member ids in requests and in answers to joins."""
    spoken = {text(each.request, "member_id") for each in operations}
    return frozenset(spoken) | _answered(operations)


def _answered(operations: Sequence[Exchange]) -> frozenset[str]:
    learning = (each for each in operations if "member_id" in each.descriptor.learns)
    return frozenset(text(each.answer, "member_id") for each in learning if each.answer is not None)


def strays_of(operations: Sequence[Exchange], group_id: str) -> dict[str, tuple[str, ...]]:
    """Return member ids that answers list and that no request was answered with, by instance or client id."""
    answered = _answered(operations)
    learning = [each for each in operations if "member_id" in each.descriptor.learns]
    owners = {_name_of(each) for each in learning if each.answer is None}
    given = [each for each in learning if text(each.answer or {}, "member_id")]
    begin_so = not given or any(_begins_with(each.answer or {}, _name_of(each)) for each in given)
    found: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for member in members_of(operations, group_id, _DESCRIBED):
        owner = _owner_of(member, owners, begin_so=begin_so)
        if owner is not None and text(member, "member_id") not in answered:
            found[owner][text(member, "member_id")] = None
    return {owner: tuple(each) for owner, each in found.items()}


def _name_of(join: Exchange) -> str:
    """Return the instance id or else the client id of a member."""
    return instance_of(join.request) or join.actor or ""


def _begins_with(member: Fields, name: str) -> bool:
    return text(member, "member_id").startswith(f"{name}-")


def _owner_of(member: Fields, owners: Collection[str], *, begin_so: bool) -> str | None:
    """Return which of these instance or client ids a listed member has; None if it may have another.

    A leader's list contains no client ids. There, the beginning of an id tells if those of this coordinator
    begin with one; else it must be the only one that there is.
    """
    said = instance_of(member) or text(member, "client_id")
    if said:
        return said if said in owners else None
    if begin_so:
        return max((each for each in owners if _begins_with(member, each)), key=len, default=None)
    return next(iter(owners)) if len(owners) == 1 else None


def breaks_of(
    operations: Sequence[Exchange], closed: Sequence[tuple[float, str]], refused: Sequence[tuple[float, str]]
) -> list[float]:
    """Return when the coordinator may have ended.

    An answer says so, or the broker closes one of the group's connections. If no connection of the group goes
    on meanwhile, the broker may also refuse others; of the refusals between two answers the first counts.
    """
    # When the first request came on each connection, and when the last one was answered.
    spans: dict[str, tuple[float, float]] = {}
    for each in operations:
        since_ms, until_ms = spans.get(each.connection, (each.asked_ms, -inf))
        answered_ms = until_ms if each.answer is None else max(until_ms, each.answered_ms)
        spans[each.connection] = (min(since_ms, each.asked_ms), answered_ms)
    said = [each.answered_ms for each in operations if each.tells_of_no_coordinator]
    ends = sorted((*said, *(at_ms for at_ms, connection in closed if connection in spans)))
    answered = sorted(each.answered_ms for each in operations if each.answer is not None)
    seen = {bisect(answered, at_ms) for at_ms in ends}
    for at_ms, refusal in sorted(refused):
        near = [span for connection, span in spans.items() if _node_of(connection) == _node_of(refusal)]
        is_served = any(since_ms < at_ms < until_ms for since_ms, until_ms in near)
        place = bisect(answered, at_ms)
        if near and not is_served and place not in seen:
            seen.add(place)
            ends.append(at_ms)
    return sorted(ends)


def back_ms(operations: Sequence[Exchange], closed: Sequence[tuple[float, str]], gone_ms: float) -> float:
    """Return when the next coordinator may have loaded at the earliest, after one ended.

    A broker that refuses connections has not started again. Members' sessions begin when it has loaded them.
    """
    later = (each for each in operations if each.asked_ms > gone_ms and each.answer is not None)
    first = min(later, key=lambda each: each.asked_ms, default=None)
    if first is None:
        return gone_ms
    node = _node_of(first.connection)
    refused = (at_ms for at_ms, connection in closed if _node_of(connection) == node)
    return max((at_ms for at_ms in refused if gone_ms < at_ms < first.asked_ms), default=gone_ms)


def _node_of(connection: str) -> str:
    """Return the broker that a connection leads to; its name begins with the client's port."""
    return connection.partition(" ")[2]


def fed_of(operations: Sequence[Exchange]) -> list[Exchange]:
    """Leave out refused requests of transactions, which change nothing, except for the one that aborts."""
    kept: list[Exchange] = []
    aborting: set[str] = set()
    for operation in operations:
        if operation.api not in OF_TRANSACTIONS or operation.answer is None:
            kept.append(operation)
        elif operation.error == NO_ERROR:
            aborting.discard(operation.transactional_id)
            kept.append(operation)
        elif _aborts(operation) and operation.transactional_id not in aborting:
            aborting.add(operation.transactional_id)
            kept.append(operation)
    return kept


def _aborts(operation: Exchange) -> bool:
    """Return whether a producer has to retry, since its predecessor's transaction is being aborted."""
    return operation.api == "InitProducerId" and operation.error == "CONCURRENT_TRANSACTIONS"


def until_of(operations: Sequence[Exchange]) -> list[float]:
    """Return by when each must take effect: when it was answered, or later for ends of transactions.

    Source: TransactionMarkerChannelManager#addTxnMarkersToSend (4.3.1).
    """
    until = [each.answered_ms for each in operations]
    next_ms: dict[str, float] = {}
    for place in reversed(range(len(operations))):
        operation = operations[place]
        if operation.api == "EndTxn" or _aborts(operation):
            until[place] = next_ms.get(operation.transactional_id, inf)
        if operation.transactional_id and operation.error == NO_ERROR and operation.answer is not None:
            next_ms[operation.transactional_id] = operation.answered_ms
    return until


UNSEEN: Final = "while requests or answers may be missing in the recording"
"""Why answers of such a time are not compared."""


class Gap(NamedTuple):
    """A time in which a recording may lack requests or answers."""

    connection: str
    """On which connection."""
    since_ms: float
    until_ms: float
    is_before: bool = False
    """Whether the connection began unrecorded. Members send often; others may have been silent."""


def gaps_of(operations: Sequence[Exchange], gaps: Iterable[Gap]) -> list[Gap]:
    """Return the gaps that concern the group of some operations.

    A gap lasts until the requests in flight at its end are answered: before that, the group may be changing.
    """
    all_of_them = {each.connection for each in operations}
    of_members = {each.connection for each in operations if each.api in MEMBERSHIP}
    found: list[Gap] = []
    for gap in gaps:
        if gap.connection in (of_members if gap.is_before else all_of_them):
            answered = (
                each.answered_ms
                for each in operations
                if each.answer is not None and each.asked_ms <= gap.until_ms < each.answered_ms
            )
            found.append(gap._replace(until_ms=max((gap.until_ms, *answered))))
    return found


def with_begun(
    operations: Iterable[Exchange], under_way: Iterable[Exchange], begin_ms: float
) -> list[Exchange]:
    """Add requests in flight when a gap began, without their late answers: they may have taken effect."""
    begun = (each for each in under_way if each.answer is not None and begin_ms < each.asked_ms)
    unanswered = (replace(each, answer=None, answered_at=-1, answered_ms=inf) for each in begun)
    return sorted((*operations, *unanswered), key=lambda each: each.index)


WHY: Final = "while the coordinator may have been loading"
"""The reason why such an answer is not compared if it differs."""
_LOADING_MS: Final = 60_000.0
"""How long an unobserved load may take; any other request about the group shows its end before that."""


def maybe_while_loading(
    operations: Sequence[Exchange], group_id: str, since_ms: float | None
) -> tuple[frozenset[int], float | None]:
    """Return which heartbeats answered NONE may have come during a load, and since when it may still go on.

    The operations are of one coordinator, in the order in which they were sent. The time is that at which it
    took over; None if it has loaded.

    Source: GroupCoordinator#doHeartbeat (3.9.2), GroupCoordinatorService#heartbeat (4.3.1).
    """
    if since_ms is None:
        return frozenset(), None
    seeing = [
        each.answered_ms
        for each in operations
        if group_id in each.groups and each.answer is not None and not _is_blind(each)
    ]
    end_ms = since_ms + _LOADING_MS
    until_ms = min((*seeing, end_ms))
    blind = (
        place
        for place, each in enumerate(operations)
        if _is_blind(each) and since_ms <= each.answered_ms and each.asked_ms < until_ms
    )
    is_over = bool(seeing) or any(each.asked_ms > end_ms for each in operations)
    return frozenset(blind), None if is_over else since_ms


def _is_blind(operation: Exchange) -> bool:
    return operation.api == "Heartbeat" and operation.answer is not None and operation.error == NO_ERROR

"""Replaying a conversation: group by group, from when a group is known until its coordinator is gone."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import inf
from typing import Final

from harness.invariants.exchange import NO_ERROR, items, number, text
from harness.orders.course import Course
from harness.replay.finding import Replayed
from harness.replay.gaps import UNSEEN, Gap, gaps_of, with_begun
from harness.replay.history import RecordedConversation, members_of, read_conversation
from harness.replay.loading import WHY as LOADING
from harness.replay.loading import maybe_while_loading
from harness.replay.machine import ReplayMachine
from harness.replay.operation import MEMBERSHIP, OF_TRANSACTIONS, RecordedOperation, TopicChange
from harness.replay.seeds import Seed, carried, first_offsets, first_seed, has_earlier_members
from harness.replay.unexplained import Unexplained, unexplained
from harness.replay.windows import Windows
from harness.results.replay_results import ReplayFinding
from harness.targets.reference.profile import ReferenceProfile
from harness.trace.canonical import member_id_pattern
from harness.trace.events import Event

TOLERANCE_MS: Final = 300.0
"""How far a deadline may be off, on top of the longest that the broker took for a simple answer."""
_UNANSWERED_MS: Final = 5_000.0
"""How long before its coordinator went a request may have come that nobody answered therefore."""
_FINDINGS_MAX: Final = 10
"""Of one group: what comes after so many is one difference's consequences."""
_LATE_MS: Final = 10_000.0
"""By how much more than the tolerance an answer may come later than the reference's."""
_JOINS: Final = 0
"""The member epoch of who joins. Source: ConsumerGroupHeartbeatRequest (4.3.1)."""


def replay(
    events: Iterable[Event],
    spec: ReferenceProfile,
    *,
    conversation_id: str,
    is_whole: bool,
    gaps: Sequence[Gap] = (),
    only: str | None = None,
) -> Replayed:
    """Feed a recorded conversation to the reference and compare the coordinator's answers.

    Args:
        events: of one conversation, in their order.
        spec: the reference to compare it with.
        conversation_id: its name, for the findings.
        is_whole: whether the recording has all that was ever said about its groups; otherwise a group is
            compared only from when it is known.
        gaps: when requests or answers may be missing in the recording.
        only: the one group to compare; None for all.
    """
    conversation = read_conversation(events)
    account = _Account(conversation_id=conversation_id, not_compared=Counter(conversation.unread))
    groups = {group for each in conversation.operations for group in each.groups if only in (None, group)}
    for group_id in sorted(groups):
        group = _GroupReplay(conversation, spec, group_id, account, is_whole=is_whole, gaps=gaps)
        if (why := conversation.other_groups.get(group_id)) is None:
            group.run()
        else:
            group.leave_out(why)
    return Replayed(
        conversation=conversation_id,
        compared=account.compared,
        not_compared=dict(account.not_compared),
        findings=tuple(sorted(account.findings, key=lambda each: each.position)),
    )


@dataclass(slots=True, kw_only=True)
class _Account:
    """What was compared, what was not, and what was found."""

    conversation_id: str
    compared: int = 0
    not_compared: Counter[str]
    findings: list[ReplayFinding] = field(default_factory=list)


class _GroupReplay:
    """One group of a conversation."""

    def __init__(
        self,
        conversation: RecordedConversation,
        spec: ReferenceProfile,
        group_id: str,
        account: _Account,
        *,
        is_whole: bool,
        gaps: Sequence[Gap],
    ) -> None:
        self._conversation = conversation
        self._spec = spec
        self._group_id = group_id
        self._groups = frozenset((group_id,))
        self._account = account
        self._is_whole = is_whole
        self._operations = _about(conversation.operations, group_id)
        self._heartbeats = [each for each in self._operations if each.api == "ConsumerGroupHeartbeat"]
        if self._heartbeats:
            changes = [each for each in conversation.operations if isinstance(each, TopicChange)]
            self._operations = sorted([*self._operations, *changes], key=lambda each: each.index)
        self._strays = _strays(self._operations, group_id)
        self._gaps = gaps_of(self._operations, gaps)

    def leave_out(self, why: str) -> None:
        """Compare nothing that is about it."""
        self._leave_out([each for each in self._operations if self._group_id in each.groups], why)

    def run(self) -> None:
        """Replay it."""
        reported = self._tellable()
        if (why := self._beyond_replay()) is not None:
            self._leave_out(reported, why)
            return
        breaks = _breaks(self._operations, self._conversation.breaks)
        seed = Seed(at_ms=-inf) if self._is_whole else None
        unseen = {at_ms for gap in self._gaps for at_ms in (gap.since_ms, gap.until_ms)}
        breaks = [each for each in breaks if each not in unseen]
        for begin_ms, end_ms in pairwise((-inf, *sorted((*breaks, *unseen)), inf)):
            era = [each for each in reported if begin_ms < each.asked_ms and _belongs_before(each, end_ms)]
            under_way = [each for each in reported if _is_under_way(each, end_ms)]
            if any(gap.has(begin_ms, end_ms) for gap in self._gaps):
                self._leave_out(era, UNSEEN)
                seed = None
                continue
            if seed is None and begin_ms == -inf:
                seed = self._seed_at_first(era)
            if end_ms in unseen:
                self._replay_era(with_begun(era, under_way, begin_ms), seed)
                seed = None
            else:
                seed = self._carried(self._replay_era(era, seed), under_way, end_ms)
        lost = [each for each in reported if any(_is_under_way(each, at_ms) for at_ms in breaks)]
        self._leave_out(lost, "while the coordinator went or was gone")
        of_gaps = [each for each in reported if any(_is_under_way(each, at_ms) for at_ms in unseen)]
        self._leave_out([each for each in of_gaps if each not in lost], UNSEEN)

    def _carried(
        self, seed: Seed | None, under_way: Sequence[RecordedOperation], end_ms: float
    ) -> Seed | None:
        """Return what the coordinator after the one that went finds in the log; None where nobody knows."""
        if seed is None or end_ms == inf or any(each.transactional_id for each in self._operations):
            return None
        return carried(seed, under_way, at_ms=end_ms, names=self._conversation.topic_names)

    def _beyond_replay(self) -> str | None:
        """Return why nothing can be compared of the group; None if it can."""
        if not self._is_whole and (external := self._unrecorded_member()):
            return f"of a group with a member that was not recorded: {external}"
        if not self._spec.has_consumer_groups and any(each.error == NO_ERROR for each in self._heartbeats):
            return "of consumer groups, which the reference does not have in that release"
        known = self._conversation.seen_topic_ids
        unknown = (each for each in _assigned_topics(self._heartbeats) if each not in known)
        if (topic_id := next(unknown, None)) is not None:
            return f"of a consumer group with a topic that no Metadata answer named: {topic_id}"
        return None

    def _unrecorded_member(self) -> str | None:
        """Return a member that a leader was told of and nobody was seen to be, not even unanswered."""
        answered = {
            text(each.answer, "member_id")
            for each in self._operations
            if "member_id" in each.descriptor.learns and each.answer is not None
        }
        spoken = {text(each.request, "member_id") for each in self._operations}
        known = answered | spoken | {stray for strays in self._strays.values() for stray in strays}
        return next(
            (each for each in members_of(self._operations, self._group_id) if each not in known), None
        )

    def _tellable(self) -> list[RecordedOperation]:
        machine = self._machine(Seed(at_ms=-inf))
        end_ms = self._conversation.topics_deleted_ms if self._heartbeats else inf
        reported: list[RecordedOperation] = []
        for operation in self._operations:
            refusal = None if isinstance(operation, TopicChange) else machine.refusal(operation)
            if refusal is None and operation.asked_ms >= end_ms:
                refusal = "of a consumer group, after somebody deleted topics"
            if refusal is None:
                reported.append(operation)
            else:
                self._leave_out([operation], refusal)
        return reported

    def _seed_at_first(self, era: Sequence[RecordedOperation]) -> Seed | None:
        """Return how the group began, if that can be told.

        One whose first generation is the first of all was not there before, and one that nobody joins has no
        members. Offsets may have been there all the same.
        """
        joined = (each for each in era if each.api == "JoinGroup" or _joins_consumers(each))
        first = next((each for each in joined if each.answer is not None and each.error == NO_ERROR), None)
        if has_earlier_members(era):
            return None
        if not any(each.api in MEMBERSHIP for each in era) or (first is not None and self._is_first(first)):
            return Seed(at_ms=-inf, unknown=None)
        return None

    def _is_first(self, joined: RecordedOperation) -> bool:
        """Whether an answer is one that only the first member gets of a group that was not there."""
        answer = joined.answer or {}
        if joined.api == "JoinGroup":
            return answer.get("generation_id") == 1
        return answer.get("member_epoch") == self._spec.first_member_epoch

    def _replay_era(self, era: Sequence[RecordedOperation], known: Seed | None) -> Seed | None:
        """Replay what one coordinator was told; return what it left behind, None where that is not known."""
        seed = known or first_seed([each for each in era if self._group_id in each.groups])
        if seed is None:
            self._leave_out(era, "before the group was known")
            return None
        after = [each for each in era if each.asked_ms >= seed.at_ms]
        self._leave_out([each for each in era if each.asked_ms < seed.at_ms], "before the group was known")
        there = {(each.topic, each.partition) for each in seed.offsets}
        more = tuple(
            each
            for each in first_offsets(after, self._group_id, self._conversation.topic_names)
            if (each.topic, each.partition) not in there
            and (seed.unknown is None or (each.topic, each.partition) in seed.unknown)
        )
        seed = replace(seed, offsets=(*seed.offsets, *more))
        fed = _fed(after)
        is_new = known is not None and known.at_ms != -inf
        unseen = maybe_while_loading(fed, self._group_id, since_ms=seed.at_ms) if is_new else frozenset()
        return self._replay_from(seed, fed, unseen)

    def _replay_from(
        self, seed: Seed, fed: Sequence[RecordedOperation], maybe_unseen: frozenset[int]
    ) -> Seed:
        tolerance_ms = TOLERANCE_MS + self._conversation.slowest_ms
        windows = Windows(operations=fed, until_ms=_until(fed), tolerance_ms=tolerance_ms)
        course = Course(
            operations=fed,
            groups=self._groups,
            begin=lambda: self._machine(seed),
            next_moves=windows.next_moves,
            any_answer=frozenset(place for place, each in enumerate(fed) if isinstance(each, TopicChange)),
            latest_ms=_LATE_MS + tolerance_ms,
        )
        every = unexplained(course)
        found = [each for each in every if each.place not in maybe_unseen]
        self._leave_out([fed[each.place] for each in every if each.place in maybe_unseen], LOADING)
        self._account.compared += sum(each.is_compared for each in fed) - len(every) + len(found)
        self._account.findings += [self._finding(fed[each.place], each) for each in found[:_FINDINGS_MAX]]
        assert isinstance(course.machine, ReplayMachine), "the course began with one"
        return replace(course.machine.harvest(self._group_id), unknown=seed.unknown)

    def _machine(self, seed: Seed) -> ReplayMachine:
        topics = self._conversation.topics_at(seed.at_ms) if self._heartbeats else self._conversation.topics
        machine = ReplayMachine(self._spec, self._conversation, self._groups, topics, self._strays)
        if seed.at_ms != -inf or seed.offsets:
            machine.plant(seed, self._group_id)
        return machine

    def _leave_out(self, operations: Iterable[RecordedOperation], why: str) -> None:
        count = sum(each.is_compared for each in operations)
        if count:
            self._account.not_compared[why] += count

    def _finding(self, operation: RecordedOperation, found: Unexplained) -> ReplayFinding:
        where = f"{found.unlike.field}: " if found.unlike.field else ""
        given_up = " (not all orders were tried)" if found.is_undecided else ""
        return ReplayFinding(
            conversation=self._account.conversation_id,
            position=operation.asked_at if operation.answered_at is None else operation.answered_at,
            at_ms=operation.answered_ms,
            api=operation.api,
            api_version=operation.api_version,
            actor=operation.actor,
            group=self._group_id,
            field=found.unlike.field,
            expected=found.unlike.expected,
            actual=found.unlike.actual,
            state=found.state,
            says=f"{operation.api} v{operation.api_version} to {operation.actor}: {where}"
            f"{found.unlike.actual}, where the reference says {found.unlike.expected}; "
            f"before it, {found.state}{given_up}",
        )


def _joins_consumers(operation: RecordedOperation) -> bool:
    """Whether somebody joins a consumer group."""
    is_heartbeat = operation.api == "ConsumerGroupHeartbeat"
    return is_heartbeat and number(operation.request, "member_epoch") == _JOINS


def _assigned_topics(heartbeats: Iterable[RecordedOperation]) -> Iterator[str]:
    """Yield the ids of the topics that members were assigned partitions of."""
    for heartbeat in heartbeats:
        assignment = (heartbeat.answer or {}).get("assignment")
        if isinstance(assignment, Mapping):
            yield from (text(each, "topic_id") for each in items(assignment, "topic_partitions"))


def _belongs_before(operation: RecordedOperation, end_ms: float) -> bool:
    """Whether a coordinator that went at that time can have answered, or left unanswered what came to it."""
    if operation.answer is None:
        return operation.asked_ms < end_ms
    return operation.answered_ms < end_ms


def _is_under_way(operation: RecordedOperation, at_ms: float) -> bool:
    """Whether nobody can tell if a request took effect before that time; of unanswered ones, the last."""
    if operation.answer is None:
        return at_ms - _UNANSWERED_MS <= operation.asked_ms <= at_ms
    return operation.asked_ms <= at_ms <= operation.answered_ms


def _about(operations: Sequence[RecordedOperation], group_id: str) -> list[RecordedOperation]:
    """Return what a group's state hangs on, and what tells of it."""
    transactional = {
        each.transactional_id for each in operations if group_id in each.groups and each.transactional_id
    }
    return [
        each
        for each in operations
        if (group_id in each.groups and each.api not in OF_TRANSACTIONS)
        or each.api == "ListGroups"
        or (each.api in OF_TRANSACTIONS and each.transactional_id in transactional)
    ]


def _strays(operations: Sequence[RecordedOperation], group_id: str) -> dict[str, tuple[str, ...]]:
    """Return ids that leaders were told of and nobody was answered with, by what they begin with."""
    answered = {
        text(each.answer, "member_id")
        for each in operations
        if "member_id" in each.descriptor.learns and each.answer is not None
    }
    unanswered = [
        each for each in operations if "member_id" in each.descriptor.learns and each.answer is None
    ]
    prefixes = {text(each.request, "group_instance_id") or each.actor or "" for each in unanswered}
    found: defaultdict[str, tuple[str, ...]] = defaultdict(tuple)
    for member_id in dict.fromkeys(members_of(operations, group_id)):
        prefix = member_id_pattern(member_id).removesuffix("-*")
        if member_id not in answered and prefix in prefixes:
            found[prefix] = (*found[prefix], member_id)
    return dict(found)


def _breaks(operations: Sequence[RecordedOperation], closed: Sequence[tuple[float, str]]) -> list[float]:
    """Return when the coordinator may have gone: it said so, or closed a connection that the group used."""
    connections = {each.connection for each in operations}
    said = [each.answered_ms for each in operations if each.tells_of_no_coordinator]
    return sorted((*said, *(at_ms for at_ms, connection in closed if connection in connections)))


def _fed(operations: Sequence[RecordedOperation]) -> list[RecordedOperation]:
    """Leave out what changed nothing about transactions: refusals, but for the one that aborts."""
    kept: list[RecordedOperation] = []
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


def _aborts(operation: RecordedOperation) -> bool:
    """Whether a producer was told to come again, since its predecessor's transaction is being aborted."""
    return operation.api == "InitProducerId" and operation.error == "CONCURRENT_TRANSACTIONS"


def _until(operations: Sequence[RecordedOperation]) -> list[float]:
    """Return when each must have been answered; ends of transactions may take effect after their answer.

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

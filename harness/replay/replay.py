"""Replaying a conversation: group by group, from when a group is known until its coordinator is gone."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import inf
from typing import Final

from harness.apis.descriptor import Subject
from harness.invariants.exchange import text
from harness.replay.course import Course
from harness.replay.finding import Replayed
from harness.replay.history import (
    NO_ERROR,
    OF_TRANSACTIONS,
    Operation,
    RecordedConversation,
    members_of,
    read_conversation,
)
from harness.replay.machine import ReplayMachine
from harness.replay.search import Unexplained, unexplained
from harness.replay.seeds import Seed, carried, first_offsets, first_seed
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


def replay(
    events: Iterable[Event], spec: ReferenceProfile, *, conversation_id: str, is_whole: bool
) -> Replayed:
    """Feed a recorded conversation to the reference and compare the coordinator's answers.

    Args:
        events: of one conversation, in their order.
        spec: the reference to compare it with.
        conversation_id: its name, for the findings.
        is_whole: whether the recording has all that was ever said about its groups; otherwise a group is
            compared only from when it is known.
    """
    conversation = read_conversation(events)
    account = _Account(conversation_id=conversation_id, not_compared=Counter(conversation.unread))
    for group_id in sorted({group for each in conversation.operations for group in each.groups}):
        group = _GroupReplay(conversation, spec, group_id, account, is_whole=is_whole)
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
    ) -> None:
        self._conversation = conversation
        self._spec = spec
        self._group_id = group_id
        self._groups = frozenset((group_id,))
        self._account = account
        self._is_whole = is_whole
        self._operations = _about(conversation.operations, group_id)
        self._strays = _strays(self._operations)

    def leave_out(self, why: str) -> None:
        """Compare nothing that is about it."""
        self._leave_out([each for each in self._operations if self._group_id in each.groups], why)

    def run(self) -> None:
        """Replay it."""
        if not self._is_whole and (external := self._unrecorded_member()):
            self._leave_out(self._operations, f"of a group with a member that was not recorded: {external}")
            return
        reported = self._tellable()
        breaks = _breaks(self._operations, self._conversation.breaks)
        seed = Seed(at_ms=-inf) if self._is_whole else None
        for begin_ms, end_ms in pairwise((-inf, *breaks, inf)):
            era = [each for each in reported if begin_ms < each.asked_ms and _belongs_before(each, end_ms)]
            under_way = [each for each in reported if _is_under_way(each, end_ms)]
            if seed is None and begin_ms == -inf:
                seed = self._seed_at_first(era)
            seed = self._replay_era(era, seed)
            if seed is not None and end_ms != inf:
                seed = carried(seed, under_way, at_ms=end_ms, names=self._conversation.topic_names)
                if any(each.transactional_id for each in self._operations):
                    seed = None
        lost = [each for each in reported if any(_is_under_way(each, at_ms) for at_ms in breaks)]
        self._leave_out(lost, "while the coordinator went or was gone")

    def _unrecorded_member(self) -> str | None:
        """Return a member that a leader was told of and nobody was seen to be, not even unanswered."""
        answered = {
            text(each.answer, "member_id")
            for each in self._operations
            if "member_id" in each.descriptor.learns and each.answer is not None
        }
        spoken = {text(each.request, "member_id") for each in self._operations}
        known = answered | spoken | {stray for strays in self._strays.values() for stray in strays}
        return next((each for each in members_of(self._operations) if each not in known), None)

    def _tellable(self) -> list[Operation]:
        machine = self._machine(Seed(at_ms=-inf))
        reported: list[Operation] = []
        for operation in self._operations:
            refusal = machine.refusal(operation)
            if refusal is None:
                reported.append(operation)
            else:
                self._leave_out([operation], refusal)
        return reported

    def _seed_at_first(self, era: Sequence[Operation]) -> Seed | None:
        """Return how the group began, if that can be told.

        One whose first generation is the first of all was not there before, and one that nobody joins has no
        members. Offsets may have been there all the same.
        """
        joined = [each for each in era if each.api == "JoinGroup"]
        first = next((each for each in joined if each.answer is not None and each.error == NO_ERROR), None)
        is_new = first is not None and (first.answer or {}).get("generation_id") == 1
        if is_new or not any(each.descriptor.subject is Subject.MEMBERSHIP for each in era):
            return Seed(at_ms=-inf, unknown=None)
        return None

    def _replay_era(self, era: Sequence[Operation], known: Seed | None) -> Seed | None:
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
        return self._replay_from(seed, _fed(after))

    def _replay_from(self, seed: Seed, fed: Sequence[Operation]) -> Seed:
        course = Course(
            operations=fed,
            until_ms=_until(fed),
            groups=self._groups,
            begin=lambda: self._machine(seed),
            tolerance_ms=TOLERANCE_MS + self._conversation.slowest_ms,
        )
        found = unexplained(course)
        self._account.compared += sum(each.is_compared for each in fed)
        self._account.findings += [self._finding(fed[each.place], each) for each in found[:_FINDINGS_MAX]]
        return replace(course.machine.harvest(self._group_id), unknown=seed.unknown)

    def _machine(self, seed: Seed) -> ReplayMachine:
        machine = ReplayMachine(self._spec, self._conversation, self._groups, self._strays)
        if seed.at_ms != -inf or seed.offsets:
            machine.plant(seed, self._group_id)
        return machine

    def _leave_out(self, operations: Iterable[Operation], why: str) -> None:
        count = sum(each.is_compared for each in operations)
        if count:
            self._account.not_compared[why] += count

    def _finding(self, operation: Operation, found: Unexplained) -> ReplayFinding:
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


def _belongs_before(operation: Operation, end_ms: float) -> bool:
    """Whether a coordinator that went at that time can have answered, or left unanswered what came to it."""
    if operation.answer is None:
        return operation.asked_ms < end_ms
    return operation.answered_ms < end_ms


def _is_under_way(operation: Operation, at_ms: float) -> bool:
    """Whether nobody can tell if a request took effect before that time; of unanswered ones, the last."""
    if operation.answer is None:
        return at_ms - _UNANSWERED_MS <= operation.asked_ms <= at_ms
    return operation.asked_ms <= at_ms <= operation.answered_ms


def _about(operations: Sequence[Operation], group_id: str) -> list[Operation]:
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


def _strays(operations: Sequence[Operation]) -> dict[str, tuple[str, ...]]:
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
    for member_id in dict.fromkeys(members_of(operations)):
        prefix = member_id_pattern(member_id).removesuffix("-*")
        if member_id not in answered and prefix in prefixes:
            found[prefix] = (*found[prefix], member_id)
    return dict(found)


def _breaks(operations: Sequence[Operation], closed: Sequence[tuple[float, str]]) -> list[float]:
    """Return when the coordinator may have gone: it said so, or closed a connection that the group used."""
    connections = {each.connection for each in operations}
    said = [each.answered_ms for each in operations if each.tells_of_no_coordinator]
    return sorted((*said, *(at_ms for at_ms, connection in closed if connection in connections)))


def _fed(operations: Sequence[Operation]) -> list[Operation]:
    """Leave out what changed nothing about transactions: refusals, but for the one that aborts."""
    kept: list[Operation] = []
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


def _aborts(operation: Operation) -> bool:
    """Whether a producer was told to come again, since its predecessor's transaction is being aborted."""
    return operation.api == "InitProducerId" and operation.error == "CONCURRENT_TRANSACTIONS"


def _until(operations: Sequence[Operation]) -> list[float]:
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

"""Replay of groups, part by part, from when their state is known until their coordinator ends.

A part ends where the group is quiet. The next one continues with the reference as it is then. Of a recording
of events, each group is one part.
"""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import inf
from pathlib import Path
from typing import Final, TypeAlias

from harness.apis.descriptor import Access
from harness.invariants.exchange import HEARTBEATS, MEMBERSHIP, NO_ERROR, Exchange, number, text
from harness.replay.compare import ReferenceAnswer
from harness.replay.history import RecordedConversation, members_of, read_conversation
from harness.replay.machine import RacedMachine, ReplayMachine, refusal
from harness.replay.modern import ModernGroup, is_first, joins
from harness.replay.modern import has_earlier_members as has_earlier_modern_members
from harness.replay.search import Course, Skip, finding_of, unexplained
from harness.replay.seeds import (
    Seed,
    SeedOffset,
    TopicPartition,
    carried,
    first_offsets,
    first_seed,
    has_earlier_members,
    named_partitions,
)
from harness.replay.selecting import (
    UNSEEN,
    Gap,
    about,
    back_ms,
    belongs_before,
    breaks_of,
    fed_of,
    gaps_of,
    heard_of,
    is_under_way,
    maybe_while_loading,
    strays_of,
    transactional_ids,
    until_of,
    with_begun,
)
from harness.replay.selecting import WHY as LOADING
from harness.replay.topics import TopicChange
from harness.results.replay_results import COUNTS, FINDINGS, Replayed, ReplayFinding
from harness.targets.reference.profile import ReferenceProfile
from harness.trace.events import Event
from harness.trace.files import write_records, write_whole


@dataclass(slots=True, kw_only=True)
class Account:
    """The numbers of answers compared and not compared, and the findings."""

    conversation_id: str
    compared: int = 0
    not_compared: Counter[str] = field(default_factory=Counter)
    findings: list[ReplayFinding] = field(default_factory=list)
    agreed: set[int] = field(default_factory=set)
    """Positions of answers that equal the reference's. Readers empty the set."""
    otherwise: dict[int, ReferenceAnswer | None] = field(default_factory=dict)
    """The reference's answer, or None, by the position of an answer that differs. Readers empty this too."""

    def replayed(self) -> Replayed:
        """Return the account as a result."""
        return Replayed(
            conversation=self.conversation_id,
            compared=self.compared,
            not_compared=dict(self.not_compared),
            findings=tuple(sorted(self.findings, key=lambda each: each.position)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A group in a coordinator that continues into the next part."""

    machine: ReplayMachine
    left: tuple[Exchange, ...]
    """Operations that have not taken effect yet, and may never: they are unanswered, or take effect later."""
    unknown: frozenset[TopicPartition] | None
    """As in a `Seed`."""
    named: frozenset[TopicPartition]
    """Partitions whose offsets a client wrote or read."""
    since_ms: float | None
    """When the coordinator took over, if it may still be loading."""


TOLERANCE_MS: Final = 300.0
"""How far a deadline may be off, in addition to the longest time that the broker took for a simple answer."""
FINDINGS_OF_GROUP_MAX: Final = 1_000
NEVER_CAME: Final = "that never came, though others saw that its request was served"
_UNKNOWN: Final = "before the group was known"
_APART: Final = "after the group and the reference had gone different ways"


_Replayed: TypeAlias = tuple[Running | None, Sequence[Exchange]]
"""The coordinator at the end, and the requests since the reference was in another state than the group."""


@dataclass(slots=True, kw_only=True)
class GroupReplay:
    """One group, whose parts are replayed one after the other, with what is known of it by then."""

    group_id: str
    spec: ReferenceProfile
    """The reference to compare it with."""
    account: Account
    """The results are added here."""
    is_whole: bool
    """Whether the recording has everything that was ever sent about the group."""
    is_raced: bool = False
    """Whether requests overlap on purpose, and each was sent and awaited with care."""
    start: Seed | None = None
    """The group's state at the beginning, in a coordinator that continues, if it is known."""
    end_ms: float = -inf
    running: Running | None = None
    member_ids: frozenset[str] = frozenset()
    transactional: frozenset[str] = frozenset()
    is_modern: bool = False
    """Whether members have sent heartbeats with an epoch."""

    def take(
        self, conversation: RecordedConversation, gaps: Sequence[Gap] = (), *, end_ms: float = inf
    ) -> None:
        """Replay the next part, whose operations' indices continue those of the part before.

        Requests or answers may be missing in the gaps; the next part begins at the end, if there is one.
        """
        part = _Part(self, conversation, gaps, end_ms)
        if self.start is not None:
            self.end_ms, self.running = self.start.at_ms, part.begun(self.start)
            self.member_ids, self.start = self.running.machine.member_ids(), None
        self.running = part.run()
        of_machine = frozenset() if self.running is None else self.running.machine.member_ids()
        self.end_ms, self.member_ids = end_ms, part.heard | of_machine
        self.transactional, self.is_modern = part.transactional, part.is_modern


class _Part:
    def __init__(
        self, past: GroupReplay, conversation: RecordedConversation, gaps: Sequence[Gap], end_ms: float
    ) -> None:
        self._past, self._conversation, self._end_ms = past, conversation, end_ms
        self._spec, self._group_id, self._account = past.spec, past.group_id, past.account
        self.transactional = past.transactional | transactional_ids(conversation.operations, self._group_id)
        self._operations = about(conversation.operations, self._group_id, self.transactional)
        heartbeats = [each for each in self._operations if each.api in HEARTBEATS]
        self._modern, self.is_modern = ModernGroup(heartbeats=heartbeats), past.is_modern or bool(heartbeats)
        if self.is_modern:
            seen = (each for each in conversation.operations if isinstance(each, TopicChange))
            changes = self._modern.as_late_as_assigned(seen)
            self._operations = sorted([*self._operations, *changes], key=lambda each: each.index)
        self._strays = strays_of(self._operations, self._group_id)
        self._gaps = gaps_of(self._operations, gaps)

    @property
    def heard(self) -> frozenset[str]:
        """The member ids that requests and answers name."""
        return heard_of(self._operations).union(*self._strays.values())

    def begun(self, seed: Seed, since_ms: float | None = None) -> Running:
        """Return the coordinator of a group whose state is known, and since when it may be loading."""
        named = frozenset((each.topic, each.partition) for each in seed.offsets)
        return Running(
            machine=self._machine(seed), left=(), unknown=seed.unknown, named=named, since_ms=since_ms
        )

    def run(self) -> Running | None:
        """Replay the part; return the coordinator that continues, if there is one."""
        self._reported = self._tellable()
        if (why := self._beyond_replay()) is not None:
            self._leave_out(self._reported, why)
            return None
        running, begin_ms = self._past.running, self._past.end_ms
        self._gaps = [
            each for each in self._gaps if begin_ms < each.until_ms and each.since_ms < self._end_ms
        ]
        breaks = [each for each in self._breaks() if begin_ms <= each < self._end_ms]
        seed = Seed(at_ms=-inf) if self._past.is_whole and begin_ms == -inf else None
        edges_ms = (at_ms for gap in self._gaps for at_ms in (gap.since_ms, gap.until_ms))
        self._unseen = {at_ms for at_ms in edges_ms if at_ms > begin_ms}
        breaks = [each for each in breaks if each not in self._unseen]
        left_behind: Seed | Running | None = running or seed
        for era_ms, end_ms in pairwise((begin_ms, *sorted((*breaks, *self._unseen)), inf)):
            left_behind = self._era(left_behind, era_ms, end_ms)
        lost = [each for each in self._reported if any(is_under_way(each, at_ms) for at_ms in breaks)]
        self._leave_out(lost, "while the coordinator went or was gone")
        of_gaps = [each for each in self._reported if any(is_under_way(each, at) for at in self._unseen)]
        self._leave_out([each for each in of_gaps if each not in lost], UNSEEN)
        return left_behind if isinstance(left_behind, Running) else None

    def _breaks(self) -> list[float]:
        """Return when the coordinator may have ended, which it does not in a race."""
        if self._past.is_raced:
            return []
        return breaks_of(self._operations, self._conversation.breaks, self._conversation.refusals)

    def _era(self, known: Seed | Running | None, begin_ms: float, end_ms: float) -> Seed | Running | None:
        """Replay the requests to one coordinator; return what is known after it."""
        is_first = begin_ms == self._past.end_ms
        era = [
            each
            for each in self._reported
            if (is_first or begin_ms < each.asked_ms) and belongs_before(each, end_ms)
        ]
        under_way = [each for each in self._reported if is_under_way(each, end_ms)]
        if any(each.since_ms <= begin_ms and end_ms <= each.until_ms for each in self._gaps):
            self._leave_out(era, UNSEEN)
            return None
        if known is None and begin_ms == -inf:
            known = self._seed_at_first(era)
        if end_ms in self._unseen:
            self._replay_era(with_begun(era, under_way, begin_ms), known)
            return None
        running = self._replay_era(era, known)
        if running is None or end_ms == inf:
            return running
        back = back_ms(self._operations, self._conversation.breaks, end_ms)
        is_settled = running.machine.is_settled() and not self.transactional
        if not is_settled or self._may_have_expired(running, back):
            return None
        in_log = replace(running.machine.harvest(), unknown=running.unknown)
        return carried(in_log, under_way, at_ms=back, names=self._conversation.topic_names)

    def _may_have_expired(self, running: Running, back: float) -> bool:
        """Return whether nobody saw when the session of a member that does not return began anew."""
        later = [each for each in self._operations if each.asked_ms > back and each.answer is not None]
        unseen_ms = min((each.asked_ms for each in later), default=back) - back
        returned = {text(each.request, "member_id") for each in later}
        is_long = unseen_ms > TOLERANCE_MS + self._conversation.slowest_ms
        return self.is_modern and is_long and not running.machine.member_ids() <= returned

    def _beyond_replay(self) -> str | None:
        """Return why nothing can be compared of the group; None if it can."""
        if not self._past.is_whole:
            known = self._past.member_ids | self.heard
            listed = (text(each, "member_id") for each in members_of(self._operations, self._group_id))
            if unknown := next((each for each in listed if each not in known), ""):
                return f"of a group with a member that was not recorded: {unknown}"
        return self._modern.beyond_replay(self._conversation, self._spec)

    def _tellable(self) -> list[Exchange]:
        end_ms = self._conversation.topics_deleted_ms if self.is_modern else inf
        reported: list[Exchange] = []
        why_refused = refusal(self._spec)
        for operation in self._operations:
            why = None if isinstance(operation, TopicChange) else why_refused(operation)
            if why is None and operation.asked_ms >= end_ms:
                why = f"of a {self._modern.kind} group, after somebody deleted topics"
            if why is None:
                reported.append(operation)
            else:
                self._leave_out([operation], why)
        return reported

    def _seed_at_first(self, era: Sequence[Exchange]) -> Seed | None:
        """Return the group's state at the beginning; None if it is unknown.

        A group that begins with the very first generation did not exist before, and one that nobody joins has
        no members. Offsets may have existed all the same.
        """
        joined = (each for each in era if each.api == "JoinGroup" or joins(each))
        first = next((each for each in joined if each.answer is not None and each.error == NO_ERROR), None)
        if has_earlier_members(era) or has_earlier_modern_members(era):
            return None
        of_group = [each for each in era if self._group_id in each.groups]
        if all(each.descriptor.access is Access.READS for each in of_group):
            return None  # What nobody was seen to write would be learnt from the answers that show it.
        if not any(map(_is_of_member, era)) or (first is not None and is_first(first, self._spec)):
            return Seed(at_ms=-inf, unknown=None)
        return None

    def _replay_era(self, era: Sequence[Exchange], known: Seed | Running | None) -> Running | None:
        """Replay the requests to one coordinator; return its state at the end, or None if it is unknown."""
        running, apart = self._replay_known(era, known, _UNKNOWN)
        while apart:
            running, apart = self._replay_known(apart, None, _APART)
        return running

    def _replay_known(self, era: Sequence[Exchange], known: Seed | Running | None, why_not: str) -> _Replayed:
        """Replay requests from when the group is known; leave out those before, for the given reason."""
        if isinstance(known, Running):
            more = self._more_offsets(era, known.named, known.unknown)
            fed = [*known.left, *fed_of(era)]
            machine = known.machine
            machine.go_on(fed, self._strays, {} if self.is_modern else self._topics_named())
            machine.learn(more)
            return self._replay_from(fed, known)
        seed = known or first_seed([each for each in era if self._group_id in each.groups])
        if seed is None:
            self._leave_out(era, why_not)
            return None, ()
        after = [each for each in era if each.asked_ms >= seed.at_ms]
        self._leave_out([each for each in era if each.asked_ms < seed.at_ms], why_not)
        there = frozenset((each.topic, each.partition) for each in seed.offsets)
        seed = replace(seed, offsets=(*seed.offsets, *self._more_offsets(after, there, seed.unknown)))
        since_ms = seed.at_ms if known is not None and known.at_ms != -inf else None
        return self._replay_from(fed_of(after), self.begun(seed, since_ms))

    def _more_offsets(
        self,
        operations: Sequence[Exchange],
        there: frozenset[TopicPartition],
        unknown: frozenset[TopicPartition] | None,
    ) -> tuple[SeedOffset, ...]:
        """Return offsets that were unknown before, and that were fetched before any write."""
        return tuple(
            each
            for each in first_offsets(operations, self._group_id, self._conversation.topic_names)
            if (each.topic, each.partition) not in there
            and (unknown is None or (each.topic, each.partition) in unknown)
        )

    def _replay_from(self, fed: Sequence[Exchange], before: Running) -> _Replayed:
        maybe_unseen, since_ms = maybe_while_loading(fed, self._group_id, before.since_ms)
        course = Course(
            operations=fed,
            until_ms=until_of(fed),
            tolerance_ms=TOLERANCE_MS + self._conversation.slowest_ms,
            group_id=self._group_id,
            begin=before.machine.copy,
        )
        every, apart_ms = unexplained(course, doubted=maybe_unseen)
        found = [each for each in every if each.place not in maybe_unseen]
        self._leave_out([fed[each.place] for each in every if each.place in maybe_unseen], LOADING)
        missed = [] if apart_ms is None else course.missed()
        if self._past.is_raced:
            skipped = {move.place for move in course.path if isinstance(move, Skip)}
            served = (fed[each] for each in course.position.over - skipped)
            if silent := sum(each.answer is None for each in served):
                self._account.not_compared[NEVER_CAME] += silent
        self._account.compared += (
            sum(each.is_compared for each in fed) - len(every) + len(found) - len(missed)
        )
        misfits = {*(each.place for each in every), *missed}
        agreed = (each for place, each in enumerate(fed) if each.is_compared and place not in misfits)
        self._account.agreed.update(each.position for each in agreed)
        self._account.otherwise |= {fed[each.place].position: each.reported for each in found}
        room = max(FINDINGS_OF_GROUP_MAX - len(self._account.findings), 0)
        of_conversation = self._account.conversation_id
        self._account.findings += [
            finding_of(each, fed[each.place], self._group_id, of_conversation) for each in found[:room]
        ]
        if apart_ms is not None:
            self._leave_out([fed[each] for each in missed if fed[each].asked_ms <= apart_ms], _APART)
            return None, [each for each in fed if each.asked_ms > apart_ms]
        running = Running(
            machine=course.machine,
            left=tuple(each for place, each in enumerate(fed) if not course.position.is_taken(place)),
            unknown=before.unknown,
            named=before.named | named_partitions(fed, self._group_id, self._conversation.topic_names),
            since_ms=since_ms,
        )
        return running, ()

    def _machine(self, seed: Seed) -> ReplayMachine:
        is_timed = self.is_modern
        topics = self._conversation.topics_at(seed.at_ms) if is_timed else self._topics_named()
        kind = RacedMachine if self._past.is_raced else ReplayMachine
        machine = kind(self._spec, self._conversation, self._group_id, topics, self._strays)
        if seed.at_ms != -inf or seed.offsets:
            machine.plant(seed)
        return machine

    def _topics_named(self) -> dict[str, int]:
        """Return the partition counts of the topics that requests name: classic groups need no others."""
        topics, names = self._conversation.topics, self._conversation.topic_names
        named = {topic for topic, _ in named_partitions(self._operations, self._group_id, names)}
        return {topic: topics[topic] for topic in sorted(named) if topic in topics}

    def _leave_out(self, operations: Iterable[Exchange], why: str) -> None:
        count = sum(each.is_compared for each in operations)
        if count:
            self._account.not_compared[why] += count


def _is_of_member(operation: Exchange) -> bool:
    """Return whether a member sent a request, so that it must have joined at some time."""
    names = ("generation_id_or_member_epoch", "generation_id")
    is_commit = any(number(operation.request, name) >= 0 for name in names)
    return operation.api in MEMBERSHIP or (is_commit and bool(text(operation.request, "member_id")))


def replay(
    events: Iterable[Event],
    spec: ReferenceProfile,
    *,
    conversation_id: str,
    is_whole: bool,
    gaps: Sequence[Gap] = (),
) -> Replayed:
    """Feed a recorded conversation to the reference and compare the coordinator's answers.

    The events are those of one conversation, in their order. Unless the recording has everything that was
    ever sent about its groups, a group is compared only from when its state is known.
    """
    conversation = read_conversation(events)
    account = Account(conversation_id=conversation_id, not_compared=Counter(conversation.unread))
    for group_id in sorted({group for each in conversation.operations for group in each.groups}):
        group = GroupReplay(group_id=group_id, spec=spec, account=account, is_whole=is_whole)
        group.take(conversation, gaps)
    return account.replayed()


def replay_all(events: Iterable[Event], spec: ReferenceProfile, *, is_whole: bool) -> tuple[Replayed, ...]:
    """Replay every conversation of some events, which come in the order of each conversation."""
    conversations: dict[str, list[Event]] = {}
    for event in events:
        conversations.setdefault(event.scenario_id, []).append(event)
    return tuple(
        replay(each, spec, conversation_id=name, is_whole=is_whole) for name, each in conversations.items()
    )


def keep(directory: Path, replayed: Sequence[Replayed]) -> None:
    """Write the results of replays into the folder of their journal."""
    write_records(directory / FINDINGS, (finding for each in replayed for finding in each.findings))
    names = ("conversation", "compared", "not_compared")
    counts = [{name: getattr(each, name) for name in names} for each in replayed]
    write_whole(directory / COUNTS, json.dumps(counts, indent=2, ensure_ascii=False) + "\n")

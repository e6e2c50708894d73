"""Compare captures and taps with the reference, group by group."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby
from math import inf
from typing import Final, TypeAlias

from harness.captures.judged import Answered, Excerpts, JudgedCaptures, JudgedGroup, PageRoom, joined
from harness.captures.notes import Notes
from harness.captures.parts import PART, STRETCH, Start, parts_of, stretches_of
from harness.captures.rows import Facts, Row, RowKind, exchange_of, facts_of, in_order
from harness.captures.sources import CONVERSATION, Sources, rows_of_captures, rows_of_journal
from harness.invariants.blame import Blame, Refusal, ToBlame
from harness.invariants.exchange import Exchange
from harness.replay import ReferenceProfile
from harness.replay.group import FINDINGS_OF_GROUP_MAX, Account, GroupReplay
from harness.replay.history import conversation_of
from harness.replay.selecting import Gap
from harness.trace.canonical import error_codes_in

DEFAULT_PORT: Final = 9092


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """How captures are judged."""

    spec: ReferenceProfile
    """The reference to compare them with."""
    ports: frozenset[int]
    """The ports of the brokers; taps need none."""
    is_whole: bool
    """Whether the captures contain everything that was ever sent about their groups."""
    part: int = PART
    """Exchanges after which a group's conversation may be cut."""
    stretch: int = STRETCH
    """Exchanges after which the rest of a group's conversation may be judged elsewhere."""
    has_excerpts: bool = False
    """Whether the conversations around findings are to be returned too."""
    is_raced: bool = False
    """Whether they are of races."""


Judge: TypeAlias = Callable[[Sources, Terms], JudgedCaptures]


def judge_here(sources: Sources, terms: Terms) -> JudgedCaptures:
    """Compare what brokers answered in captures with what the reference answers, in this process."""
    notes = Notes(damages=list(sources.unread))
    journals = (rows_of_journal(sources, place, notes) for place in range(len(sources.journals)))
    counts: dict[str, int] = {}
    rows = in_order(chain(rows_of_captures(sources, terms.ports, notes), *journals), counts)
    by_group = groupby(rows, key=lambda row: row.group)
    # Rows that belong to no group have an empty name, so they come first, before any group is judged.
    facts, groups, room = Facts(), list[JudgedGroup](), PageRoom()
    for group, of_group in by_group:
        if group:
            connections, exchanges = split(of_group)
            stretches = (
                stretches_of(connections, exchanges, facts, is_whole=terms.is_whole, stretch=terms.stretch)
                if counts[group] > terms.stretch
                else ((None, exchanges),)
            )
            judged = joined([judge_stretch(group, connections, *each, facts, terms) for each in stretches])
            groups.append(replace(judged, excerpts=room.within(judged.excerpts)))
        else:
            facts = facts_of(of_group)
    return JudgedCaptures(groups=tuple(sorted(groups, key=lambda each: each.group)), notes=notes)


def judge_stretch(
    group: str,
    connections: Sequence[Row],
    start: Start | None,
    rows: Iterable[Row],
    facts: Facts,
    terms: Terms,
) -> JudgedGroup:
    """Replay a stretch of a group's conversation, part by part; the first one has no start."""
    judgement = _GroupJudgement(group, connections, facts, terms)
    exchanges = facts.beside(group, rows)
    if start is not None:
        warm_up, exchanges = _parted(exchanges, start.counts_after_ms)
        judgement.warm_up(start, warm_up)
    for part, end_ms in parts_of(exchanges, part=terms.part):
        judgement.take(part, end_ms)
    return judgement.finish()


def _parted(rows: Iterator[Row], until_ms: float) -> tuple[list[Row], Iterator[Row]]:
    """Split rows into those requested up to a time and those after it."""
    before = list[Row]()
    for row in rows:
        if row.asked_ms > until_ms:
            return before, chain((row,), rows)
        before.append(row)
    return before, iter(())


class _GroupJudgement:
    """The state of a group's judgement after each part of its conversation."""

    def __init__(self, group: str, connections: Sequence[Row], facts: Facts, terms: Terms) -> None:
        self._group, self._facts, self._terms = group, facts, terms
        self._libraries = {row.connection: row.content[0] for row in connections}
        self._gaps = [Gap(row.connection, *each) for row in connections for each in row.content[3]]
        self._breaks = [(at_ms, row.connection) for row in connections for at_ms in row.content[2]]
        self._slowest_ms = max((row.content[1] for row in connections), default=0.0)
        self._replay = GroupReplay(
            group_id=group,
            spec=terms.spec,
            account=Account(conversation_id=CONVERSATION),
            is_whole=terms.is_whole,
            is_raced=terms.is_raced,
        )
        self._excerpts = Excerpts(group=group, libraries=self._libraries)
        lost = ((gap.connection, gap.since_ms) for gap in reversed(self._gaps) if not gap.is_before)
        self._blame = Blame(
            group=group,
            is_whole=terms.is_whole,
            changes_ms=[at_ms for at_ms, _ in self._breaks],
            lost_ms=dict(lost),
        )
        self._place, self._first_index, self._begin_ms = 0, 0, -inf
        self._count_anew()

    def warm_up(self, start: Start, rows: Sequence[Row]) -> None:
        """Begin with a group whose state is known, and replay a warm-up whose results do not count."""
        self._replay.start = start.seed
        self._begin_ms = start.seed.at_ms
        first = rows[0]
        since = (first.asked_ms, first.connection, first.number)
        self._place = start.number + self._facts.listed_between(start.first, since)
        self.take(rows, start.counts_after_ms)
        self._blame = start.blame
        self._count_anew()

    def _count_anew(self) -> None:
        """Begin to count, here or after a warm-up."""
        self._account = self._replay.account = Account(conversation_id=CONVERSATION)
        self._answered: Counter[Answered] = Counter()
        self._refusals: list[Refusal] = []
        self._blamed: Counter[ToBlame] = Counter()
        self._excerpts.kept.clear()
        self._counted_from = self._place

    def take(self, part: Sequence[Row], end_ms: float) -> None:
        """Replay the next part, which ends when the one after it begins."""
        account = self._account
        exchanges = [exchange_of(row, number) for number, row in enumerate(part, self._place)]
        conversation = conversation_of(
            exchanges,
            breaks=self._breaks,
            first_index=self._first_index,
            topics=self._facts.topics,
            within_ms=(self._begin_ms, end_ms),
        )
        conversation.slowest_ms = max(conversation.slowest_ms, self._slowest_ms)
        account.not_compared.update(conversation.unread)
        known = len(account.findings)
        self._replay.take(conversation, self._gaps, end_ms=end_ms)
        of_group = [
            each for each in exchanges if self._group in each.groups or each.fault or each.transactional_id
        ]
        refusals = list(self._blame.take_all(of_group))
        self._blamed.update(each.party for each in refusals)
        self._refusals += refusals[: FINDINGS_OF_GROUP_MAX - len(self._refusals)]
        if self._terms.has_excerpts:
            self._excerpts.take(exchanges, self._place, account, known)
        account.agreed.clear()
        account.otherwise.clear()
        self._answered.update(chain.from_iterable(map(_answered, exchanges)))
        self._place, self._begin_ms = self._place + len(part), end_ms
        self._first_index += len(conversation.operations)

    def finish(self) -> JudgedGroup:
        """Return the result of all parts."""
        replayed = self._account.replayed()
        libraries = self._libraries
        findings = (replace(each, client=libraries.get(each.connection, "")) for each in replayed.findings)
        return JudgedGroup(
            group=self._group,
            clients=tuple(sorted({each for each in libraries.values() if each})),
            replayed=replace(replayed, findings=tuple(findings)),
            exchanges=self._place - self._counted_from,
            answered=self._answered,
            refusals=tuple(self._refusals),
            blamed=self._blamed,
            excerpts=tuple(self._excerpts.kept),
        )


def _answered(exchange: Exchange) -> Iterator[Answered]:
    """Yield what an answer counts as: its own error code, or else each distinct one within it."""
    own = exchange.response.get("error_code")
    for code in (own,) if isinstance(own, str) else dict.fromkeys(error_codes_in(exchange.response)):
        yield exchange.api, exchange.api_version, code


def split(rows: Iterable[Row]) -> tuple[list[Row], Iterator[Row]]:
    """Split a group's rows into those of its connections, which come first, and the rest."""
    connections = list[Row]()
    rows = iter(rows)
    for row in rows:
        if row.kind != RowKind.CONNECTION:
            return connections, chain((row,), rows)
        connections.append(row)
    return connections, iter(())

"""The results of judging captures: findings with the conversations around them, by group, and patterns."""

import hashlib
import json
import re
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf, nan
from typing import Final, TypeAlias

from harness.captures.notes import Notes
from harness.diff.alignment import AlignedEvents
from harness.invariants.blame import Refusal, ToBlame
from harness.invariants.exchange import HEARTBEATS, NO_ERROR, Exchange, text
from harness.replay.compare import ReferenceAnswer, Unlike, all_unlike, comparable
from harness.replay.group import FINDINGS_OF_GROUP_MAX, Account
from harness.results.client_impact import Contrast, FieldChange, consequence, deviation
from harness.results.replay_results import Replayed, ReplayFinding, total
from harness.trace.events import Event, EventKind

Likeness: TypeAlias = tuple[str, str, str]
"""API, field without indices, and the deviation."""
_INDEX: Final = re.compile(r"\[\d+\]")
_SIGNATURE_CHARACTERS: Final = 12


def likeness(finding: ReplayFinding) -> Likeness:
    """Return a key that is equal for findings that are alike."""
    return finding.api, _INDEX.sub("[]", finding.field), deviation(contrast_of(finding))


def signature_of(alike: Likeness) -> str:
    """Return a hash that is equal for equal deviations of any group, in any judgement."""
    return hashlib.sha256(json.dumps(alike).encode()).hexdigest()[:_SIGNATURE_CHARACTERS]


def contrast_of(finding: ReplayFinding) -> Contrast:
    """Return a finding as a change from expected to actual; if no field differs, the answer's time does."""
    change = FieldChange(path=finding.field, before=finding.expected, after=finding.actual)
    is_early = not finding.field and finding.expected == IN_WORDS[EventKind.SILENCE]
    return Contrast(
        api=finding.api,
        before_kind=EventKind.SILENCE if is_early else EventKind.RESPONSE,
        after_kind=EventKind.RESPONSE if finding.field or is_early else EventKind.NO_ANSWER,
        fields=(change,) if finding.field else (),
    )


OF_GROUP_MAX: Final = 3
"""The most findings of one pattern that get an excerpt within a group."""
OF_PATTERN_MAX: Final = 50
"""The most findings of one pattern that get an excerpt over all groups."""
_BEFORE: Final = 12
_AFTER: Final = 4
_LOOKED_AT: Final = 400
"""How many exchanges before a finding are searched for informative ones."""
_BYTES_MAX: Final = 16_384
"""The largest frame whose bytes are kept; longer frames are shown without bytes."""
_UNLIKE_MAX: Final = 20
BROKER: Final = "broker"
"""The target name under which a page shows the conversation."""
IN_WORDS: Final = {EventKind.SILENCE: "no answer yet", EventKind.NO_ANSWER: "no answer in the recording"}
_QUIET: Final = frozenset(("Heartbeat", "OffsetCommit", *HEARTBEATS))
"""APIs whose exchanges say little when they are answered without an error, because there are many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """A finding with the conversation around it."""

    finding: ReplayFinding
    rows: tuple[AlignedEvents, ...]
    """Requests and answers in the order of the requests; the other side is the reference's."""
    titles: Mapping[int, str]
    """The titles of the exchanges, by their number in the group's conversation."""
    unlike: tuple[Unlike, ...]
    """All fields that differ; the finding's field comes first."""
    left_out: Mapping[str, int]
    """Counts of the uninformative exchanges that were left out between those, by API."""


@dataclass(slots=True)
class PageRoom:
    """Limits the excerpts of each pattern to the number that a group or a site has room for."""

    of_pattern_max: int = OF_PATTERN_MAX
    _counts: Counter[Likeness] = field(default_factory=Counter)

    def has(self, finding: ReplayFinding) -> bool:
        """Count a finding, and return whether there is room for it."""
        key = likeness(finding)
        self._counts[key] += 1
        return self._counts[key] <= self.of_pattern_max

    def within(self, excerpts: Iterable[Excerpt]) -> tuple[Excerpt, ...]:
        """Return the excerpts that get a page."""
        return tuple(each for each in excerpts if self.has(each.finding))


@dataclass(slots=True, kw_only=True)
class Excerpts:
    """Cuts excerpts of one group's conversation, part by part."""

    group: str
    libraries: Mapping[str, str]
    kept: list[Excerpt] = field(default_factory=list)
    _room: PageRoom = field(default_factory=lambda: PageRoom(OF_GROUP_MAX))
    _recent: deque[Exchange] = field(default_factory=lambda: deque(maxlen=_LOOKED_AT))

    def take(self, part: Sequence[Exchange], begin: int, account: Account, known: int) -> None:
        """Cut the excerpts for the findings of a part that begins at a number, without those known before."""
        found = [each for each in account.findings[known:] if self._room.has(each)]
        if found:
            conversation = [*self._recent, *part]
            first = begin - len(self._recent)
            self.kept += [self._excerpt(each, conversation, first, account) for each in found]
        self._recent.extend(part[-_LOOKED_AT:])

    def _excerpt(
        self, finding: ReplayFinding, conversation: Sequence[Exchange], first: int, account: Account
    ) -> Excerpt:
        place = finding.position - first
        about = conversation[place]
        before = range(max(place - _LOOKED_AT, 0), place)
        telling = [each for each in before if not _is_quiet(conversation[each], about)]
        chosen = [*telling[-_BEFORE:], *range(place, min(place + 1 + _AFTER, len(conversation)))]
        passed_over = set(range(chosen[0], place)) - set(chosen)
        numbered = {first + each: conversation[each] for each in chosen}
        return Excerpt(
            finding=replace(finding, client=self.libraries.get(finding.connection, "")),
            rows=tuple(row for number, each in numbered.items() for row in self._rows(each, number, account)),
            titles={number: self._title(each) for number, each in numbered.items()},
            unlike=tuple(self._unlike(about, account.otherwise.get(finding.position), finding)),
            left_out=Counter(conversation[each].api for each in passed_over),
        )

    def _title(self, exchange: Exchange) -> str:
        library = self.libraries.get(exchange.connection, "")
        by = " · ".join(each for each in (exchange.actor, library) if each)
        return f"{exchange.api} v{exchange.api_version} · {by or 'unknown client'} · {exchange.connection}"

    def _rows(self, exchange: Exchange, number: int, account: Account) -> Iterator[AlignedEvents]:
        request = self._event(exchange, number, EventKind.REQUEST, exchange.request or None)
        yield AlignedEvents(step=number, occurrence=0, answer=None, event=request, other=_untimed(request))
        if exchange.answered_ms == inf:
            theirs = ours = self._event(exchange, number, EventKind.NO_ANSWER, None)
        else:
            theirs = self._event(exchange, number, EventKind.RESPONSE, exchange.answer)
            ours = replace(theirs, fields=None, canonical=None, note="not compared")
            if exchange.answer is not None and (number in account.agreed or number in account.otherwise):
                compared = _json(comparable(exchange.api, exchange.answer, self.group))
                theirs = ours = replace(theirs, canonical=compared)
                answer = account.otherwise.get(number)
                if answer is not None and not answer.is_as_recorded:
                    compared = _json(answer.fields)
                ours = replace(ours, fields=compared, canonical=compared)
                if answer is None and number in account.otherwise:
                    in_words = IN_WORDS[EventKind.SILENCE]
                    ours = replace(ours, kind=EventKind.SILENCE, fields=None, canonical=None, note=in_words)
        yield AlignedEvents(step=number, occurrence=1, answer=0, event=theirs, other=_untimed(ours))

    def _event(
        self, exchange: Exchange, number: int, kind: EventKind, found: Mapping[str, object] | None
    ) -> Event:
        """Return what the broker got or sent: its fields as received, and as compared."""
        is_answer = kind is not EventKind.REQUEST
        is_timed = is_answer and exchange.answered_ms != inf
        at_ms = exchange.answered_ms if is_timed else exchange.asked_ms
        fields, frame = _json(found), exchange.answer_frame if is_answer else exchange.frame
        return Event(
            run_id="",
            target=BROKER,
            scenario_id="",
            sequence=2 * number + is_answer,
            step=number,
            kind=kind,
            actor=exchange.actor,
            connection=exchange.connection,
            api=exchange.api,
            api_version=exchange.api_version,
            correlation_id=None,
            at_ms=at_ms,
            elapsed_ms=at_ms - exchange.asked_ms if is_timed else None,
            raw=frame.hex() if 0 < len(frame) <= _BYTES_MAX else None,
            fields=fields,
            canonical=fields,
            digest=None,
            reencodes=None,
            permitted=None,
            note=IN_WORDS.get(kind, "" if fields else "cannot be read whole"),
        )

    def _unlike(
        self, exchange: Exchange, reported: ReferenceAnswer | None, finding: ReplayFinding
    ) -> Iterable[Unlike]:
        yield Unlike(field=finding.field, expected=finding.expected, actual=finding.actual)
        if reported is None or reported.is_as_recorded or exchange.answer is None or not finding.field:
            return
        recorded = comparable(exchange.api, exchange.answer, self.group)
        yield from list(all_unlike(reported, recorded))[1:_UNLIKE_MAX]


def _json(fields: Mapping[str, object] | None) -> str | None:
    return None if fields is None else json.dumps(fields, ensure_ascii=False)


def _untimed(event: Event) -> Event:
    """Return an event of the reference, whose time and bytes say nothing about the broker."""
    return replace(event, at_ms=nan, elapsed_ms=None, raw=None)


def _is_quiet(exchange: Exchange, about: Exchange) -> bool:
    """Return whether an exchange says little about a later one, as another member's heartbeat does."""
    error = text(exchange.response, "error_code") or NO_ERROR
    is_fine = exchange.answered_ms != inf and error == NO_ERROR
    return exchange.api in _QUIET and is_fine and exchange.connection != about.connection


Answered: TypeAlias = tuple[str, int, str]
"""An API, its version, and an error code of its answer: the top-level code, or else one within it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedGroup:
    """The result for one group of a capture."""

    group: str
    clients: tuple[str, ...]
    """Libraries with versions, as the clients name themselves; empty if none did."""
    replayed: Replayed
    exchanges: int = 0
    """Requests about this group, and about all groups."""
    answered: Mapping[Answered, int] = field(default_factory=dict)
    """How often each API, in each version, was answered each error code."""
    refusals: tuple[Refusal, ...] = ()
    """Refusals that clients were given, and other faults of clients, with their causes."""
    blamed: Mapping[ToBlame, int] = field(default_factory=dict)
    """How many there are by party; of very many not all are in `refusals`."""
    excerpts: tuple[Excerpt, ...] = ()
    """Excerpts for some of the findings, if they were requested."""


def joined(stretches: Sequence[JudgedGroup]) -> JudgedGroup:
    """Combine the results of a group whose stretches were judged apart; they are given in order."""
    if len(stretches) == 1:
        return stretches[0]
    replayed = total(tuple(each.replayed for each in stretches))
    answered: Counter[Answered] = Counter()
    for each in stretches:
        answered.update(each.answered)
    return JudgedGroup(
        group=stretches[0].group,
        clients=stretches[0].clients,
        replayed=replace(
            replayed,
            conversation=stretches[0].replayed.conversation,
            findings=replayed.findings[:FINDINGS_OF_GROUP_MAX],
        ),
        exchanges=sum(each.exchanges for each in stretches),
        answered=answered,
        refusals=tuple(one for each in stretches for one in each.refusals)[:FINDINGS_OF_GROUP_MAX],
        blamed=sum((Counter(each.blamed) for each in stretches), Counter[ToBlame]()),
        excerpts=PageRoom(OF_GROUP_MAX).within(one for each in stretches for one in each.excerpts),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedCaptures:
    """The results of captures that were judged together."""

    groups: tuple[JudgedGroup, ...]
    notes: Notes

    @property
    def answered(self) -> Mapping[Answered, int]:
        """How often each API, in each version, was answered each error code."""
        counts: Counter[Answered] = Counter()
        for each in self.groups:
            counts.update(each.answered)
        return dict(sorted(counts.items()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """Findings with the same signature. Grain: signature."""

    signature: str
    """A hash that is equal for equal deviations of any group, in any judgement."""
    api: str
    field: str
    what: str
    noticed: str
    """What a client would notice."""
    count: int
    groups: int
    clients: Mapping[str, int]
    """How many of the findings each library with its version got; the name is empty if it is unknown."""


def patterns_of(groups: Iterable[JudgedGroup]) -> tuple[Pattern, ...]:
    """Group findings into patterns, the most frequent first."""
    alike: defaultdict[Likeness, list[ReplayFinding]] = defaultdict(list)
    for group in groups:
        for finding in group.replayed.findings:
            alike[likeness(finding)].append(finding)
    patterns = [
        Pattern(
            signature=signature_of(key),
            api=key[0],
            field=key[1],
            what=key[2],
            noticed=consequence(contrast_of(findings[0])),
            count=len(findings),
            groups=len({each.group for each in findings}),
            clients=dict(sorted(Counter(each.client for each in findings).items())),
        )
        for key, findings in alike.items()
    ]
    return tuple(sorted(patterns, key=lambda each: (-each.count, each.signature)))

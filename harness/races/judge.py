"""The judgement of stored histories, for each race and target, and the known cases without an order."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Final

from harness.invariants.exchange import Exchange, Fields
from harness.races.catalogue import RACES, Race
from harness.races.history import History
from harness.races.search import Explanation, SearchOutcome, explain
from harness.races.specification import MachineFactory

_NO_ANSWER: Final = "no answer"
_HEARTBEATS: Final[Mapping[object, str]] = {
    0: "ConsumerGroupHeartbeat (join)",
    -1: "ConsumerGroupHeartbeat (leave)",
}
"""Labels by the member epoch in the request."""


def label(api: str, request: Fields) -> str:
    """Return the label of an operation, e.g. `JoinGroup (new)`."""
    match api:
        case "JoinGroup" if request.get("group_instance_id"):
            return "JoinGroup (static)"
        case "JoinGroup":
            return "JoinGroup (known)" if request["member_id"] else "JoinGroup (new)"
        case "OffsetCommit":
            by_nobody = request["generation_id_or_member_epoch"] == -1
            return "OffsetCommit (nobody)" if by_nobody else "OffsetCommit (member)"
        case "ConsumerGroupHeartbeat":
            return _HEARTBEATS.get(request["member_epoch"], api)
        case _:
            return api


def outcome_of(operation: Exchange) -> str:
    """Return the outcome of an operation: its first error, or else the state or offset it read."""
    api, answer = operation.api, operation.answer
    if answer is None:
        return _NO_ANSWER
    error = next((code for code in _values(answer, "error_code") if code != "NONE"), None)
    if error is not None:
        return error
    if api in ("DescribeGroups", "ConsumerGroupDescribe"):
        return next(_values(answer, "group_state"), "NONE")
    if api == "OffsetFetch":
        offset = next(_values(answer, "committed_offset"), "-1")
        return "no offset" if offset == "-1" else f"offset {offset}"
    return "NONE"


def _values(answer: object, name: str) -> Iterator[str]:
    """Return the values of every field of that name, outermost first."""
    if isinstance(answer, Mapping):
        if name in answer:
            yield str(answer[name])
        for item in answer.values():
            yield from _values(item, name)
    elif isinstance(answer, Sequence) and not isinstance(answer, str | bytes):
        for item in answer:
            yield from _values(item, name)


_Answer = tuple[str, str]
"""An API, and the outcome of its operation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownFinding:
    """A case in which Kafka is not atomic, and the answers that identify it."""

    name: str
    meaning: str
    source: str
    families: frozenset[str]
    """The coordinators that have it."""
    answers: frozenset[_Answer]
    """The answers that must all be among those that contradict each other."""


KNOWN: Final = (
    KnownFinding(
        name="dead-group-comes-back-while-looked-at",
        meaning=(
            "Who finds a group Dead asks again whether it exists. If somebody has made it anew meanwhile, "
            "DeleteGroups is answered NOT_COORDINATOR by the group's coordinator."
        ),
        source="GroupCoordinator#handleDeleteGroups, GroupMetadataManager#groupNotExists (2.8.2, 3.9.2)",
        families=frozenset(("scala",)),
        answers=frozenset((("DeleteGroups", "NOT_COORDINATOR"),)),
    ),
    KnownFinding(
        name="dead-group-comes-back-while-offsets-are-deleted",
        meaning="As before, of OffsetDelete.",
        source="GroupCoordinator#handleDeleteOffsets, GroupMetadataManager#groupNotExists (2.8.2, 3.9.2)",
        families=frozenset(("scala",)),
        answers=frozenset((("OffsetDelete", "NOT_COORDINATOR"),)),
    ),
    KnownFinding(
        name="offsets-deleted-of-a-group-deleted-meanwhile",
        meaning=(
            "OffsetDelete takes the group's lock to look at its state, and again to remove offsets. A "
            "DeleteGroups may come between, and both say NONE, though whichever is first leaves no group to "
            "the other."
        ),
        source=(
            "GroupCoordinator#handleDeleteOffsets, GroupMetadataManager#cleanupGroupMetadata (2.8.2, 3.9.2)"
        ),
        families=frozenset(("scala",)),
        answers=frozenset((("OffsetDelete", "NONE"), ("DeleteGroups", "NONE"))),
    ),
)


def known_finding(history: History, core: Iterable[int], family: str) -> KnownFinding | None:
    """Return the known finding that explains a contradiction, if there is one."""
    reported = {(history.operations[each].api, outcome_of(history.operations[each])) for each in core}
    return next((each for each in KNOWN if family in each.families and each.answers <= reported), None)


_MOVES_MAX: Final = 2_000
"""Smaller than the search's own, so an operation that is hard to rule out is soon kept."""
_SCALE_CHARACTERS: Final = 40


def contradiction(history: History, specification: MachineFactory) -> frozenset[int]:
    """Return a minimal set of operations whose answers contradict each other.

    All other operations still take effect, with any answer.
    """
    everything = frozenset(range(len(history.operations)))
    rivals = frozenset(index for index in everything if history.operations[index].is_rival)
    unheeded: frozenset[int] = frozenset()
    for sparable in (
        everything - rivals,
        *(frozenset((index,)) for index in sorted(everything, reverse=True)),
    ):
        further = unheeded | sparable
        if further != unheeded:
            found = explain(history, specification, unheeded=further, moves_max=_MOVES_MAX)
            unheeded = further if found.finding is SearchOutcome.UNEXPLAINED else unheeded
    return everything - unheeded


def timeline(history: History, core: frozenset[int]) -> tuple[str, ...]:
    """Draw the operations of a core, and all rivals, one per line."""
    shown = [(index, each) for index, each in enumerate(history.operations) if index in core or each.is_rival]
    begin_ms = min(each.asked_ms for _, each in shown)
    end_ms = max(each.asked_ms if each.answered_ms == inf else each.answered_ms for _, each in shown)
    scale = _SCALE_CHARACTERS / max(end_ms - begin_ms, 0.001)
    lines = []
    for index, each in shown:
        is_open = each.answered_ms == inf
        first = int((each.asked_ms - begin_ms) * scale)
        last = _SCALE_CHARACTERS if is_open else int((each.answered_ms - begin_ms) * scale)
        bar = " " * first + "├" + "─" * max(last - first - 1, 0) + ("…" if is_open else "┤")
        mark = "*" if index in core else " "
        reported = f"{label(each.api, each.request)}: {outcome_of(each)}"
        after_ms = each.asked_ms - begin_ms
        lines.append(f"{mark} {after_ms:8.2f} ms  {bar:<{_SCALE_CHARACTERS + 2}} {each.actor:<4} {reported}")
    return tuple(lines)


_COUNTEREXAMPLES_MAX: Final = 5
"""How many rounds of one race on one target are reduced to their contradiction; others are counted."""
_LEFT_OPEN: Final = (SearchOutcome.UNANSWERED, SearchOutcome.UNDECIDED, SearchOutcome.UNEXPLAINED)
KNOWN_PREFIX: Final = "known: "


@dataclass(frozen=True, slots=True, kw_only=True)
class Counterexample:
    """A round that no order explains."""

    race: str
    round_number: int
    finding: str
    """The outcome that it counts as: a `SearchOutcome`, or the name of a known finding."""
    timeline: tuple[str, ...]
    """The requests and answers with their times; `*` marks the answers that contradict each other."""
    meaning: str
    """What Kafka does, if that is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The judgement of the rounds of one race on one target."""

    race: str
    title: str
    target: str
    rounds: int
    findings: Mapping[str, int]
    outcomes: Mapping[str, Mapping[str, int]]
    """The outcomes of the rivals: label to outcome to frequency, most frequent first."""
    counterexamples: tuple[Counterexample, ...]

    @property
    def is_explained(self) -> bool:
        """Whether every round is explained or has a known finding."""
        return not any(self.findings.get(each) for each in _LEFT_OPEN)


@dataclass(slots=True, kw_only=True)
class _Judge:
    """Judges the histories of one target; histories of the same shape are judged once."""

    specification: MachineFactory
    _seen: dict[str, Explanation] = field(default_factory=dict)

    def explanation(self, history: History) -> Explanation:
        shape = history.shape()
        if shape not in self._seen:
            self._seen[shape] = explain(history, self.specification)
        return self._seen[shape]


def judge(
    histories: Sequence[History],
    specification: MachineFactory,
    *,
    target: str,
    progress: Callable[[str], None] = lambda _: None,
) -> tuple[Verdict, ...]:
    """Judge all rounds of one target, race by race."""
    by_race: dict[str, list[History]] = defaultdict(list)
    for history in histories:
        by_race[history.race].append(history)
    judge_of_all = _Judge(specification=specification)
    verdicts = []
    for race in RACES:
        if race.name in by_race:
            progress(f"judging {race.name}")
            verdicts.append(_judge_race(race, by_race[race.name], judge_of_all, target=target))
    return tuple(verdicts)


def _judge_race(race: Race, histories: Sequence[History], judge_of_all: _Judge, *, target: str) -> Verdict:
    findings: Counter[str] = Counter()
    counterexamples: list[Counterexample] = []
    for history in histories:
        finding = judge_of_all.explanation(history).finding
        if (
            finding in (SearchOutcome.EXPLAINED, SearchOutcome.STALE_READ)
            or len(counterexamples) >= _COUNTEREXAMPLES_MAX
        ):
            findings[finding] += 1
            continue
        example = _counterexample(history, finding, judge_of_all.specification)
        findings[example.finding] += 1
        if example.finding not in [each.finding for each in counterexamples if each.meaning]:
            counterexamples.append(example)
    return Verdict(
        race=race.name,
        title=race.title,
        target=target,
        rounds=len(histories),
        findings=dict(findings.most_common()),
        outcomes=_outcomes(histories),
        counterexamples=tuple(counterexamples),
    )


def _counterexample(
    history: History, finding: SearchOutcome, specification: MachineFactory
) -> Counterexample:
    core = contradiction(history, specification) if finding is SearchOutcome.UNEXPLAINED else frozenset[int]()
    known = known_finding(history, core, specification.family)
    return Counterexample(
        race=history.race,
        round_number=history.round_number,
        finding=finding if known is None else f"{KNOWN_PREFIX}{known.name}",
        timeline=timeline(history, core),
        meaning="" if known is None else f"{known.meaning} Source: {known.source}.",
    )


def _outcomes(histories: Sequence[History]) -> Mapping[str, Mapping[str, int]]:
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for history in histories:
        for each in history.operations:
            if each.is_rival:
                counts[label(each.api, each.request)][outcome_of(each)] += 1
    return {what: dict(counts[what].most_common()) for what in sorted(counts)}

"""The results of judging captures."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from harness.captures.excerpts import OF_GROUP_MAX, Excerpt, PageRoom
from harness.captures.notes import Notes
from harness.replay.finding import Replayed, total
from harness.replay.group import FINDINGS_OF_GROUP_MAX
from harness.report.model.answer_coverage import Answered


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

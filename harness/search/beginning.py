"""Choose the first moves of a conversation, by what it is about."""

from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Final

from harness.search.access_requests import entries, readers
from harness.search.moves import Ask, GroupType, Move
from harness.search.openings import (
    DEAD_LETTERS,
    makes_producer,
    producer_made,
    share_group_configured,
    share_states_made,
    topic_ids_asked,
    topic_made,
)
from harness.search.plan import Plan
from harness.search.tempo import Tempo
from harness.search.theme import Theme

_EARLIEST_SHARE: Final = 0.5
_IDS_SHARE: Final = 0.3
_TOPIC_SHARE: Final = 0.2
_READS_SHARE: Final = 0.6
_CREATES_DEAD_LETTERS: Final = "errors.deadletterqueue.auto.create.topics.enable"
_OF_DEAD_LETTERS: Final = {"errors.deadletterqueue.topic.name": DEAD_LETTERS}
_READS_COMMITTED: Final = {"share.isolation.level": "read_committed"}
_MORE_OF_SHARES: Final[Sequence[Mapping[str, str]]] = (
    {},
    {"share.record.lock.duration.ms": "15000"},
    {"share.delivery.count.limit": "2"},
    _READS_COMMITTED,
    _OF_DEAD_LETTERS,
)
"""More configurations of a share group, each of some conversations."""


def beginning(
    rng: Random, plan: Plan, served: Mapping[str, Sequence[int]], tempo: Tempo, begins: Sequence[Move]
) -> Iterator[Move]:
    """Yield the first moves: those of the continued conversation, or what makes later ones possible.

    On a broker that is shared, another conversation may have made the topic of transactions already.

    Args:
        rng: makes the random choices.
        plan: what the conversation is about.
        served: the versions that both sides serve, by API.
        tempo: how long things may take.
        begins: moves of another conversation, which this one continues.
    """
    name, group_type = plan.cast[0].name, plan.cast[-1].group_type
    is_needed = not begins or tempo.shares_broker
    if plan.has_transactions and is_needed and not makes_producer(begins):
        yield from producer_made(name, plan.versions)
    if begins:
        yield from begins
        return
    if "Metadata" in plan.versions and (group_type is GroupType.SHARE or rng.random() < _IDS_SHARE):
        yield topic_ids_asked(name, plan.versions)
    if plan.theme is Theme.ACCESS:
        yield _rights_given(rng, name, plan)
    if "IncrementalAlterConfigs" not in served or tempo.shares_broker:
        return
    if group_type is not GroupType.CLASSIC and rng.random() < _TOPIC_SHARE:
        yield topic_made(name, rng.randint(1, 6))
    if group_type is GroupType.SHARE:
        yield from _share_group_opened(rng, name, plan, served)


def _rights_given(rng: Random, name: str, plan: Plan) -> Ask:
    """Return the request that gives the principals some rights; mostly they may be members."""
    given = (*(readers() if rng.random() < _READS_SHARE else ()), *entries(rng, 2, 6))
    arguments = {"version": plan.versions["CreateAcls"][0], "creations": given}
    return Ask(actor=name, api="CreateAcls", arguments=arguments)


def _share_group_opened(
    rng: Random, name: str, plan: Plan, served: Mapping[str, Sequence[int]]
) -> Iterator[Move]:
    """Yield what lets a share group read, and configures it."""
    has_states = "InitializeShareGroupState" in served and rng.random() < _EARLIEST_SHARE
    if has_states:
        yield from share_states_made(name, served["FindCoordinator"][-1])
    if has_states or rng.random() < _EARLIEST_SHARE:
        yield share_group_configured(name, _more_of_shares(rng, plan, served))


def _more_of_shares(rng: Random, plan: Plan, served: Mapping[str, Sequence[int]]) -> Mapping[str, str]:
    # Between releases, a configuration that one of them lacks would be a difference.
    if "DescribeConfigs" not in served:
        return {}
    if _CREATES_DEAD_LETTERS in plan.config:
        return _OF_DEAD_LETTERS
    return _READS_COMMITTED if plan.theme is Theme.TRANSACTIONS else rng.choice(_MORE_OF_SHARES)

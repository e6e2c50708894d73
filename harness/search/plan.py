"""Decide what a conversation will be about, before it is made: its cast, configuration and theme."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from harness.search.moves import (
    CASTS,
    CASTS_WITH_GUESTS,
    EVERYBODY,
    Act,
    Ask,
    GroupType,
    Move,
    Speaker,
    Wait,
    speaker_of,
)
from harness.search.openings import OPENING
from harness.search.request_table import NEXT_IN_TRANSACTION, REQUESTS, asked
from harness.search.tempo import Tempo
from harness.search.theme import SHARES, USUAL, Theme

HEARTBEATS: Final[Mapping[GroupType, str]] = {
    GroupType.CONSUMER: "ConsumerGroupHeartbeat",
    GroupType.SHARE: "ShareGroupHeartbeat",
    GroupType.STREAMS: "StreamsGroupHeartbeat",
}
"""The heartbeat requests of the newer group types."""
_SHARES: Final[Mapping[GroupType, int]] = {
    GroupType.CLASSIC: 4,
    GroupType.CONSUMER: 4,
    GroupType.SHARE: 3,
    GroupType.STREAMS: 2,
}
"""Relative frequencies of group types in conversations."""
_TRANSACTIONS_SHARE: Final = 0.3
_NEEDS: Final[Mapping[Theme, str]] = {
    Theme.ACCESS: "CreateAcls",
    Theme.STATES: "InitializeShareGroupState",
}
"""The request without which there is no conversation of a theme."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a conversation is about."""

    cast: tuple[Speaker, ...]
    """The actors, in the order of the cast; most of them use the protocol of the last one."""
    config: Mapping[str, str]
    """The configuration of the broker."""
    versions: Mapping[str, Sequence[int]]
    """The versions of the requests that may be sent, by API."""
    theme: Theme | None
    has_transactions: bool


def planned(
    rng: Random,
    versions: Mapping[str, Sequence[int]],
    tempo: Tempo,
    config: Mapping[str, str] | None,
    begins: Sequence[Move],
) -> Plan:
    """Plan a conversation.

    Args:
        rng: makes the random choices.
        versions: the versions that both sides serve, by API.
        tempo: how long things may take.
        config: the broker configuration; chosen at random if None.
        begins: moves of another conversation, which this one continues.
    """
    theme = None if tempo.shares_broker else _theme(rng, versions, begins)
    # Who may not do something finds out with any request.
    themes = [] if theme is None else [theme]
    themes += [rng.choice([*Theme])] if theme is Theme.ACCESS else []
    is_begun = any(isinstance(each, Ask) and each.api in NEXT_IN_TRANSACTION for each in begins)
    wants = is_begun or theme is Theme.TRANSACTIONS or rng.random() < _TRANSACTIONS_SHARE
    is_able = {"FindCoordinator", "InitProducerId"} <= versions.keys() and not tempo.restarts
    has_transactions = wants and is_able
    if tempo.restarts:
        # Share groups keep their state with another coordinator, which loads at a time of its own.
        versions = {api: served for api, served in versions.items() if api != HEARTBEATS[GroupType.SHARE]}
    names = _names(rng, versions, begins, theme)
    cast = tuple(each for each in EVERYBODY if each.name in names)
    return Plan(
        cast=cast,
        config=_config(rng, tempo, cast, theme) if config is None else config,
        versions=asked(versions, tempo, has_transactions=has_transactions, themes=themes),
        theme=theme,
        has_transactions=has_transactions,
    )


def _theme(rng: Random, versions: Mapping[str, Sequence[int]], begins: Sequence[Move]) -> Theme | None:
    """Choose a theme of those that are served; of a continued conversation, the one that it has."""
    if any(speaker_of(each).principal for each in _begun(begins)):
        return Theme.ACCESS
    asked_then = {each.api for each in begins if isinstance(each, Ask)}
    of_begun = [REQUESTS[api].theme for api in sorted(asked_then & REQUESTS.keys() - {*OPENING})]
    begun = next((each for each in of_begun if each is not None), None)
    if begun is not None:
        return begun
    # Who is there decides on rights, so a conversation without them gets none later.
    served = [each for each in Theme if _NEEDS.get(each) is None or (_NEEDS[each] in versions and not begins)]
    chosen: Theme | None = rng.choices((None, *served), (USUAL, *(SHARES[each] for each in served)))[0]
    return chosen


def _begun(begins: Sequence[Move]) -> set[str]:
    """Return the actors of a continued conversation."""
    return {each.actor for each in begins if not isinstance(each, Wait | Act)}


def _names(
    rng: Random, versions: Mapping[str, Sequence[int]], begins: Sequence[Move], theme: Theme | None
) -> Sequence[str]:
    """Return the actors: a cast that includes those of the continued conversation, or any cast."""
    casts = CASTS_WITH_GUESTS if theme is Theme.ACCESS else CASTS
    if begun := _begun(begins):
        wide = [each for some in casts.values() for each in some if begun <= {*each}]
        return rng.choice(wide) if wide else tuple(begun)
    return rng.choice(casts[GroupType.SHARE if theme is Theme.STATES else _group_type(rng, versions)])


def _group_type(rng: Random, versions: Mapping[str, Sequence[int]]) -> GroupType:
    """Choose the group type of the conversation, of those that are served."""
    served = [each for each in GroupType if HEARTBEATS.get(each, "JoinGroup") in versions]
    return rng.choices(served, [_SHARES[each] for each in served])[0]


def _config(rng: Random, tempo: Tempo, cast: Sequence[Speaker], theme: Theme | None) -> Mapping[str, str]:
    if theme is not None and theme in tempo.theme_configs:
        return rng.choice(tempo.theme_configs[theme])
    return rng.choice((*tempo.configs, *tempo.configs_of.get(cast[-1].group_type, ())))

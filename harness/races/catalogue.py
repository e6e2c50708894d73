"""The catalogue of races, and the findings that they are known to show of Kafka itself."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Final

from harness.diff.expectations import Entry, load_expectations
from harness.diff.judge import TargetInfo
from harness.races.moves import Move, SetUp
from harness.results.replay_results import ReplayFinding
from harness.trace.events import TraceHeader


class RaceError(Exception):
    """A race cannot be run as requested; the message names the cause and the remedy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Race:
    """Operations that run concurrently on groups in one state."""

    name: str
    title: str
    """A description of the race in one sentence."""
    set_up: SetUp
    always: tuple[Move, ...]
    """Rivals of every round."""
    sometimes: tuple[Move, ...]
    """Further rivals, of which the seed chooses some for each round."""
    sometimes_max: int = 2

    @property
    def deletes(self) -> bool:
        """Whether one DeleteGroups that names many groups is a rival in each of their rounds."""
        return Move.DELETE in self.always


_OF_MEMBER: Final = (
    Move.HEARTBEAT,
    Move.JOIN_KNOWN,
    Move.SYNC,
    Move.LEAVE,
    Move.COMMIT,
)
_OF_ANYBODY: Final = (
    Move.JOIN_NEW,
    Move.JOIN_IN_TWO_STEPS,
    Move.COMMIT_BY_NOBODY,
    Move.COMMIT_AND_FETCH,
    Move.FETCH,
    Move.DESCRIBE,
    Move.DESCRIBE_TWICE,
    Move.DELETE_OFFSETS,
    Move.BEAT_AND_DESCRIBE,
)
_OF_CONSUMERS: Final = (
    Move.CONSUMER_JOIN,
    Move.CONSUMER_COMMIT,
    Move.CONSUMER_DESCRIBE,
    Move.COMMIT_BY_NOBODY,
    Move.FETCH,
)

RACES: Final = (
    Race(
        name="delete-offsets",
        title="A group of nothing but offsets is deleted while somebody uses it.",
        set_up=SetUp.OFFSETS,
        always=(Move.DELETE,),
        sometimes=(Move.HEARTBEAT, Move.JOIN_KNOWN, Move.SYNC, Move.LEAVE, Move.COMMIT, *_OF_ANYBODY),
        sometimes_max=3,
    ),
    Race(
        name="delete-left",
        title="An empty group that remembers a generation is deleted while somebody uses it.",
        set_up=SetUp.LEFT,
        always=(Move.DELETE,),
        sometimes=(*_OF_MEMBER, *_OF_ANYBODY),
        sometimes_max=3,
    ),
    Race(
        name="delete-left-with-offsets",
        title="An empty group with a generation and offsets is deleted while somebody uses it.",
        set_up=SetUp.LEFT_WITH_OFFSETS,
        always=(Move.DELETE,),
        sometimes=(*_OF_MEMBER, *_OF_ANYBODY),
        sometimes_max=3,
    ),
    Race(
        name="delete-pending",
        title="A group that has given out an id is deleted while its bearer comes back.",
        set_up=SetUp.PENDING,
        always=(Move.DELETE, Move.JOIN_KNOWN),
        sometimes=(Move.HEARTBEAT, Move.LEAVE, Move.JOIN_NEW, Move.COMMIT_BY_NOBODY, Move.DESCRIBE),
    ),
    Race(
        name="delete-leave",
        title="A group is deleted while its last member leaves.",
        set_up=SetUp.STABLE,
        always=(Move.DELETE, Move.LEAVE),
        sometimes=(Move.HEARTBEAT, Move.COMMIT, Move.FETCH, Move.DESCRIBE, Move.BEAT_AND_DESCRIBE),
    ),
    Race(
        name="delete-twice",
        title="A group is deleted with others while somebody else deletes it alone.",
        set_up=SetUp.LEFT_WITH_OFFSETS,
        always=(Move.DELETE, Move.DELETE),
        sometimes=(Move.COMMIT_AND_FETCH, Move.DELETE_OFFSETS, Move.DESCRIBE, Move.JOIN_NEW),
    ),
    Race(
        name="commit-leave",
        title="A member commits while it leaves.",
        set_up=SetUp.STABLE,
        always=(Move.COMMIT, Move.LEAVE),
        sometimes=(Move.HEARTBEAT, Move.FETCH, Move.DESCRIBE, Move.COMMIT_BY_NOBODY, Move.DELETE_OFFSETS),
    ),
    Race(
        name="join-sync",
        title="The leader brings the assignment while somebody else joins.",
        set_up=SetUp.COMPLETING,
        always=(Move.SYNC, Move.JOIN_NEW),
        sometimes=(Move.HEARTBEAT, Move.COMMIT, Move.DESCRIBE, Move.LEAVE, Move.JOIN_KNOWN),
    ),
    Race(
        name="join-leave",
        title="Somebody joins while the only member leaves or comes back.",
        set_up=SetUp.STABLE,
        always=(Move.JOIN_NEW, Move.LEAVE),
        sometimes=(Move.JOIN_KNOWN, Move.HEARTBEAT, Move.COMMIT, Move.DESCRIBE, Move.JOIN_IN_TWO_STEPS),
    ),
    Race(
        name="first-joins",
        title="Several are the first to join a group that was not there.",
        set_up=SetUp.NOTHING,
        always=(Move.JOIN_NEW, Move.JOIN_IN_TWO_STEPS),
        sometimes=(Move.JOIN_NEW, Move.COMMIT_BY_NOBODY, Move.DESCRIBE, Move.DELETE),
    ),
    Race(
        name="static-twins",
        title="Two claim the instance id of a member at once.",
        set_up=SetUp.STATIC,
        always=(Move.JOIN_STATIC, Move.JOIN_STATIC),
        sometimes=(Move.HEARTBEAT, Move.COMMIT, Move.SYNC, Move.LEAVE, Move.DESCRIBE),
    ),
    Race(
        name="offset-delete",
        title="Offsets of an empty group are deleted while others commit them and look.",
        set_up=SetUp.LEFT_WITH_OFFSETS,
        always=(Move.DELETE_OFFSETS, Move.COMMIT_AND_FETCH),
        sometimes=(Move.DELETE_OFFSETS, Move.FETCH, Move.DESCRIBE, Move.JOIN_NEW, Move.DELETE),
    ),
    Race(
        name="consumer-first-joins",
        title="Several consumers are the first to join a group that was not there.",
        set_up=SetUp.NO_CONSUMERS,
        always=(Move.CONSUMER_JOIN, Move.CONSUMER_JOIN),
        sometimes=(Move.CONSUMER_JOIN, Move.COMMIT_BY_NOBODY, Move.CONSUMER_DESCRIBE, Move.DELETE),
    ),
    Race(
        name="consumer-beats",
        title="Two heartbeats of one consumer are under way at once, one of which says what it owns.",
        set_up=SetUp.CONSUMER,
        always=(Move.CONSUMER_BEAT, Move.CONSUMER_OWNS),
        sometimes=(*_OF_CONSUMERS, Move.CONSUMER_GIVES_UP),
    ),
    Race(
        name="consumer-handover",
        title="A consumer gives up a partition while another joins.",
        set_up=SetUp.CONSUMER,
        always=(Move.CONSUMER_JOIN, Move.CONSUMER_GIVES_UP),
        sometimes=(*_OF_CONSUMERS, Move.CONSUMER_BEAT),
    ),
    Race(
        name="consumer-beat-leave",
        title="A consumer heartbeats while it leaves.",
        set_up=SetUp.CONSUMER,
        always=(Move.CONSUMER_BEAT, Move.CONSUMER_LEAVE),
        sometimes=_OF_CONSUMERS,
    ),
    Race(
        name="consumer-delete-leave",
        title="A consumer group is deleted while its last member leaves.",
        set_up=SetUp.CONSUMER,
        always=(Move.DELETE, Move.CONSUMER_LEAVE),
        sometimes=(Move.CONSUMER_BEAT, Move.CONSUMER_COMMIT, Move.CONSUMER_DESCRIBE, Move.FETCH),
    ),
    Race(
        name="consumer-downgrade",
        title="A classic consumer joins while the only consumer of its group heartbeats.",
        set_up=SetUp.CONSUMER,
        always=(Move.JOIN_AS_CLASSIC_CONSUMER, Move.CONSUMER_BEAT),
        sometimes=(Move.CONSUMER_LEAVE, Move.CONSUMER_COMMIT, Move.CONSUMER_DESCRIBE, Move.DESCRIBE),
    ),
    Race(
        name="consumer-upgrade",
        title="A consumer joins a classic group while its only member heartbeats.",
        set_up=SetUp.CLASSIC_CONSUMER,
        always=(Move.CONSUMER_JOIN, Move.HEARTBEAT),
        sometimes=(Move.LEAVE, Move.COMMIT, Move.CONSUMER_DESCRIBE, Move.DESCRIBE),
    ),
)


def has_race(name: str, *, consumer_groups: bool) -> bool:
    """Return whether a release has the features that a race needs; a removed race needs none."""
    return consumer_groups or not any(race.name == name and race.set_up.is_of_consumers for race in RACES)


def race_of(group_id: str) -> str:
    """Return the race that a group is of, by its name; the whole name if it is of none."""
    longest_first = sorted((race.name for race in RACES), key=len, reverse=True)
    return next((name for name in longest_first if f"-{name}-" in group_id), group_id)


def select_races(patterns: Sequence[str]) -> tuple[Race, ...]:
    """Choose races by name or glob; no pattern chooses all.

    Raises:
        RaceError: a pattern matches none.
    """
    for pattern in patterns:
        if not any(fnmatchcase(race.name, pattern) for race in RACES):
            names = ", ".join(race.name for race in RACES)
            raise RaceError(f"no race matches {pattern!r}; there is {names}")
    return tuple(
        race for race in RACES if not patterns or any(fnmatchcase(race.name, each) for each in patterns)
    )


@cache
def _entries() -> tuple[Entry, ...]:
    return tuple(each.entry for each in load_expectations([Path(__file__).with_name("known.toml")]))


def why_known(finding: ReplayFinding, signature: str, header: TraceHeader, *, today: date) -> str | None:
    """Return why a finding of a race is known of its target; None if it is not.

    Args:
        finding: the finding.
        signature: its signature.
        header: what the run's folder says of the target.
        today: the date by which expiry is judged.
    """
    info = TargetInfo(
        run_id=header.run_id, target=header.target, spec=header.spec, profile=header.profile, oracle=None
    )
    race = f"races/{race_of(finding.group)}"
    for each in _entries():
        if each.signature == signature and each.concerns(race, info) and not each.has_expired(today):
            return f"{each.reason} [{each.link}]"
    return None

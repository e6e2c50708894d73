"""Creation of a race's rounds: which rivals take part, when each starts, and which share a DeleteGroups.

All random choices depend on the seed, the race and the round, so a round can be recreated without those
before it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random
from typing import Final

from harness.races.catalogue import Race, SetUp, look_back, says, set_up
from harness.scenario.conversation import Conversation
from harness.scenario.script import Send, Step

_RIVAL_NAMES: Final = ("bob", "cid", "dee", "eve", "fay", "gus")
_DELAY_MAX_US: Final = 2_000
_COHORT_SIZES: Final = (1, 4, 16, 48, 64)
_FILLERS: Final = (0, 0, 100, 400)
"""Further groups that a shared DeleteGroups names: while it removes them, the others stay Dead."""
_COHORT_SIZE: Final = 24
"""The size for races without DeleteGroups: enough at once to keep a broker busy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Strand:
    """The steps of one rival."""

    actor: str
    steps: tuple[Step, ...]
    delay_us: int
    """How long after its round's start its first request is sent; later ones are sent without delay."""
    is_shared: bool = False
    """Whether it is the DeleteGroups that names the groups of all rounds of a cohort."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One group, its set-up, its rivals, and the look back."""

    race: str
    number: int
    before: tuple[Step, ...]
    strands: tuple[Strand, ...]
    after: tuple[Step, ...]
    steps: tuple[Step, ...]
    """All steps in the order in which they were recorded; a reference to a step is an index into these."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundBatch:
    """Rounds that run at once; if the race deletes, one request names all their groups."""

    rounds: tuple[Round, ...]
    shuffle_seed: int
    """Decides the order in which the shared request names the groups."""
    filler_count: int = 0
    """The number of further groups in that request, each with an offset, that no other request uses."""

    @property
    def filler(self) -> Round:
        """The round of such a group, which has a set-up alone."""
        conversation = Conversation()
        set_up(conversation, SetUp.OFFSETS)
        steps = tuple(conversation.steps)
        return replace(self.rounds[0], before=steps, strands=(), after=(), steps=steps)


def cohorts(race: Race, *, round_count: int, seed: int) -> Iterator[RoundBatch]:
    """Yield the rounds of a race, in cohorts."""
    chance = Random(f"{seed}/{race.name}")  # noqa: S311 - what a seed decides is to be made again, not secret
    number = 0
    while number < round_count:
        size = chance.choice(_COHORT_SIZES) if race.deletes else _COHORT_SIZE
        size = min(size, round_count - number)
        rounds = tuple(make_round(race, number=number + each, seed=seed) for each in range(size))
        yield RoundBatch(
            rounds=rounds,
            shuffle_seed=chance.randrange(1 << 32),
            filler_count=chance.choice(_FILLERS) if race.deletes else 0,
        )
        number += size


def make_round(race: Race, *, number: int, seed: int) -> Round:
    """Make one round of a race."""
    chance = Random(f"{seed}/{race.name}/{number}")  # noqa: S311 - likewise
    count = chance.randint(1 if len(race.always) == 1 else 0, race.sometimes_max)
    moves = [*race.always, *chance.sample(race.sometimes, min(count, len(race.sometimes)))]
    conversation = Conversation()
    member = set_up(conversation, race.set_up)
    begin = len(conversation.steps)
    strands: list[Strand] = []
    for index, move in enumerate(moves):
        first, name = len(conversation.steps), _RIVAL_NAMES[index]
        rival = conversation.actor(name)
        says(rival, *(make(rival, member) for make in move))
        strands.append(
            Strand(
                actor=name,
                steps=tuple(conversation.steps[first:]),
                delay_us=chance.choice((0, 0, chance.randrange(_DELAY_MAX_US))),
                is_shared=index == 0 and race.deletes,
            )
        )
    end = len(conversation.steps)
    look_back(conversation, member, race.set_up)
    chance.shuffle(strands)
    return Round(
        race=race.name,
        number=number,
        before=tuple(conversation.steps[:begin]),
        strands=tuple(strands),
        after=tuple(conversation.steps[end:]),
        steps=tuple(conversation.steps),
    )


def requests_of(steps: tuple[Step, ...]) -> tuple[Send, ...]:
    """Return the requests among some steps."""
    return tuple(step for step in steps if isinstance(step, Send))

"""Search on a target that takes real time: rounds of hundreds of conversations, made on the reference.

A difference is reproduced alone, explained with behaviours that are then switched in the reference, reported
at once, and shrunk: in virtual time if it is explained, or else on the target itself.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from harness.runner.broker_actions import acts_on_broker
from harness.scenario.script import Script
from harness.search.comparison import Comparison, Heard
from harness.search.corpus import Corpus
from harness.search.differences import first_difference
from harness.search.driven import DrivenTarget
from harness.search.hunt import Cluster, Harvest, scripted
from harness.search.judging import broke_off, reason_of_end
from harness.search.made import Made
from harness.search.rounds import RoundsAhead, conversations_for
from harness.search.shrinking import Candidate, FirstOf, minimal, one_by_one, shrunk
from harness.search.sides import Side
from harness.search.steering import Steering
from harness.targets.base.interface import Target

_FIRST_ROUND: Final = 100
"""The most conversations in the first round."""
_ROUNDS_AHEAD: Final = 2
"""How many rounds are made ahead: a short one is driven sooner than a long one behind it is made."""
_CANDIDATES_AT_ONCE: Final = 48
_SHOWN_AGAIN: Final = 2
"""How often a difference must be reproduced alone."""
_JUDGED_MAX: Final = 3
"""How often per round a cause is checked for starvation, which takes long."""
_FLAKY_MAX: Final = 3
"""How often reproducing a cause may fail before it is ignored."""
_SHRINKING_S: Final = 60.0
"""The longest time for shrinking a difference on a target; the shortest conversation by then is kept."""
Tell = Callable[[Harvest, Cluster | None], None]
KeepFlaky = Callable[[str, Script, Heard], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetOrder:
    """The parameters of a search on a target."""

    target: DrivenTarget
    against: DrivenTarget | None
    """A target to compare with, instead of the reference of the target's profile."""
    steps: int
    seed: int
    batch: int
    """The most conversations in a round."""
    corpus: Corpus | None = None
    """Conversations to continue."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerOrder:
    """The parameters of a search on brokers, as data: nothing is started yet."""

    targets: tuple[Target, ...]
    """The target that is searched, and the one that it is compared with, if any."""
    run_id: str
    steps: int
    seed: int
    batch: int
    jobs: int

    def on_brokers(self, logs: Path, corpus: Corpus) -> TargetOrder:
        """Return the same search on brokers, whose logs go to folders in `logs`."""
        driven = [
            DrivenTarget(each, run_id=self.run_id, logs=logs / each.name, jobs=self.jobs)
            for each in self.targets
        ]
        return TargetOrder(
            target=driven[0],
            against=driven[1] if len(driven) > 1 else None,
            steps=self.steps,
            seed=self.seed,
            batch=self.batch,
            corpus=corpus,
        )


@dataclass(slots=True, kw_only=True)
class Losses:
    """The differences and conversations that a search on a target could not use."""

    flaky: dict[str, int] = field(default_factory=dict)
    """How many differences could not be reproduced alone, by cause."""
    broken_off: dict[str, int] = field(default_factory=dict)
    """How many conversations did not come to their end, by reason."""
    lost: str | None = None
    """Why a target was lost before the end of the search; None if it was not."""


class TargetHunt:
    """One search on a target.

    Attributes:
        harvest: the results so far.
        losses: the differences and conversations that could not be used.
    """

    def __init__(
        self,
        order: TargetOrder,
        tell: Tell,
        progress: Callable[[str], None],
        keep_flaky: KeepFlaky = lambda *_: None,
    ) -> None:
        """Prepare a search.

        Args:
            order: the parameters of the search.
            tell: called after each round with the results so far, and with each cluster: as soon as its
                difference is reproduced, and again when it is shrunk.
            progress: called with a line about what goes on in between.
            keep_flaky: called with the seed, the script and the events of a conversation whose difference
                could not be reproduced.
        """
        self.harvest = Harvest()
        self.losses = Losses()
        self._order = order
        self._tell = tell
        self._progress = progress
        self._keep_flaky = keep_flaky
        self._comparison = Comparison(order.target, order.against)
        self._rounds = RoundsAhead(Steering(order.corpus))
        self._begun = 0
        """How many conversations were ordered."""
        self._by_cause: dict[str, Cluster] = {}
        self._traces: dict[int, Heard] = {}
        """The events of both sides in the shortest conversation, by cluster number."""

    async def run(self) -> Harvest:
        """Search until the ordered number of steps was compared, or a target is lost.

        Raises:
            TargetError: a target could not be started.
        """
        try:
            await self._comparison.begin(self._progress)
            await self._rounds.start()
            while self.harvest.steps < self._order.steps and self.losses.lost is None:
                await self._round()
        finally:
            self.harvest.shrinking_runs = self._comparison.runs
            try:
                await self._rounds.stop()
            finally:
                await self._comparison.stop()
        return self.harvest

    def _order_rounds(self, *, steps: int) -> None:
        """Order the next rounds, as far as more steps are wanted than were made or ordered already."""
        order = self._order
        while self._rounds.round_count < _ROUNDS_AHEAD:
            wanted = order.steps - steps - self._rounds.expected_steps
            if wanted <= 0:
                return
            # The target waits for the first rounds, so they are short: each has as many as all before it.
            at_most = min(order.batch, max(self._begun, _FIRST_ROUND))
            count = conversations_for(wanted, at_most=at_most)
            ordered = self._comparison.round_order(seed=order.seed, begun=self._begun, count=count)
            self._rounds.order(ordered)
            self._begun += ordered.count

    async def _round(self) -> None:
        """Run a round of conversations on the targets, and look into new differences."""
        began_s = time.monotonic()
        harvest = self.harvest
        self._order_rounds(steps=harvest.steps)
        made = await self._rounds.taken()
        conversations = made.conversations
        self._order_rounds(steps=harvest.steps + made.steps)
        harvest.pairs, harvest.branches = made.pairs, made.branches
        heard = await self._comparison.run_made([*conversations.values()])
        self._count(conversations.values(), heard)
        # What a lost target left unanswered is no difference, and nothing can be reproduced any more.
        new = {} if self.losses.lost is not None else await self._new(conversations, heard)
        harvest.comparing_s += time.monotonic() - began_s
        self._tell(harvest, None)
        for cause, (one, seed) in new.items():
            self.losses.lost = self.losses.lost or self._comparison.lost
            is_new = cause not in self._by_cause and self.losses.flaky.get(cause, 0) < _FLAKY_MAX
            if is_new and self.losses.lost is None:
                is_shown_again = await self._look_into(one, cause, seed)
                if not is_shown_again and acts_on_broker(one.script):
                    is_shown_again = await self._look_for_origin(conversations, cause)
                if not is_shown_again:
                    self.losses.flaky[cause] = self.losses.flaky.get(cause, 0) + 1
                    self._keep_flaky(seed, one.script, heard[one.script.id])

    async def _new(
        self, made: Mapping[str, Made], heard: Mapping[str, Heard]
    ) -> Mapping[str, tuple[Made, str]]:
        """Return a conversation and its seed for each new cause; count conversations with known causes."""
        new: dict[str, tuple[Made, str]] = {}
        judged = Counter[str]()
        for seed, each in made.items():
            answered = heard[each.script.id]
            found = await self._comparison.quick_difference(each.script, answered)
            cause = None if found is None else found.cause
            if cause is None or cause in new or judged[cause] >= _JUDGED_MAX:
                continue
            if (known := self._by_cause.get(cause)) is not None:
                known.count += 1
                continue
            judged[cause] += 1
            found = await self._comparison.difference(each.script, answered)
            if found is not None:
                new.setdefault(found.cause, (each, seed))
        return new

    def _count(self, made: Collection[Made], heard: Mapping[str, Heard]) -> None:
        """Count the compared steps of each conversation; end the search if none came to its end.

        A restart may cost all conversations the log; the next one has a broker of its own.
        """
        self.losses.lost = self._comparison.lost
        ended = 0
        for ours, others in heard.values():
            self.harvest.conversations += 1
            reason = broke_off(ours) or broke_off(others)
            if reason is None:
                ended += 1
                self.harvest.steps += 1 + max((each.step for each in ours), default=-1)
            else:
                named = reason_of_end(reason)
                self.losses.broken_off[named] = self.losses.broken_off.get(named, 0) + 1
        if made and not ended and not any(acts_on_broker(each.script) for each in made):
            self.losses.lost = self.losses.lost or "no conversation of a round came to its end"

    async def _look_into(self, made: Made, cause: str, seed: str) -> bool:
        """Reproduce a difference, report it, and shrink it; return whether it could be reproduced."""
        self._progress(f"looking into {cause} (seed {seed})")
        again = [await self._comparison.alone(made.script) for _ in range(_SHOWN_AGAIN)]
        found, heard = again[-1]
        if found is None or any(each is None or each.cause != cause for each, _ in again):
            return False
        cluster = Cluster(
            difference=found,
            behaviours=await self._comparison.explained(made.script, found, heard[0]),
            candidate=Candidate(moves=made.moves, broker_config=made.script.broker_config),
            script=made.script,
            seed=seed,
            after_steps=self.harvest.steps,
            beside=self._comparison.switched,
            is_mixture=False,
        )
        self._traces[len(self.harvest.clusters)] = heard
        self.harvest.clusters.append(cluster)
        self._by_cause[cause] = cluster
        # Reported before shrinking, so that the finding is not lost if something fails meanwhile.
        self._tell(self.harvest, cluster)
        await self._shrink(cluster, cause)
        if cluster.is_explained and not self._comparison.has_two_targets:
            self._comparison.switch(cluster.behaviours)
        return True

    async def _look_for_origin(self, made: Mapping[str, Made], cause: str) -> bool:
        """Look into the conversation that costs all those of a round their log; return whether one does.

        Args:
            made: the conversations of the round, by seed, which restart the coordinator together.
            cause: the cause of the difference that one of the others showed.
        """

        async def shows(seeds: Sequence[str]) -> bool:
            some = [made[seed] for seed in seeds]
            heard = await self._comparison.run_made(some)
            for each in some:
                found = await self._comparison.quick_difference(each.script, heard[each.script.id])
                if found is not None and found.cause == cause:
                    return True
            return False

        if not await shows([*made]):
            return False
        seed, *others = await minimal([*made], one_by_one(shows))
        return not others and await self._look_into(made[seed], cause, seed)

    async def _shrink(self, cluster: Cluster, cause: str) -> None:
        """Shrink a cluster's conversation; keep the longer one if the shorter one shows no difference."""
        other = await self._comparison.like_target(cluster.script, cluster.behaviours, cause)
        if other is not None:
            candidate = await self._virtually(cluster, cause, other)
            if await self._takes(cluster, candidate, cause):
                return
        candidate = await shrunk(cluster.candidate, self._first_on_targets(cause))
        await self._takes(cluster, candidate, cause)

    async def _takes(self, cluster: Cluster, candidate: Candidate, cause: str) -> bool:
        """Give a cluster another conversation if it shows the difference when run alone on the target."""
        script = scripted(candidate)
        assert script is not None, "what is shrunk can be said"
        found, heard = await self._comparison.alone(script)
        if found is None or found.cause != cause:
            return False
        cluster.difference, cluster.candidate, cluster.script = found, candidate, script
        if not cluster.is_explained:
            cluster.behaviours = await self._comparison.explained(script, found, heard[0])
        self._traces[self.harvest.clusters.index(cluster)] = heard
        self._tell(self.harvest, cluster)
        return True

    async def _virtually(self, cluster: Cluster, cause: str, other: Side) -> Candidate:
        """Shrink in virtual time, with a reference that answers as the target does."""
        side = self._comparison.side

        async def still(tried: Candidate) -> bool:
            await asyncio.sleep(0)
            script = scripted(tried)
            if script is None:
                return False
            found = first_difference(await other.run(script), await side.run(script))
            return found is not None and found.cause == cause

        return await shrunk(cluster.candidate, one_by_one(still))

    def _first_on_targets(self, cause: str) -> FirstOf[Candidate]:
        """Return a function that finds the first candidate that still shows a cause, trying many at once."""
        until_s = time.monotonic() + _SHRINKING_S

        async def first_of(candidates: Sequence[Candidate]) -> int | None:
            for start in range(0, len(candidates), _CANDIDATES_AT_ONCE):
                if self._comparison.lost is not None or time.monotonic() > until_s:
                    return None
                tried = candidates[start : start + _CANDIDATES_AT_ONCE]
                scripts = [_numbered(*each) for each in enumerate(tried)]
                found = await self._comparison.first_of(scripts, cause)
                if found is not None:
                    self._progress(f"shrunk to {len(tried[found].moves)} moves")
                    return start + found
            return None

        return first_of

    def traces(self, cluster: Cluster) -> Heard:
        """Return the events of both sides in a cluster's shortest conversation."""
        return self._traces[self.harvest.clusters.index(cluster)]


def flaky_line(cause: str, count: int) -> str:
    """Return a line about differences that could not be reproduced alone."""
    return f"{count} times not shown again alone: {cause}"


def _numbered(number: int, candidate: Candidate) -> Script | None:
    """Return a candidate's script with an id of its own; None if its moves do not make a valid script."""
    script = scripted(candidate)
    return None if script is None else replace(script, id=f"search/tried/{number}")

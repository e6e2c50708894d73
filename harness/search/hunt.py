"""Search: make conversations on one reference, compare another's, and shrink and explain differences.

Behaviours that explain a difference are then switched in the first reference, so that only new differences
remain. Later differences with the cause of an unexplained one are only counted.
"""

import asyncio
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from harness.diff.model import Difference
from harness.scenario.errors import ScenarioError
from harness.scenario.script import Script
from harness.search.corpus import Corpus
from harness.search.coverage import Pair
from harness.search.differences import Explainer, found_difference, has_failed, is_failure
from harness.search.made import Made
from harness.search.moves import script_of
from harness.search.mutated import mutated
from harness.search.request_table import REQUESTS
from harness.search.shrinking import Candidate, one_by_one, shrunk
from harness.search.sides import Side
from harness.search.steering import Steering
from harness.targets.reference.variants import VariantTarget, variant_of
from harness.trace.events import Event
from harness.wire.schema import has_version

SCRIPT_ID: Final = "search/made/conversation"
"""The script id of every made conversation: the reference draws ids by it, so a shrunk one draws the same."""
_CONSUMER_GROUPS: Final = "consumer_groups"


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """The parameters of a search."""

    target: VariantTarget
    """The reference on which conversations are made."""
    against: VariantTarget
    """The reference that they are compared with."""
    mutant: str | None = None
    """The id of a fault to put in the code of `against`; searched for with `stops_at_first`."""
    steps: int
    seed: int
    stops_at_first: bool = False
    corpus: Corpus | None = None
    """Conversations to continue, so that new ones reach more; if None, every conversation begins anew."""

    @property
    def is_of_one_release(self) -> bool:
        """Whether both sides are one release, one with a fault: only such a search stops at the first."""
        return self.stops_at_first


@dataclass(slots=True, kw_only=True)
class Cluster:
    """Differences of one cause, with the shortest conversation that shows it."""

    difference: Difference
    behaviours: tuple[str, ...]
    """The behaviours that account for the differences, if any do."""
    candidate: Candidate
    script: Script
    seed: str
    """The seed of the conversation in which the difference was first found."""
    after_steps: int
    """How many steps had been compared by then."""
    beside: tuple[str, ...]
    """The behaviours that were already switched when the difference was found."""
    is_mixture: bool
    """Whether it only shows that behaviours of two releases do not work together in one reference."""
    count: int = 1
    """How many conversations had this as their first difference."""

    @property
    def is_explained(self) -> bool:
        """Whether named behaviours account for the differences."""
        return bool(self.behaviours)


@dataclass(slots=True, kw_only=True)
class Harvest:
    """The results of a search."""

    clusters: list[Cluster] = field(default_factory=list)
    mixtures: list[Cluster] = field(default_factory=list)
    """Failures of no release: the switched behaviours do not work together."""
    conversations: int = 0
    steps: int = 0
    """How many steps were compared."""
    shrinking_runs: int = 0
    pairs: Collection[Pair] = ()
    """The pairs of a state and an answered request that were reached."""
    branches: int = 0
    """How many branches of the reference were taken, if Python reports them."""
    comparing_s: float = 0.0
    """Processor time for making and comparing conversations, without shrinking and explaining."""

    @property
    def steps_a_second(self) -> float:
        """How many steps were made and compared per second."""
        return self.steps / self.comparing_s if self.comparing_s else 0.0


Tell = Callable[[Harvest, Cluster | None], None]
"""Called after each conversation with the results so far, and with the new cluster, if any."""


class Hunt:
    """One search."""

    def __init__(self, order: Order, tell: Tell) -> None:
        """Prepare a search.

        Raises:
            TargetError: there is no such mutant.
        """
        self._order = order
        self._tell = tell
        self._plain = Side(order.target)
        self._walked = self._plain
        self._target = order.target
        self._other = Side(order.against) if order.mutant is None else mutated(order.against, order.mutant)
        self._explainer = Explainer()
        self._switched: tuple[str, ...] = ()
        self._versions: Mapping[str, Sequence[int]] = {}
        self._by_cause: dict[str, list[Cluster]] = {}
        self._steering = Steering(order.corpus)
        self.harvest = Harvest()

    async def run(self) -> Harvest:
        """Search until the ordered number of steps was compared."""
        harvest, order = self.harvest, self._order
        # A fault may keep a reference from starting, and is found then.
        other = self._other if order.mutant is None else self._plain
        self._versions = await common_versions(self._plain, other, of_one_release=order.is_of_one_release)
        while harvest.steps < order.steps:
            # Virtual time never waits: without this sleep, an interrupt would not get through.
            await asyncio.sleep(0)
            began_s = time.process_time()
            seed = f"{order.seed}/{harvest.conversations}"
            made = await self._steering.made(seed, self._walked, self._versions, script_id=SCRIPT_ID)
            difference = await self._compared(made)
            harvest.conversations += 1
            harvest.steps += len(made.script.steps)
            harvest.pairs, harvest.branches = self._steering.pairs, self._steering.branches
            harvest.comparing_s += time.process_time() - began_s
            found = None if difference is None else await self._look_into(made, difference, seed)
            self._tell(harvest, found)
            if found is not None and order.stops_at_first:
                break
        return harvest

    async def _compared(self, made: Made) -> Difference | None:
        """Return the first difference if it is new; if it is known, count it."""
        if not made.has_failed and await self._other.answers_alike(made.script, made.tape):
            if self._switched and not await self._plain.answers_alike(made.script, made.tape):
                await self._count(made.script, await self._other.run(made.script))
            return None
        events = await self._other.run(made.script)
        if self._switched:
            await self._count(made.script, events)
        difference = self._found(await self._walked.run(made.script), events)
        if difference is None:
            return None
        avoided = [each for each in self._by_cause.get(difference.cause, ()) if not each.is_explained]
        for cluster in avoided:
            cluster.count += 1
        return None if avoided else difference

    async def _count(self, script: Script, events: Sequence[Event]) -> None:
        """Count the explained cluster to which the first difference of the plain reference belongs."""
        known = found_difference(await self._plain.run(script), events)
        clusters = [] if known is None else self._by_cause.get(known.cause, [])
        explained = [each for each in clusters if each.is_explained]
        for cluster in explained:
            if len(explained) == 1 or await self._would_go(known, cluster, script, events):
                cluster.count += 1
                break

    async def _would_go(
        self, known: Difference | None, cluster: Cluster, script: Script, events: Sequence[Event]
    ) -> bool:
        """Return whether switching a cluster's behaviours removes a difference."""
        order = self._order
        switched = variant_of(order.target, cluster.behaviours, order.against)
        reported = found_difference(await self._explainer.side(switched).run(script), events)
        return reported != known

    async def _look_into(self, made: Made, difference: Difference, seed: str) -> Cluster:
        cause = difference.cause

        async def still(candidate: Candidate) -> bool:
            script = scripted(candidate)
            if not candidate.moves or script is None:
                return False
            await asyncio.sleep(0)
            self.harvest.shrinking_runs += 1
            reported = await self._difference(script)
            return reported is not None and reported.cause == cause

        first = Candidate(moves=made.moves, broker_config=made.script.broker_config)
        candidate = await shrunk(first, one_by_one(still))
        script = scripted(candidate)
        assert script is not None, "what is shrunk can be said"
        reported = await self._difference(script)
        cluster = Cluster(
            difference=reported or difference,
            behaviours=()
            if self._order.mutant
            else await self._explainer.explain(script, self._target, self._order.against),
            candidate=candidate,
            script=script,
            seed=seed,
            after_steps=self.harvest.steps,
            beside=self._switched,
            is_mixture=await self._is_mixture(script, reported or difference),
        )
        self._avoid(cluster, cause)
        return cluster

    async def _is_mixture(self, script: Script, difference: Difference) -> bool:
        """Return whether only the reference with switched behaviours, which matches no release, fails."""
        if not (self._switched and is_failure(difference.actual)):
            return False
        return not has_failed(await self._plain.run(script))

    async def traces(self, cluster: Cluster) -> tuple[Sequence[Event], Sequence[Event]]:
        """Return both sides' events in a cluster's shortest conversation, without switched behaviours."""
        return await self._plain.run(cluster.script), await self._other.run(cluster.script)

    async def differs(self, script: Script) -> bool:
        """Return whether both sides, without switched behaviours, answer a script differently."""
        return self._found(await self._plain.run(script), await self._other.run(script)) is not None

    async def _difference(self, script: Script) -> Difference | None:
        return self._found(await self._walked.run(script), await self._other.run(script))

    def _found(self, events: Sequence[Event], others: Sequence[Event]) -> Difference | None:
        return found_difference(events, others, of_one_release=self._order.is_of_one_release)

    def _avoid(self, cluster: Cluster, cause: str) -> None:
        kept = self.harvest.mixtures if cluster.is_mixture else self.harvest.clusters
        kept.append(cluster)
        self._by_cause.setdefault(cause, []).append(cluster)
        if _CONSUMER_GROUPS in cluster.behaviours:
            # One side has no consumer groups at all, so there is nothing else to find about them.
            self._versions = {
                api: served for api, served in self._versions.items() if not api.startswith("ConsumerGroup")
            }
        elif cluster.is_explained:
            self._switched = (*self._switched, *cluster.behaviours)
            self._target = variant_of(self._order.target, self._switched, self._order.against)
            self._walked = Side(self._target)


def scripted(candidate: Candidate) -> Script | None:
    """Return the script of a candidate; None if its moves do not make a valid script."""
    try:
        return script_of(candidate.moves, script_id=SCRIPT_ID, broker_config=candidate.broker_config)
    except ScenarioError:
        return None


async def common_versions(
    one: Side, other: Side, *, of_one_release: bool = False
) -> Mapping[str, Sequence[int]]:
    """Return the versions that both sides serve and the codec supports, for each API in `REQUESTS`."""
    ours, theirs = await one.versions(), await other.versions()
    both = {
        api: [each for each in ours[api] if each in theirs[api] and has_version(api, each)]
        for api in REQUESTS
        if api in ours and api in theirs
    }
    return {
        api: served
        for api, served in both.items()
        if served and (of_one_release or not REQUESTS[api].is_of_one_release)
    }

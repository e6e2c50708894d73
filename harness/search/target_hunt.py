"""The search on a target that takes real time: rounds of hundreds of conversations, made on the reference.

A difference is looked into on the target itself: shown again alone, shrunk with many candidates at once, and
explained with behaviours that are switched in the reference.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Final

from harness.diff.raw_difference import RawDifference
from harness.orchestration.starving import reteller_of
from harness.scenario.script import Script
from harness.search.differences import Cause, cause_of, first_difference, has_failed
from harness.search.driven import DrivenTarget
from harness.search.explaining import Explainer, Explanation
from harness.search.hunt import STEPS_EACH, Cluster, Harvest, scripted
from harness.search.judging import Compare, as_run_judges, between_targets, broke_off
from harness.search.maker import Made, Maker
from harness.search.requests import REQUESTS
from harness.search.shrinking import Candidate, FirstOf, one_by_one, shrunk
from harness.search.sides import Side
from harness.search.tempo import REAL
from harness.targets.base.ending import to_its_end
from harness.targets.base.interface import BrokerDescription, Capability
from harness.targets.reference.behaviours import behaviour_sheets
from harness.targets.reference.oracle import oracle_for
from harness.targets.reference.target import reference_profile
from harness.targets.reference.variants import VariantTarget, flipped, variant_of
from harness.trace.events import Event
from harness.wire.schema import API_NAMES, has_version

_CANDIDATES_AT_ONCE: Final = 48
_SHOWN_AGAIN: Final = 2
"""How often a difference is to show again, alone."""
Traces = Mapping[str, Sequence[Event]]
Tell = Callable[[Harvest, Cluster | None], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetOrder:
    """What is wanted of a search on a target."""

    target: DrivenTarget
    against: DrivenTarget | None
    """What it is compared with, in place of the reference of its profile."""
    steps: int
    seed: int
    batch: int
    """How many conversations a round has."""


@dataclass(slots=True, kw_only=True)
class Losses:
    """What a search on a target could not use."""

    flaky: int = 0
    """Differences that did not show again alone."""
    broken_off: dict[str, int] = field(default_factory=dict)
    """By reason, conversations that did not come to their end."""
    lost: str | None = None
    """Why a target was gone before the search was through."""


class TargetHunt:
    """One search on a target.

    Attributes:
        harvest: what was found so far.
        losses: what could not be used.
    """

    def __init__(self, order: TargetOrder, tell: Tell, progress: Callable[[str], None]) -> None:
        self.harvest = Harvest()
        self.losses = Losses()
        self._order = order
        self._tell = tell
        self._progress = progress
        self._explainer = Explainer()
        self._by_cause: dict[Cause, Cluster] = {}
        self._switched: tuple[str, ...] = ()
        self._plain: VariantTarget
        self._other: VariantTarget | None = None
        self._side: Side
        self._base_config: Mapping[str, str] = {}
        self._versions: Mapping[str, Sequence[int]] = {}
        self._compare: Compare
        self._configs: Sequence[Mapping[str, str]] = ()
        self._heard: Mapping[str, tuple[Sequence[Event], Sequence[Event]]] = {}
        """By script, what both sides answered when differences were last looked for."""
        self._traces: dict[int, tuple[Sequence[Event], Sequence[Event]]] = {}
        """By the number of its cluster, how both sides answer the shortest conversation."""

    async def run(self) -> Harvest:
        """Search until as many steps were compared as wanted, or a target is lost.

        Raises:
            TargetError: a target could not be had at all.
        """
        driven = self._driven
        try:
            await self._begin()
            while self.harvest.steps < self._order.steps and self.losses.lost is None:
                await self._round()
        finally:
            for each in driven:
                await to_its_end(each.stop())
        return self.harvest

    @property
    def _driven(self) -> Sequence[DrivenTarget]:
        order = self._order
        return (order.target,) if order.against is None else (order.target, order.against)

    async def _begin(self) -> None:
        descriptions = [await each.begin(self._progress) for each in self._driven]
        order = self._order
        oracle = oracle_for(order.target.target, descriptions[0])
        self._plain = VariantTarget(reference_profile(oracle.profile))
        self._base_config = oracle.base_config
        self._side = Side(self._plain, base_config=self._base_config)
        served = [await self._side.versions(), *(_served(each) for each in descriptions)]
        self._versions = _common(served)
        if order.against is None:
            retell = reteller_of(oracle.profile, oracle.base_config)
            self._compare = as_run_judges(order.target.target.name, oracle.profile, retell)
        else:
            other = oracle_for(order.against.target, descriptions[1])
            self._other = VariantTarget(reference_profile(other.profile))
            self._compare = between_targets
        takes_config = all(Capability.BROKER_CONFIG in each.target.capabilities for each in self._driven)
        self._configs = REAL.configs if takes_config else ({},)

    async def _round(self) -> None:
        """Make conversations, have them on the targets, and look into what is new."""
        began_s = time.monotonic()
        made = await self._make()
        ours, others = await self._had({name: one for name, (one, _) in made.items()})
        new: dict[Cause, tuple[Made, str]] = {}
        for name, (one, seed) in made.items():
            found = await self._difference(one.script, ours[name], others[name])
            if found is None:
                continue
            if (known := self._by_cause.get(cause_of(found))) is not None:
                known.count += 1
            else:
                new.setdefault(cause_of(found), (one, seed))
        self._count({name: one for name, (one, _) in made.items()}, ours, others)
        self.harvest.comparing_s += time.monotonic() - began_s
        self._tell(self.harvest, None)
        for cause, (one, seed) in new.items():
            if self.losses.lost is None and cause not in self._by_cause:
                await self._look_into(one, cause, seed)

    async def _make(self) -> Mapping[str, tuple[Made, str]]:
        """Make a round of conversations, each with its seed, for brokers of one configuration."""
        order, begun = self._order, self.harvest.conversations
        chance = Random(f"{order.seed}/{begun}")  # noqa: S311 - can be repeated, no secret
        config = chance.choice(self._configs)
        made: dict[str, tuple[Made, str]] = {}
        for number in range(begun, begun + order.batch):
            seed = f"{order.seed}/{number}"
            maker = Maker(seed, self._versions, REAL, config)
            one = await maker.make(self._side, script_id=f"search/made/{number}", steps_max=STEPS_EACH)
            made[one.script.id] = one, seed
        return made

    def _count(self, made: Mapping[str, Made], ours: Traces, others: Traces) -> None:
        """Count the steps of conversations that came to their end; where none did, the search is over."""
        before = self.harvest.steps
        for name, one in made.items():
            self.harvest.conversations += 1
            reason = broke_off(ours[name]) or broke_off(others[name])
            if reason is None:
                self.harvest.steps += len(one.script.steps)
            else:
                self.losses.broken_off[reason] = self.losses.broken_off.get(reason, 0) + 1
        if self.harvest.steps == before:
            self.losses.lost = self.losses.lost or "no conversation of a round came to its end"

    async def _had(self, made: Mapping[str, Made]) -> tuple[Traces, Traces]:
        """Have conversations on the target, and on what it is compared with."""
        scripts = [each.script for each in made.values()]
        ours = await self._order.target.run(scripts)
        against = self._order.against
        others = {name: one.events for name, one in made.items()}
        measured = others if against is None else await against.run(scripts)
        self.losses.lost = next((each.lost for each in self._driven if each.lost), None)
        return ours, measured

    async def _difference(
        self, script: Script, events: Sequence[Event], others: Sequence[Event]
    ) -> RawDifference | None:
        """Return the first difference, if it stays when the reference is asked as late as the target."""
        found = self._compare(script, events, others)
        if found is None or self._order.against is not None:
            return found
        return self._compare(script, events, await self._side.run(script, pace=events))

    async def _differences(self, scripts: Sequence[Script]) -> Sequence[RawDifference | None]:
        """Have scripts on the targets at once, and return in what each differs."""
        self.harvest.shrinking_runs += len(scripts)
        made = [await self._side.run(each) for each in scripts]
        ours, others = await self._had(
            {
                each.id: Made(moves=(), script=each, events=events)
                for each, events in zip(scripts, made, strict=True)
            }
        )
        self._heard = {each.id: (ours[each.id], others[each.id]) for each in scripts}
        return [await self._difference(each, *self._heard[each.id]) for each in scripts]

    async def _look_into(self, made: Made, cause: Cause, seed: str) -> None:
        for _ in range(_SHOWN_AGAIN):
            (again,) = await self._differences([made.script])
            if again is None or cause_of(again) != cause:
                self.losses.flaky += 1
                return
        candidate = await self._shrunk(made, cause)
        script = _numbered([candidate])[0]
        assert script is not None, "what is shrunk can be said"
        (reported,) = await self._differences([script])
        if reported is None or cause_of(reported) != cause:
            # It shows beside others, and not alone: what was found first stands.
            candidate, script = (
                Candidate(moves=made.moves, broker_config=made.script.broker_config),
                made.script,
            )
            (reported,) = await self._differences([script])
            if reported is None:
                self.losses.flaky += 1
                return
        heard = self._heard[script.id]
        explanation = await self._explained(script, reported, heard[0])
        cluster = Cluster(
            difference=reported,
            explanation=explanation,
            candidate=candidate,
            script=script,
            seed=seed,
            after_steps=self.harvest.steps,
            beside=self._switched,
            is_mixture=False,
        )
        self._traces[len(self.harvest.clusters)] = heard
        self.harvest.clusters.append(cluster)
        self._by_cause[cause] = cluster
        self._tell(self.harvest, cluster)
        if cluster.is_explained and self._order.against is None:
            self._switch(explanation.behaviours)

    async def _shrunk(self, made: Made, cause: Cause) -> Candidate:
        """Shrink in virtual time as far as two references differ alike, and on the targets from there on."""
        candidate = Candidate(moves=made.moves, broker_config=made.script.broker_config)
        if self._other is not None:

            async def still(tried: Candidate) -> bool:
                script = scripted(tried)
                return script is not None and await self._as_references(script) == cause

            if await still(candidate):
                candidate = await shrunk(candidate, one_by_one(still))

        return await shrunk(candidate, self._first_on_targets(cause))

    def _first_on_targets(self, cause: Cause) -> FirstOf[Candidate]:
        """Return what tells which candidate still shows a cause; many are tried at once."""

        async def first_of(candidates: Sequence[Candidate]) -> int | None:
            for start in range(0, len(candidates), _CANDIDATES_AT_ONCE):
                if self.losses.lost is not None:
                    return None
                scripts = _numbered(candidates[start : start + _CANDIDATES_AT_ONCE])
                said = [each for each in scripts if each is not None]
                found = dict(zip([each.id for each in said], await self._differences(said), strict=True))
                for index, script in enumerate(scripts):
                    difference = None if script is None else found[script.id]
                    if difference is not None and cause_of(difference) == cause:
                        return start + index
            return None

        return first_of

    async def _as_references(self, script: Script) -> Cause | None:
        """Return in what the references of both targets differ."""
        assert self._other is not None
        other = self._explainer.side(self._other)
        found = first_difference(await self._side.run(script), await other.run(script))
        return None if found is None else cause_of(found)

    async def _explained(
        self, script: Script, difference: RawDifference, events: Sequence[Event]
    ) -> Explanation:
        """Return the behaviours that account for a difference."""
        if self._other is not None:
            if await self._as_references(script) != cause_of(difference):
                return Explanation(behaviours=())
            return await self._explainer.explain(script, self._plain, self._other)
        names = []
        for name in (each.name for each in behaviour_sheets()):
            side = self._switched_side((*self._switched, name))
            reported = await side.run(script)
            if not has_failed(reported) and self._compare(script, events, reported) is None:
                names.append(name)
        return Explanation(behaviours=tuple(names[:1]), others=tuple(names[1:]))

    def _switched_side(self, names: Sequence[str]) -> Side:
        target = self._plain
        for each in names:
            target = variant_of(target, (each,), flipped(target, each))
        return Side(target, base_config=self._base_config)

    def _switch(self, behaviours: Sequence[str]) -> None:
        """Have the reference as the target is, so that what is known differs no more."""
        self._switched = (*self._switched, *behaviours)
        self._side = self._switched_side(self._switched)

    def traces(self, cluster: Cluster) -> tuple[Sequence[Event], Sequence[Event]]:
        """Return how both sides answered a cluster's shortest conversation."""
        return self._traces[self.harvest.clusters.index(cluster)]


def _numbered(candidates: Sequence[Candidate]) -> Sequence[Script | None]:
    """Return scripts with ids of their own; None for what could not be said so."""
    return [
        None if (script := scripted(each)) is None else replace(script, id=f"search/tried/{number}")
        for number, each in enumerate(candidates)
    ]


def _served(description: BrokerDescription) -> Mapping[str, Sequence[int]]:
    return {
        API_NAMES[each.api_key]: range(each.min_version, each.max_version + 1)
        for each in description.api_ranges
        if each.api_key in API_NAMES
    }


def _common(served: Sequence[Mapping[str, Sequence[int]]]) -> Mapping[str, Sequence[int]]:
    """Return the versions that all serve and the codec knows, by API, of those that are asked."""
    first, *rest = served
    both = {
        api: [
            each
            for each in first.get(api, ())
            if has_version(api, each) and all(each in other.get(api, ()) for other in rest)
        ]
        for api in REQUESTS
    }
    return {api: versions for api, versions in both.items() if versions}

"""Compare a target that takes real time with its reference, or with another target.

Behaviours that explain earlier findings are switched in the reference, so that only new differences remain.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Final

from harness.diff.model import Difference
from harness.runner.applicable import OF_CONSUMER_GROUPS, has_consumer_groups
from harness.runner.broker_actions import acts_on_broker
from harness.runner.sharing import MEETING_SIZE_MAX
from harness.scenario.script import Script
from harness.search.differences import Explainer, first_difference
from harness.search.drawn import all_draws, draws_of
from harness.search.driven import DrivenTarget
from harness.search.judging import Compare, answers, as_run_judges, between_targets, broke_off
from harness.search.made import Made
from harness.search.request_table import REQUESTS
from harness.search.rounds import RoundOrder
from harness.search.sides import Side
from harness.search.tempo import APPENDING, REAL, RESTARTING, Tempo
from harness.targets.base.ending import to_its_end
from harness.targets.base.interface import BrokerDescription, Capability
from harness.targets.reference.behaviours import behaviour_sheets
from harness.targets.reference.draws import Draws
from harness.targets.reference.oracle import oracle_for
from harness.targets.reference.variants import AskedTarget, VariantTarget, flipped, reference_of, variant_of
from harness.trace.events import Event
from harness.wire.schema import API_NAMES, has_version

_UNWRITABLE: Final = "join_before_v5_names_no_instance"
_FIRST_JOIN_WITH_INSTANCES: Final = 5
_RESTARTS_SHARE: Final = 0.2
"""The share of rounds in which the coordinator is restarted; they are shorter than the others."""

Heard = tuple[Sequence[Event], Sequence[Event]]
"""The events of both sides in a conversation."""


class Comparison:
    """Runs conversations on a target, and finds where it differs from what it is compared with.

    Attributes:
        side: the reference on which conversations are made.
        switched: the behaviours of the reference that differ from its release.
        versions: the versions that all sides serve, by API.
        runs: how many conversations were tried beside those that were made.
    """

    side: Side

    def __init__(self, target: DrivenTarget, against: DrivenTarget | None) -> None:
        self.switched: tuple[str, ...] = ()
        self.versions: Mapping[str, Sequence[int]] = {}
        self._takes_config = False
        self.runs = 0
        self._target = target
        self._against = against
        self._explainer = Explainer()
        self._plain: VariantTarget
        self._other: VariantTarget | None = None
        self._base_config: Mapping[str, str] = {}
        self._topic_ids: dict[tuple[object, ...], Mapping[str, str]] = {}
        """Topic ids that brokers drew, by target, configuration, and whether scripts act on the broker."""
        self._quick: Compare
        self._judged: Compare

    @property
    def _driven(self) -> Sequence[DrivenTarget]:
        return (self._target,) if self._against is None else (self._target, self._against)

    @property
    def lost(self) -> str | None:
        """Why a target cannot be used any more; None while all can."""
        return next((each.lost for each in self._driven if each.lost), None)

    @property
    def has_two_targets(self) -> bool:
        """Whether the target is compared with another target, not with the reference."""
        return self._against is not None

    async def begin(self, progress: Callable[[str], None]) -> None:
        """Start the targets, and find out which versions they serve.

        Raises:
            TargetError: a target cannot be started.
        """
        descriptions = [await each.begin(progress) for each in self._driven]
        oracle = oracle_for(self._target.target, descriptions[0])
        self._plain = reference_of(oracle.profile)
        self._base_config = oracle.base_config
        self.side = Side(self._plain, base_config=self._base_config)
        served = _common([await self.side.versions(), *map(_served, descriptions)])
        name = self._target.target.name
        if self._against is None:
            self._quick = as_run_judges(name, oracle.profile, in_calm=False)
            self._judged = as_run_judges(name, oracle.profile, in_calm=True)
        else:
            other = oracle_for(self._against.target, descriptions[1])
            self._other = reference_of(other.profile)
            self._quick = self._judged = between_targets
        self.versions = _without_gaps(served, [each for each in (self._plain, self._other) if each])
        self._takes_config = all(
            Capability.BROKER_CONFIG in each.target.capabilities for each in self._driven
        )

    def round_order(self, *, seed: int, begun: int, count: int) -> RoundOrder:
        """Return the order of a round of conversations that all sides can have.

        Some rounds are about a restart, if all targets can be restarted. These are short.

        Args:
            seed: the seed of the search.
            begun: how many conversations were made before.
            count: how many conversations to make at most.
        """
        tempo = self._tempo(Random(f"{seed}/{begun}/restart"))  # noqa: S311 - repeatable, not a secret
        return RoundOrder(
            reference=self._reference_with(self.switched),
            base_config=self._base_config,
            versions=self.versions,
            configs=tempo.configs if self._takes_config else ({},),
            seed=seed,
            begun=begun,
            count=min(count, MEETING_SIZE_MAX) if tempo.restarts else count,
            tempo=tempo,
        )

    def _tempo(self, chance: Random) -> Tempo:
        able = frozenset.intersection(*(each.target.capabilities for each in self._driven))
        # In a cluster another broker takes over.
        can_restart = Capability.RESTART in able and Capability.CLUSTER not in able
        if not can_restart or chance.random() >= _RESTARTS_SHARE:
            return REAL
        return chance.choice((RESTARTING, APPENDING) if Capability.WRITE_LOG in able else (RESTARTING,))

    async def stop(self) -> None:
        """Stop the targets' brokers."""
        for each in self._driven:
            await to_its_end(each.stop())

    async def run(self, scripts: Sequence[Script]) -> Mapping[str, Heard]:
        """Run scripts at once on the target, and on what it is compared with."""
        # A broker that was restarted has drawn new topic ids.
        self._topic_ids.clear()
        ours = await self._target.run(scripts)
        if self._against is not None:
            others = await self._against.run(scripts)
        else:
            others = {each.id: await self._asked(each) for each in scripts}
        return {each.id: (ours[each.id], others[each.id]) for each in scripts}

    async def run_made(self, made: Sequence[Made]) -> Mapping[str, Heard]:
        """Run made conversations at once on the target, and on what it is compared with.

        The reference is asked again only where the target answers otherwise; where both answer alike, the
        target's events stand for those of the reference.
        """
        scripts = [each.script for each in made]
        if self._against is not None:
            return await self.run(scripts)
        self._topic_ids.clear()
        ours = await self._target.run(scripts)
        heard = {}
        for each in made:
            events = ours[each.script.id]
            others = events if each.is_answered_by(events) else await self._asked(each.script)
            heard[each.script.id] = events, others
        return heard

    async def _asked(
        self, script: Script, pace: Sequence[Event] = (), draws: Draws | None = None
    ) -> Sequence[Event]:
        # Virtual time never waits: without this sleep, an interrupt would not get through.
        await asyncio.sleep(0)
        return await self.side.run(script, pace=pace, draws=draws)

    async def quick_difference(self, script: Script, heard: Heard) -> Difference | None:
        """Return the first difference that remains if the reference gets its requests as late as the target.

        Starvation of the machine is not considered, because that takes long.
        """
        return await self._first(self._quick, script, heard)

    async def difference(self, script: Script, heard: Heard) -> Difference | None:
        """Return the first difference, if the machine was calm before it."""
        if await self.quick_difference(script, heard) is None:
            return None
        return await self._first(self._judged, script, heard)

    async def _first(self, compare: Compare, script: Script, heard: Heard) -> Difference | None:
        events, others = heard
        if answers(events) == answers(others):
            return None
        if self._against is not None:
            found = compare(script, events, others)
            return None if found is None or await self._is_draw(script, heard, found) else found
        found = None
        for draws in all_draws(events, await self._topic_ids_of(self._target, script)):
            found = compare(script, events, await self._asked(script, pace=events, draws=draws))
            if found is None:
                return None
        return found

    async def _is_draw(self, script: Script, heard: Heard, found: Difference) -> bool:
        """Return whether one reference shows the same difference between runs with either target's ids."""
        assert self._against is not None
        ours = draws_of(heard[0], await self._topic_ids_of(self._target, script))
        theirs = draws_of(heard[1], await self._topic_ids_of(self._against, script))
        alike = first_difference(
            await self._asked(script, draws=ours), await self._asked(script, draws=theirs)
        )
        return alike is not None and alike.cause == found.cause

    async def _topic_ids_of(self, target: DrivenTarget, script: Script) -> Mapping[str, str]:
        key = _ids_key(target, script)
        if key not in self._topic_ids:
            self._topic_ids[key] = await target.topic_ids(script)
        return self._topic_ids[key]

    async def alone(self, script: Script) -> tuple[Difference | None, Heard]:
        """Run a script alone; return the first difference, and the events of both sides."""
        self.runs += 1
        heard = (await self.run([script]))[script.id]
        return await self.difference(script, heard), heard

    async def first_of(self, scripts: Sequence[Script | None], cause: str) -> int | None:
        """Run scripts at once; return the index of the first that differs by a cause, or None."""
        said = [each for each in scripts if each is not None]
        self.runs += len(said)
        heard = await self.run(said)
        for index, script in enumerate(scripts):
            if script is None:
                continue
            found = await self.quick_difference(script, heard[script.id])
            if found is not None and found.cause == cause:
                return index
        return None

    async def reference_cause(self, script: Script) -> str | None:
        """Return the cause of the first difference between the references of both targets, or None."""
        assert self._other is not None
        other = self._explainer.side(self._other)
        found = first_difference(await self._asked(script), await other.run(script))
        return None if found is None else found.cause

    async def explained(self, script: Script, found: Difference, events: Sequence[Event]) -> tuple[str, ...]:
        """Return the behaviours that account for a difference."""
        if self._other is not None:
            if await self.reference_cause(script) != found.cause:
                return ()
            return await self._explainer.explain(script, self._plain, self._other)
        # Later steps may differ for other reasons.
        until = replace(script, steps=script.steps[: found.step + 1])
        heard = [each for each in events if each.step <= found.step]
        draws = draws_of(events, await self._topic_ids_of(self._target, script))
        asked = AskedTarget(self._reference_with(self.switched).profile)
        await Side(asked, base_config=self._base_config).run(until, pace=heard, draws=draws)
        for each in behaviour_sheets():
            if each.name in asked.asked_in(script.id) and await self._agrees(until, heard, each.name, draws):
                return (each.name,)
        return ()

    async def _agrees(self, script: Script, events: Sequence[Event], name: str, draws: Draws) -> bool:
        await asyncio.sleep(0)
        reported = await self._side_with((*self.switched, name)).run(script, pace=events, draws=draws)
        return broke_off(reported) is None and self._quick(script, events, reported) is None

    async def like_target(self, script: Script, behaviours: tuple[str, ...], cause: str) -> Side | None:
        """Return a reference that answers a script as the target does; None if there is none."""
        if self._other is not None:
            other = self._explainer.side(self._other)
        elif behaviours:
            other = self._side_with((*self.switched, *behaviours))
        else:
            return None
        found = first_difference(await other.run(script), await self.side.run(script))
        return other if found is not None and found.cause == cause else None

    def _side_with(self, names: Sequence[str]) -> Side:
        return Side(self._reference_with(names), base_config=self._base_config)

    def _reference_with(self, names: Sequence[str]) -> VariantTarget:
        target = self._plain
        for each in names:
            target = variant_of(target, (each,), flipped(target, each))
        return target

    def switch(self, behaviours: Sequence[str]) -> None:
        """Switch behaviours of the reference to the target's, so that known differences no longer occur."""
        self.switched = (*self.switched, *behaviours)
        self.side = self._side_with(self.switched)


def _ids_key(target: DrivenTarget, script: Script) -> tuple[object, ...]:
    return id(target), acts_on_broker(script), *sorted(script.broker_config.items())


def _served(description: BrokerDescription) -> Mapping[str, Sequence[int]]:
    """Return a broker's versions of each API, without those of early consumer groups, which nobody runs."""
    is_whole = has_consumer_groups(description)
    return {
        API_NAMES[each.api_key]: range(each.min_version, each.max_version + 1)
        for each in description.api_ranges
        if each.api_key in API_NAMES and (is_whole or API_NAMES[each.api_key] not in OF_CONSUMER_GROUPS)
    }


def _without_gaps(
    served: Mapping[str, Sequence[int]], references: Sequence[VariantTarget]
) -> Mapping[str, Sequence[int]]:
    """Leave out what the references do not model: what follows a JoinGroup whose answer cannot be written."""
    if not any(each.has(_UNWRITABLE) for each in references):
        return served
    writable = [each for each in served.get("JoinGroup", ()) if each >= _FIRST_JOIN_WITH_INSTANCES]
    return {**served, "JoinGroup": writable}


def _common(served: Sequence[Mapping[str, Sequence[int]]]) -> Mapping[str, Sequence[int]]:
    """Return the versions that all sides serve and the codec supports, for each API in `REQUESTS`."""
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

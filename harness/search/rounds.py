"""Rounds of conversations for brokers, made in a process of its own while earlier rounds are driven."""

import asyncio
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from harness.orchestration.background import Background, BackgroundError
from harness.search.coverage import Pair
from harness.search.made import Made
from harness.search.sides import Side
from harness.search.steering import STEPS_EACH, Steering
from harness.search.tempo import REAL, Tempo
from harness.targets.base.ending import to_its_end
from harness.targets.base.interface import TargetError
from harness.targets.reference.variants import VariantTarget


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundOrder:
    """The parameters of a round."""

    reference: VariantTarget
    """The reference on which its conversations are made."""
    base_config: Mapping[str, str]
    versions: Mapping[str, Sequence[int]]
    """The versions that all sides serve, by API."""
    configs: Sequence[Mapping[str, str]]
    """Broker configurations, of which the round has one."""
    seed: int
    begun: int
    """How many conversations were made before."""
    count: int
    tempo: Tempo = REAL


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """Conversations by their seeds, and what all rounds have reached."""

    conversations: Mapping[str, Made]
    pairs: Collection[Pair]
    branches: int

    @property
    def steps(self) -> int:
        """The number of steps in all conversations."""
        return sum(len(each.script.steps) for each in self.conversations.values())


class RoundMaker:
    """Makes one round after the other, and steers by what the earlier ones reached."""

    def __init__(self, steering: Steering) -> None:
        self._steering = steering
        self._reference: VariantTarget | None = None
        self._side: Side

    def __call__(self, order: RoundOrder) -> Round:
        """Make a round."""
        return asyncio.run(self._round(order), debug=False)

    async def _round(self, order: RoundOrder) -> Round:
        if self._reference is None or self._reference.profile != order.reference.profile:
            self._reference = order.reference
            self._side = Side(order.reference, base_config=order.base_config)
        chance = Random(f"{order.seed}/{order.begun}")  # noqa: S311 - repeatable, not a secret
        config = chance.choice(order.configs)
        numbers = range(order.begun, order.begun + order.count)
        made = {f"{order.seed}/{each}": await self._made(order, each, config) for each in numbers}
        # What costs the log would cost it for all conversations of the broker.
        made = {seed: each for seed, each in made.items() if not each.costs_the_log}
        return Round(conversations=made, pairs=tuple(self._steering.pairs), branches=self._steering.branches)

    async def _made(self, order: RoundOrder, number: int, config: Mapping[str, str]) -> Made:
        made = await self._steering.made(
            f"{order.seed}/{number}",
            self._side,
            order.versions,
            script_id=f"search/made/{number}",
            tempo=order.tempo,
            config=config,
        )
        # The tape is long, and nobody plays it to a broker.
        return replace(made, tape=())


class RoundsAhead:
    """Makes the next rounds while the one before them is driven."""

    def __init__(self, steering: Steering) -> None:
        self._background = Background[RoundOrder, Round](RoundMaker(steering))
        self._ahead: deque[tuple[RoundOrder, asyncio.Task[Round]]] = deque()

    async def start(self) -> None:
        """Start the process that makes conversations."""
        await self._background.start()

    def order(self, order: RoundOrder) -> None:
        """Make a round, after those that were ordered before."""
        before = self._ahead[-1][1] if self._ahead else None
        self._ahead.append((order, asyncio.create_task(self._made(order, before))))

    async def _made(self, order: RoundOrder, before: asyncio.Task[Round] | None) -> Round:
        if before is not None:
            await asyncio.wait([before])
        return await self._background.call(order)

    @property
    def round_count(self) -> int:
        """The number of rounds that were ordered and are not taken yet."""
        return len(self._ahead)

    @property
    def expected_steps(self) -> int:
        """About how many steps these rounds have."""
        return sum(order.count for order, _ in self._ahead) * STEPS_EACH

    async def taken(self) -> Round:
        """Return the first of the ordered rounds as soon as it is made.

        Raises:
            TargetError: the process that makes conversations was killed.
        """
        assert self._ahead, "a round is ordered before it is taken"
        _, made = self._ahead.popleft()
        try:
            return await made
        except BackgroundError as error:
            raise TargetError(f"no more conversations can be made: {error}") from error

    async def stop(self) -> None:
        """Kill the process."""
        left = [made for _, made in self._ahead]
        for each in left:
            each.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        await to_its_end(self._background.stop())


def conversations_for(steps: int, *, at_most: int) -> int:
    """Return how many conversations about have so many steps."""
    return min(at_most, -(-steps // STEPS_EACH))

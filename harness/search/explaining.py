"""Find the named behaviours that make two references answer a conversation differently."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from harness.scenario.script import Script
from harness.search.differences import found_difference
from harness.search.shrinking import minimal, one_by_one
from harness.search.sides import Side
from harness.targets.reference.variants import COORDINATOR, VariantTarget, differing, variant_of
from harness.trace.events import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Behaviours that account for a difference."""

    behaviours: tuple[str, ...]
    """Behaviours that make both references agree when one takes all of them from the other; may be empty."""
    others: tuple[str, ...] = ()
    """Further behaviours, each of which alone has the same effect."""


class Explainer:
    """Switches behaviours of references, and caches the references made this way."""

    def __init__(self) -> None:
        self._sides: dict[tuple[object, ...], Side] = {}

    async def explain(self, script: Script, one: VariantTarget, other: VariantTarget) -> Explanation:
        """Return the behaviours that account for the difference between two references.

        Args:
            script: the script that they answer differently.
            one: a reference, which is given behaviours of the other.
            other: the other reference, which is given behaviours of the first if that explains nothing.
        """
        names = sorted(differing(one, other), key=lambda name: (name == COORDINATOR, name))
        for base, of in ((one, other), (other, one)):
            events = await self.side(of).run(script)
            alone = [name for name in names if await self._agrees(script, events, base, (name,), of)]
            if alone:
                return Explanation(behaviours=(alone[0],), others=tuple(alone[1:]))
        events = await self.side(other).run(script)

        async def agrees(chosen: Sequence[str]) -> bool:
            return await self._agrees(script, events, one, chosen, other)

        return Explanation(behaviours=await _fewest(names, agrees))

    async def _agrees(
        self,
        script: Script,
        events: Sequence[Event],
        base: VariantTarget,
        names: Sequence[str],
        of: VariantTarget,
    ) -> bool:
        reported = await self.side(variant_of(base, names, of)).run(script)
        return found_difference(reported, events) is None

    def side(self, target: VariantTarget) -> Side:
        """Return a reference as a side; equal references share one side."""
        key = (target.profile.name, target.profile.coordinator, target.profile.behaviours)
        return self._sides.setdefault(key, Side(target))


async def _fewest(
    names: Sequence[str], agrees: Callable[[Sequence[str]], Awaitable[bool]]
) -> tuple[str, ...]:
    """Return a minimal set of behaviours that makes both sides agree; empty if all of them are not enough."""
    return await minimal(names, one_by_one(agrees)) if await agrees(names) else ()

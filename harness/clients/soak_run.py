"""A soak of every target with every library."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from harness.clients.folder import ClientsFolder
from harness.clients.libraries import ClientLibrary
from harness.clients.run import ClientsPlan, Tell, addresses, config_for, target_record
from harness.clients.soak import SoakPlan, SoakResult, soak, soak_to_json
from harness.invariants import Party
from harness.targets.base import Broker, Target
from harness.trace.files import write_whole


@dataclass(frozen=True, slots=True, kw_only=True)
class Soaked:
    """What became of one target under one library."""

    target: str
    result: SoakResult
    unexpected: tuple[str, ...]
    """What is not as it should be, in words."""


async def soak_all(plan: ClientsPlan, duration_s: float, seed: int, tell: Tell) -> tuple[Soaked, ...]:
    """Soak each target in its turn, with all libraries side by side.

    Raises:
        TargetError: a target cannot be had, or is lost.
    """
    folder = plan.folder
    folder.write_run(
        run_id=plan.run_id,
        command=plan.command,
        libraries={each.name: each.version for each in plan.libraries},
        scripts=(),
        soak_s=duration_s,
    )
    found: list[Soaked] = []
    for target in plan.targets:
        found += await _soak_target(
            plan,
            target,
            folder,
            lambda bootstrap, directory, library: SoakPlan(
                library=library, bootstrap=bootstrap, duration_s=duration_s, seed=seed, directory=directory
            ),
            tell,
        )
    return tuple(found)


async def _soak_target(
    plan: ClientsPlan,
    target: Target,
    folder: ClientsFolder,
    plan_for: Callable[[str, Path, ClientLibrary], SoakPlan],
    tell: Tell,
) -> list[Soaked]:
    broker = await target.start(
        broker_config=config_for(target),
        directory=folder.logs(target.name),
        progress=lambda text: tell(target.name, text),
    )
    folder.write_target(target_record(target, broker))
    try:
        results = await _soak_broker(plan, target, broker, folder, plan_for, tell)
    finally:
        await broker.stop()
    violations = folder.violations(target.name)
    soaked: list[Soaked] = []
    for result in results:
        broken = [
            f"{each.invariant}: {each.detail}"
            for each in violations.get(result.library, ())
            if each.party == Party.COORDINATOR
        ]
        unexpected = (
            *(f"{each.group}: {says}" for each in result.groups for says in each.unexpected),
            *broken,
        )
        soaked.append(Soaked(target=target.spec, result=result, unexpected=unexpected))
    return soaked


async def _soak_broker(
    plan: ClientsPlan,
    target: Target,
    broker: Broker,
    folder: ClientsFolder,
    plan_for: Callable[[str, Path, ClientLibrary], SoakPlan],
    tell: Tell,
) -> list[SoakResult]:
    directory = folder.path / target.name

    async def one(library: ClientLibrary, bootstrap: str) -> SoakResult:
        talk = folder.talk(target.name, "soak", library.name)
        result = await soak(
            plan_for(bootstrap, talk, library), lambda text: tell(target.name, f"{library.name}: {text}")
        )
        write_whole(directory / f"soak-{library.name}.json", soak_to_json(result))
        return result

    async with addresses(plan, broker, directory, lambda text: tell(target.name, text)) as address_of:
        return await asyncio.gather(*[one(each, address_of(each.name)) for each in plan.libraries])

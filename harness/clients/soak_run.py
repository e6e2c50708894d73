"""A soak of every target with every library."""

import asyncio
from dataclasses import dataclass

from harness.clients.folder import ClientsFolder
from harness.clients.libraries import ClientLibrary
from harness.clients.process import ClientGone
from harness.clients.run import ClientsPlan, Tell, names_begin, target_header, way_to
from harness.clients.soak import soak, together
from harness.clients.soak_group import GROUPS, RECORDS_PER_S, SHARE, SoakPlan
from harness.clients.soak_wire import with_the_wire
from harness.clients.suitability import config_for, has_share_groups
from harness.clients.tapped import Way
from harness.results.soak_account import SoakResult
from harness.tap.journal import JOURNAL
from harness.targets.base.ending import to_its_end
from harness.targets.base.interface import Broker, Lasting, Target, TargetError
from harness.targets.base.nonsense import blaming_target
from harness.trace.files import write_whole


async def soak_all(
    plan: ClientsPlan,
    duration_s: float,
    seed: int,
    tell: Tell,
    *,
    groups: tuple[str, ...] = GROUPS,
    records_per_s: int = RECORDS_PER_S,
) -> None:
    """Soak the targets in turn, each with all libraries in parallel, and write the results to files.

    Args:
        plan: the libraries and targets.
        duration_s: how long records are written.
        seed: the seed of the upheavals and their times.
        tell: called with what is going on.
        groups: the groups that read the records; a share group only if library and target support it.
        records_per_s: how many records are written at most.

    Raises:
        TargetError: a target cannot be started, or is lost; the results of those before it are on file.
    """
    folder = plan.folder
    folder.write_plan(
        run_id=plan.run_id,
        command=plan.command,
        targets=[target.name for target in plan.targets],
        libraries={each.name: each.version for each in plan.libraries},
        scripts=(),
        soak_s=duration_s,
    )
    with folder.ending():
        for target in plan.targets:
            await _Soak(plan, target, folder, duration_s, seed, tell, groups, records_per_s).carry_out()


@dataclass(frozen=True, slots=True)
class _Soak:
    """A soak of one target."""

    plan: ClientsPlan
    target: Target
    folder: ClientsFolder
    duration_s: float
    seed: int
    tell: Tell
    groups: tuple[str, ...]
    records_per_s: int

    async def carry_out(self) -> None:
        """Start the target, soak it, and stop it."""
        name = self.target.name
        with blaming_target():
            broker = await self.target.start(
                broker_config=config_for(self.target),
                directory=self.folder.make_logs(name),
                progress=self._say,
            )
        try:
            header = target_header(self.plan.run_id, self.target, broker)
            self.folder.write_headers(name, [header])
            await self._of_broker(broker)
        finally:
            await to_its_end(broker.stop())

    async def _of_broker(self, broker: Broker) -> None:
        directory = self.folder.of_target(self.target.name)
        async with way_to(self.plan, broker, directory, self._say) as way:
            soaks = [self._with(each, broker, way) for each in self.plan.libraries]
            try:
                results = await together(*soaks)
            except (ClientGone, TargetError, TimeoutError) as error:
                why = broker.failure() or f"clients cannot go on: {str(error) or 'no answer in time'}"
                raise TargetError(why) from error
        if self.plan.taps:
            self._say("counting how often each record was accepted on the wire")
            for result in await asyncio.to_thread(with_the_wire, results, directory / JOURNAL):
                self._write(result)

    async def _with(self, library: ClientLibrary, broker: Broker, way: Way) -> SoakResult | None:
        has_share = has_share_groups(library, broker.description.profile)
        groups = tuple(each for each in self.groups if each != SHARE or has_share)
        if not groups:
            self._say(
                Lasting(f"{library.name}: not soaked, since it and the target have no share groups together")
            )
            return None
        soak_plan = SoakPlan(
            library=library,
            bootstrap=way.address(library.name),
            prefix=names_begin(broker),
            groups=groups,
            records_per_s=self.records_per_s,
            duration_s=self.duration_s,
            seed=self.seed,
            directory=self.folder.make_conversation_dir(self.target.name, "soak", library.name),
        )
        result = await soak(soak_plan, lambda text: self._say(f"{library.name}: {text}"))
        self._write(result)
        return result

    def _write(self, result: SoakResult) -> None:
        write_whole(
            self.folder.soak_json(self.target.name, result.library), result.model_dump_json(indent=2) + "\n"
        )

    def _say(self, text: str) -> None:
        self.tell(self.target.name, text)

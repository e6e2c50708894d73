"""A soak of every target with every library."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from harness.clients.folder import ClientsFolder
from harness.clients.judge import judge
from harness.clients.libraries import ClientLibrary
from harness.clients.process import ClientGone
from harness.clients.run import ClientsPlan, Tell, names_begin, target_header, way_to
from harness.clients.soak import soak, together
from harness.clients.soak_account import SoakResult
from harness.clients.soak_group import GROUPS, RECORDS_PER_S, SHARE, SoakPlan
from harness.clients.soak_wire import with_the_wire
from harness.clients.steps import ClientScript, Endure
from harness.clients.suitability import config_for, has_share_groups
from harness.clients.tapped import Way
from harness.results.client_results import (
    CONVERSATION_FILE,
    NOT_COMPARED,
    NOT_RUN,
    SOAK,
    ClientObservation,
    ClientResult,
    ScriptOutcome,
    read_violations,
)
from harness.results.status import ENDED_COMPLETE
from harness.tap.journal import JOURNAL
from harness.targets.base.ending import to_its_end
from harness.targets.base.interface import Broker, Target, TargetError
from harness.targets.base.nonsense import blaming_target
from harness.trace.files import write_whole

_HAPPENING_COUNT_MAX: Final = 2_000
"""How many upheavals and errors of a group are kept with their times; the account counts all."""


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
    soaks = [
        _Soak(plan, target, folder, duration_s, seed, tell, groups, records_per_s) for target in plan.targets
    ]
    folder.write_plan(
        run_id=plan.run_id,
        command=plan.command,
        targets=[target.name for target in plan.targets],
        libraries={each.name: each.version for each in plan.libraries},
        scripts=[soaks[0].script],
    )
    results: list[ClientResult] = []
    with folder.ending():
        for each in soaks:
            results += await each.carry_out()
            folder.keep(results, plan.entries)


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

    @property
    def script(self) -> ClientScript:
        """The soak as a script, with a step for each group."""
        steps = [
            Endure(group=each, duration_s=self.duration_s, records_per_s=self.records_per_s)
            for each in self.groups
        ]
        title = "Every record reaches every group, and is accounted for."
        return ClientScript(id=SOAK, title=title, notes="", source="", uses=(), steps=tuple(steps))

    async def carry_out(self) -> Sequence[ClientResult]:
        """Start the target, soak it, and stop it; return the result with each library."""
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
            outcomes = await self._of_broker(broker)
        finally:
            await to_its_end(broker.stop())
        violations = read_violations(self.folder, name)
        for each in outcomes:
            self.folder.append(name, each)
        return [
            judge(
                self.script,
                each,
                header=header,
                reference=None,
                compared=f"{NOT_COMPARED}: it is a soak",
                violations=[one for one in violations if one.scenario_id == each.library],
            )
            for each in outcomes
        ]

    async def _of_broker(self, broker: Broker) -> Sequence[ScriptOutcome]:
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
            results = await asyncio.to_thread(with_the_wire, results, directory / JOURNAL)
        return [self._outcome(each) for each in results]

    async def _with(self, library: ClientLibrary, broker: Broker, way: Way) -> SoakResult:
        has_share = has_share_groups(library, broker.description.profile)
        groups = tuple(each for each in self.groups if each != SHARE or has_share)
        if not groups:
            return SoakResult(library=library.name, produced=0, duration_s=0.0, groups=())
        soak_plan = SoakPlan(
            library=library,
            bootstrap=way.address(library.name),
            prefix=names_begin(broker),
            groups=groups,
            records_per_s=self.records_per_s,
            duration_s=self.duration_s,
            seed=self.seed,
            directory=self.folder.make_conversation_dir(self.target.name, SOAK, library.name),
        )
        return await soak(soak_plan, lambda text: self._say(f"{library.name}: {text}"))

    def _outcome(self, result: SoakResult) -> ScriptOutcome:
        """Return a library's account as the outcome of a script, and write what happened beside it."""
        happenings = [
            json.dumps({"client": f"{group.group} {who}", "at_ms": at_ms, "event": what})
            for group in result.groups
            for at_ms, what, who in group.happenings[:_HAPPENING_COUNT_MAX]
        ]
        if happenings:
            directory = self.folder.conversation_dir(self.target.name, SOAK, result.library)
            write_whole(directory / CONVERSATION_FILE, "".join(f"{line}\n" for line in happenings))
        return ScriptOutcome(
            script_id=SOAK,
            library=result.library,
            ended=ENDED_COMPLETE if result.groups else f"{NOT_RUN}it and the target have no share groups",
            observations=tuple(
                ClientObservation(step=self.groups.index(each.group), facts=each.facts(result.produced))
                for each in result.groups
            ),
            duration_s=result.duration_s,
        )

    def _say(self, text: str) -> None:
        self.tell(self.target.name, text)
